package provision

import "slices"

// Transient reports whether a conductor works on a node in this state.
func Transient(state string) bool {
	_, ok := workOf(state)
	return ok
}

// Transients returns the states in which a conductor works on a node.
func Transients() []string {
	names := make([]string, len(transientStates))
	for i, w := range transientStates {
		names[i] = w.state
	}
	return names
}

// reachableStates are the states that nodes can enter, in the order of a node's lifecycle.
var reachableStates = []string{
	Enroll, Verifying, Manageable, Inspecting, InspectFailed, Cleaning, CleanFailed, Available,
	Deploying, DeployFailed, Active, Adopting, AdoptFailed, Deleting, Error,
}

// nameOnlyStates are states of the API that no node enters.
var nameOnlyStates = []string{
	InspectWait, CleanWait, DeployWait, Rescue, Rescuing, RescueWait, RescueFailed, Unrescuing, UnrescueFailed,
}

// States returns the states that nodes can enter.
func States() []string { return slices.Clone(reachableStates) }

// IsState reports whether the API has such a state, even if no node of Berth enters it. Filters accept these states.
func IsState(name string) bool {
	return slices.Contains(reachableStates, name) || slices.Contains(nameOnlyStates, name)
}

// updatable are states with a target in which a node can be changed: its failed states, and transient states whose work
// does not depend on members that clients write.
var updatable = []string{
	DeployFailed, Inspecting, InspectFailed, InspectWait, CleanFailed, Error, Verifying, AdoptFailed, RescueFailed, UnrescueFailed,
}

// AllowsUpdates reports whether a node in this state with this target (empty: none) can be changed. In maintenance its
// instance can still be removed; see AllowsInstanceRemoval. The function node_allocation_delete has the same states; a
// test compares them.
func AllowsUpdates(state, target string) bool {
	return target == "" || slices.Contains(updatable, state)
}

// unallocatedStates are states in which a node is not in use.
var unallocatedStates = []string{Enroll, Inspecting, InspectWait, Manageable, Available}

// AllowsInstanceRemoval reports whether instance_uuid can be removed from a node with an allocation, which deletes the
// allocation.
func AllowsInstanceRemoval(state string, maintenance bool) bool {
	return maintenance || slices.Contains(unallocatedStates, state)
}

// AllowsClassChange reports whether the resource class of a node can be changed.
func AllowsClassChange(state string) bool { return slices.Contains(unallocatedStates, state) }

// AllowsInMaintenance reports whether a verb can be requested while the node is in maintenance. Verbs that deploy an
// instance and cleaning on request cannot. Verbs that make the node manageable or available, or release it, can.
func AllowsInMaintenance(verb string) bool {
	return !slices.Contains([]string{Activate, Rebuild, Clean}, Canonical(verb))
}
