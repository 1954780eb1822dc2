// Package provision is the state machine of bare metal nodes, as data: the states, the verbs that each state permits,
// and the next state after the work of a transient state succeeds or fails. It also has the rules that depend on the
// state alone, each as a named function.
//
// It is not for actions. Package conductor does the work of the transient states, and the database changes a node only
// from its current state. docs/baremetal-states.md has the diagram, which a test compares with this data.
package provision

import (
	"cmp"
	"slices"
)

// These are the states that Berth's nodes can have, by their names on the wire.
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

// These are states of the API that no node of Berth enters, because no driver waits for a call of the machine, rescues
// nodes, or holds steps. Clients may filter by them, and some rules below name them.
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

// These are the verbs of requests. Deploy and Undeploy are synonyms, since version 1.73, for Activate and Delete.
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

// Edge is a transition from one state to another.
type Edge struct {
	From string
	// Verb is the requested verb; empty for the end of a transient state.
	Verb string
	To   string
	// Target is the target state of the node during the transition; empty without one.
	Target string
}

// verbs are the edges of verbs. Abort has none: it ends the wait for a call of the machine, and no state of Berth
// waits.
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

// work is a transient state with its end states.
type work struct {
	state string
	// done is the next state; empty: the node's target. That distinguishes the cleaning before a node is provided from
	// cleaning on request.
	done string
	// doneTarget is the target in the state done; empty if done is not transient.
	doneTarget string
	failed     string
	// keepsTarget reports whether the failed state keeps the target, as the states named "... failed" do.
	keepsTarget bool
}

var transientStates = []work{
	{state: Verifying, done: Manageable, failed: Enroll},
	{state: Inspecting, done: Manageable, failed: InspectFailed, keepsTarget: true},
	{state: Cleaning, failed: CleanFailed, keepsTarget: true},
	{state: Deploying, done: Active, failed: DeployFailed, keepsTarget: true},
	{state: Adopting, done: Active, failed: AdoptFailed, keepsTarget: true},
	{state: Deleting, done: Cleaning, doneTarget: Available, failed: Error},
}

// EdgeForVerb returns the edge of a verb in a state. It returns false if the state does not permit the verb.
func EdgeForVerb(state, verb string) (Edge, bool) {
	verb = Canonical(verb)
	at := slices.IndexFunc(verbs, func(e Edge) bool { return e.From == state && e.Verb == verb })
	if at < 0 {
		return Edge{}, false
	}
	return verbs[at], true
}

// Canonical returns the verb of an alias, and any other text unchanged.
func Canonical(verb string) string {
	switch verb {
	case Deploy:
		return Activate
	case Undeploy:
		return Delete
	}
	return verb
}

// EdgeOnSuccess returns the edge of a transient state whose work succeeded, for a node with the target. It returns
// false if the state is not transient.
func EdgeOnSuccess(state, target string) (Edge, bool) {
	w, ok := workOf(state)
	if !ok {
		return Edge{}, false
	}
	if w.done == "" {
		// Only the verbs above set a target, so it is one of theirs. A node without a target was on its way to
		// available.
		return Edge{From: state, To: cmp.Or(target, Available)}, true
	}
	return Edge{From: state, To: w.done, Target: w.doneTarget}, true
}

// EdgeOnFailure returns the edge of a transient state whose work failed.
func EdgeOnFailure(state, target string) (Edge, bool) {
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
	at := slices.IndexFunc(transientStates, func(w work) bool { return w.state == state })
	if at < 0 {
		return work{}, false
	}
	return transientStates[at], true
}
