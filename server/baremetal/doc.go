// Package baremetal is the Bare Metal API: for each operation its wire types, its
// variants by microversion and the words of its errors. Files are named after the
// resource they serve.
//
// It is not for transport: routing, policy, reading bodies and writing errors happen
// in package route and around it. It decides nothing about data; it calls one method
// of the store and words the outcome. What states a node may go through is in
// package provision, and what happens to a node after an answer 202 is the
// conductor's work.
//
// # How to write an operation
//
// drivers.go is the worked example. An operation is a row of the route table, in a
// method such as nodeOperations that Operations calls:
//
//	{
//		ID: "node-show", Method: http.MethodGet, Path: "/v1/nodes/{node}", Tag: tagNodes,
//		Rule: policy.NodesShow, Summary: "Show a node", Checks: only,
//		Fails: []route.Failure{{When: "There is no such node.", Fault: noNode("rack-7")}},
//		Variants: []route.Variant{route.From(v(1), o.nodeShow, query(fieldsArguments), route.Example(…))},
//	}
//
// Checks is `only` where the first variant is not of 1.1 (below it: 404, or 405 with
// MissingIsMethod), and `writes` for what has a body. A trailing slash, the policy,
// unknown arguments (400 "Unexpected arguments: …", those of later versions 406),
// and Malformed JSON are dealt with before the operation is called.
//
//   - Path variables are an input struct with `path:"node"`; read them by ident,
//     which says what can be neither a uuid nor a name.
//   - Arguments of the query are declared by query(argument{Name: …, Since: …}, …).
//     What is not declared there does not get through. Read them with arguments(ctx),
//     and flags with its flag. A list adds pageArguments and reads them with pageOf.
//   - A representation is a struct with a field for each member that any version
//     has, tagged `since:"21"` where 1.1 does not have it; documents and answers of
//     lower versions lack it. Members are never left out for being empty: use
//     pointers with `nullable:"true"` for what may be null, and omitempty only to
//     tell the documents that `fields` may leave the member out.
//     newShape[T]() knows the members: all(ctx), only(ctx, names…) and asked(ctx, …)
//     choose some, show(chosen, value) is what goes out: `Body view[T]`.
//   - A body is a struct too. A member tagged `since` that is sent below its version
//     is refused with 406; with `since:"58,unknown"` it is an unknown member, 400.
//     route.Write(v(1), route.Body[in]{Example: …, Optional: true}, o.method) reads,
//     decodes and validates it by the published schema; Optional: none is {}.
//   - PATCH takes a Patch: check what it may touch, apply it to the members as
//     a map; it is all or nothing.
//   - Answers: answer[B] is 200; created[B] is 201 with Location (and
//     route.Status(201)); accepted is 202 with Location; *empty, nil is 204.
//     url and links make absolute URLs. Times are of type Time.
//   - Errors are faults: fault.New(fault.Conflict, "…"). What the store refuses is
//     worded with words{store.NodeUnknown: saying(…)}.say(err). A fault without a
//     text is for routing only.
//   - Tests of operations are in package baremetal_test and use newService, of
//     service_test.go: s.send(method, path, version, body).wants(200).shows(…), and
//     .refuses(status, text) for errors.
//   - A version at which something changes must be in changes (versions.go); a test
//     says so if it is not. `make generate` writes the documents.
package baremetal

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// Options are what the operations need.
type Options struct {
	Store *store.Store
	// Conductor is the host name of the conductor that gets new work.
	Conductor string
	// Decide tells that conductor of an allocation that was made; nil: it is in another
	// process, which the database tells.
	Decide func(uuid.UUID)
	// Silence is how long a conductor may say nothing and count as alive.
	Silence time.Duration
	// Extended adds what this server has beyond the API; without it, that is unknown.
	Extended bool
	// ListenURL is how to reach the database for hearing of decisions, past any
	// pooler of transactions; empty: as the store does.
	ListenURL string
	// Stopping is closed when the process is to end: who waits for a decision is answered
	// then. Nil: never.
	Stopping <-chan struct{}
}

type operations struct {
	store     *store.Store
	conductor string
	decide    func(uuid.UUID)
	silence   time.Duration
	extended  bool
	decisions *decisions
}

// Operations is the API: the rows of the route table. A path with a fixed last step
// stands before one with a variable there. The order of methods on a path is the
// order in Allow headers.
func Operations(options Options) []*route.Operation {
	o := &operations{
		store: options.Store, conductor: options.Conductor, decide: options.Decide, silence: options.Silence,
		extended: options.Extended, decisions: newDecisions(options),
	}
	var all []*route.Operation
	for _, resource := range [][]*route.Operation{
		discoveryOperations(), o.nodeOperations(), o.nodeStateOperations(), o.nodeTraitOperations(), o.portOperations(),
		o.driverOperations(), o.conductorOperations(), o.nodeAllocationOperations(),
	} {
		all = append(all, resource...)
	}
	return all
}

const (
	tagDiscovery   = "Discovery"
	tagNodes       = "Nodes"
	tagStates      = "States of nodes"
	tagTraits      = "Traits of nodes"
	tagPorts       = "Ports"
	tagAllocations = "Allocations"
	tagDrivers     = "Drivers"
	tagConductors  = "Conductors"
)

// Tags describe the groups of operations in the documents.
func Tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagDiscovery, Description: "What the server speaks, and where."},
		{Name: tagNodes, Description: "Machines."},
		{Name: tagStates, Description: "What a machine is doing, and what it shall do."},
		{Name: tagTraits, Description: "Qualities of machines that allocations may ask for."},
		{Name: tagPorts, Description: "Network interfaces of machines."},
		{Name: tagAllocations, Description: "Who has which machine."},
		{Name: tagDrivers, Description: "Kinds of hardware that machines are managed by."},
		{Name: tagConductors, Description: "The processes that manage machines."},
	}
}

// v is short for the tables of variants.
func v(minor uint8) microversion.Version { return microversion.V(minor) }

// The checks of most operations.
var (
	only        = []route.Check{route.Version}
	writes      = []route.Check{route.AnyType}
	writesSince = []route.Check{route.Version, route.AnyType}
)

// none is the input of operations without path parameters.
type none struct{}

// empty is the answer without a body.
type empty struct{}

// answer is one with a body.
type answer[B any] struct {
	Body B
}

// created is the answer that says where the new thing is.
type created[B any] struct {
	Location string `header:"Location" doc:"URL of what was created." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001"`
	Body     B
}

// accepted is the answer to what happens later.
type accepted struct {
	Location string `header:"Location" doc:"URL that tells how it goes." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001/states"`
}
