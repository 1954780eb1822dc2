// Package provision is the state machine of bare metal nodes, as data: the
// states, which verbs a user may ask for in which of them, and where a state leads
// when its work is done or has failed. The rules that depend on the state alone are
// here too, each under a name of its own.
//
// It is not for doing anything. Package conductor does the work of the transient
// states, and the database moves a node only from the state it is in. The picture
// is docs/baremetal-states.md, which a test compares with this data.
package provision

import (
	"cmp"
	"slices"
)

// The states a node can be in here, by their names on the wire.
const (
	Enroll        = "enroll"
	Verifying     = "verifying"
	Manageable    = "manageable"
	Inspecting    = "inspecting"
	InspectFailed = "inspect failed"
	Cleaning      = "cleaning"
	CleanFailed   = "clean failed"
	Available     = "available"
	Deploying     = "deploying"
	DeployFailed  = "deploy failed"
	Active        = "active"
	Adopting      = "adopting"
	AdoptFailed   = "adopt failed"
	Deleting      = "deleting"
	Error         = "error"
)

// States that the API has names for and no node gets into here, because no driver
// waits for a call of the machine, rescues, or is held. Clients may filter by them,
// and the rules below name some.
const (
	InspectWait    = "inspect wait"
	CleanWait      = "clean wait"
	DeployWait     = "wait call-back"
	Rescue         = "rescue"
	Rescuing       = "rescuing"
	RescueWait     = "rescue wait"
	RescueFailed   = "rescue failed"
	Unrescuing     = "unrescuing"
	UnrescueFailed = "unrescue failed"
)

// The verbs that a user asks with. Deploy and Undeploy are other words, of
// version 1.73, for Activate and Delete.
const (
	Manage   = "manage"
	Provide  = "provide"
	Inspect  = "inspect"
	Clean    = "clean"
	Adopt    = "adopt"
	Activate = "active"
	Deploy   = "deploy"
	Rebuild  = "rebuild"
	Delete   = "deleted"
	Undeploy = "undeploy"
	Abort    = "abort"
)

// Edge is one way from a state into another.
type Edge struct {
	From string
	// Verb is what the user asked for; empty where work ended by itself.
	Verb string
	To   string
	// Target is where the node is going as long as it is not there; empty at rest.
	Target string
}

// verbs are the edges that users choose. Abort has none: it ends waiting for a call
// of the machine, and no state here waits. It is still known, so that it is refused
// for the state and not for its name.
var verbs = []Edge{
	{Enroll, Manage, Verifying, Manageable},
	{Available, Manage, Manageable, ""},
	{CleanFailed, Manage, Manageable, ""},
	{InspectFailed, Manage, Manageable, ""},
	{AdoptFailed, Manage, Manageable, ""},
	{Manageable, Provide, Cleaning, Available},
	{Manageable, Clean, Cleaning, Manageable},
	{Manageable, Inspect, Inspecting, Manageable},
	{InspectFailed, Inspect, Inspecting, Manageable},
	{Manageable, Adopt, Adopting, Active},
	{AdoptFailed, Adopt, Adopting, Active},
	{Available, Activate, Deploying, Active},
	{DeployFailed, Activate, Deploying, Active},
	{DeployFailed, Rebuild, Deploying, Active},
	{Active, Rebuild, Deploying, Active},
	{Error, Rebuild, Deploying, Active},
	{DeployFailed, Delete, Deleting, Available},
	{Active, Delete, Deleting, Available},
	{Error, Delete, Deleting, Available},
}

// work is a transient state and where it ends.
type work struct {
	state string
	// done is the next state; empty: whatever the node's target is, which is how
	// cleaning before a node is provided differs from cleaning on request.
	done string
	// doneTarget is the target there; empty where done is at rest.
	doneTarget string
	failed     string
	// keepsTarget says that the failed state still names where it was going, as
	// the states called "... failed" do.
	keepsTarget bool
}

var works = []work{
	{state: Verifying, done: Manageable, failed: Enroll},
	{state: Inspecting, done: Manageable, failed: InspectFailed, keepsTarget: true},
	{state: Cleaning, failed: CleanFailed, keepsTarget: true},
	{state: Deploying, done: Active, failed: DeployFailed, keepsTarget: true},
	{state: Adopting, done: Active, failed: AdoptFailed, keepsTarget: true},
	{state: Deleting, done: Cleaning, doneTarget: Available, failed: Error},
}

// Verb finds the edge for what a user asks in a state; false: it is not allowed
// there.
func Verb(state, verb string) (Edge, bool) {
	verb = Canonical(verb)
	at := slices.IndexFunc(verbs, func(e Edge) bool { return e.From == state && e.Verb == verb })
	if at < 0 {
		return Edge{}, false
	}
	return verbs[at], true
}

// Canonical is the verb that an alias stands for; any other text is itself.
func Canonical(verb string) string {
	switch verb {
	case Deploy:
		return Activate
	case Undeploy:
		return Delete
	}
	return verb
}

// Known tells whether a verb exists at all, in whatever state.
func Known(verb string) bool {
	verb = Canonical(verb)
	return verb == Abort || slices.ContainsFunc(verbs, func(e Edge) bool { return e.Verb == verb })
}

// Done is the edge for a transient state whose work is done, for a node that was
// going to the target; false: the state is not transient.
func Done(state, target string) (Edge, bool) {
	w, ok := workOf(state)
	if !ok {
		return Edge{}, false
	}
	if w.done == "" {
		// Nothing but the verbs above writes a target, so it is one of theirs; a
		// node without any was on its way to be provided.
		return Edge{From: state, To: cmp.Or(target, Available)}, true
	}
	return Edge{From: state, To: w.done, Target: w.doneTarget}, true
}

// Fail is the edge for a transient state whose work has failed.
func Fail(state, target string) (Edge, bool) {
	w, ok := workOf(state)
	if !ok {
		return Edge{}, false
	}
	if !w.keepsTarget {
		target = ""
	}
	return Edge{From: state, To: w.failed, Target: target}, true
}

func workOf(state string) (work, bool) {
	at := slices.IndexFunc(works, func(w work) bool { return w.state == state })
	if at < 0 {
		return work{}, false
	}
	return works[at], true
}
