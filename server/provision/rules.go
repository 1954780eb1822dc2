package provision

import "slices"

// Transient tells whether somebody has work to do on a node in this state.
func Transient(state string) bool {
	_, ok := workOf(state)
	return ok
}

// Transients lists the states in which somebody has work to do.
func Transients() []string {
	names := make([]string, len(works))
	for i, w := range works {
		names[i] = w.state
	}
	return names
}

// reached are the states nodes get into, in the order of a node's life.
var reached = []string{
	Enroll, Verifying, Manageable, Inspecting, InspectFailed, Cleaning, CleanFailed, Available,
	Deploying, DeployFailed, Active, Adopting, AdoptFailed, Deleting, Error,
}

// named are the states that are names only.
var named = []string{
	InspectWait, CleanWait, DeployWait, Rescue, Rescuing, RescueWait, RescueFailed, Unrescuing, UnrescueFailed,
}

// States lists the states that nodes get into here.
func States() []string { return slices.Clone(reached) }

// IsState tells whether the API has such a state, whether or not a node gets into
// it here: what a filter may ask for.
func IsState(name string) bool {
	return slices.Contains(reached, name) || slices.Contains(named, name)
}

// updatable are states with a target in which a node may be changed nevertheless:
// its failed ones, and work that does not depend on what users write.
var updatable = []string{
	DeployFailed, Inspecting, InspectFailed, InspectWait, CleanFailed, Error, Verifying, AdoptFailed, RescueFailed, UnrescueFailed,
}

// AllowsUpdates tells whether a node in this state with this target (empty: none)
// may be changed, and whether its allocation may be deleted. Maintenance lifts the
// latter rule, and of the former the removal of the instance; see
// AllowsAllocationDelete and AllowsInstanceRemoval.
func AllowsUpdates(state, target string) bool {
	return target == "" || slices.Contains(updatable, state)
}

// AllowsAllocationDelete tells whether the allocation of a node may be deleted. It
// may not while the node is in use or somebody is at work on it, except in
// maintenance.
func AllowsAllocationDelete(state, target string, maintenance bool) bool {
	return maintenance || state != Active && AllowsUpdates(state, target)
}

// unbound are states in which a node is not in anybody's use yet.
var unbound = []string{Enroll, Inspecting, InspectWait, Manageable, Available}

// AllowsInstanceRemoval tells whether instance_uuid may be taken from a node that
// has an allocation, which deletes the allocation.
func AllowsInstanceRemoval(state string, maintenance bool) bool {
	return maintenance || slices.Contains(unbound, state)
}

// AllowsClassChange tells whether the resource class of a node may be changed.
func AllowsClassChange(state string) bool { return slices.Contains(unbound, state) }

// AllowsNodeDelete tells whether a node may be deleted.
func AllowsNodeDelete(state string, maintenance bool) bool {
	return maintenance || slices.Contains([]string{Enroll, Manageable, AdoptFailed, Available}, state)
}

// AllowsInMaintenance tells whether a verb may be asked for while the node is in
// maintenance. What would put a user's system on it may not, nor cleaning on
// request; making it manageable, available or free may.
func AllowsInMaintenance(verb string) bool {
	return !slices.Contains([]string{Activate, Rebuild, Clean}, Canonical(verb))
}

// Failed tells whether a node is in this state because its work failed.
func Failed(state string) bool {
	return slices.ContainsFunc(works, func(w work) bool { return w.failed == state && state != Enroll })
}
