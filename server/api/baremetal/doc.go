// Package baremetal is the Bare Metal API: for each operation its wire types, its
// variants by microversion and its error texts. Files are named after the
// resource that they serve. The contract is docs/baremetal-api.md and ironic's API
// reference, https://docs.openstack.org/api-ref/baremetal/.
//
// It is not for transport: package route and its callers do routing, policy, reading
// bodies and writing errors. It decides nothing about data; it calls one method of the
// store and translates the result. The state machine of nodes is in package provision.
// After a response with status 202, a conductor does the work.
//
// # How to write an operation
//
// drivers.go is the worked example. An operation is a row of the route table, in a
// method such as nodeOperations that Operations calls:
//
//	{
//		ID: "node-show", Method: http.MethodGet, Path: "/v1/nodes/{node}", Tag: tagNodes,
//		Rule: policy.NodesShow, Summary: "Show a node", Checks: only,
//		Fails: []route.Failure{{Name: "node-not-found", When: "The node does not exist.", Fault: noNode("rack-7")}},
//		Variants: []route.Variant{route.From(v(1), o.nodeShow, route.QueryOf(fieldsArguments), route.Example(…))},
//	}
//
// Checks is `only` if the first variant is later than 1.1 (below it: 404, or 405 with
// MissingIsMethod), and `writes` for operations with a body. A trailing slash, the policy,
// unknown arguments (400 "Unexpected arguments: …", those of later versions 406),
// and malformed JSON are handled before the operation is called.
//
//   - Path variables are an input struct with `path:"node"`; read them by ident,
//     which returns an error for text that is neither a UUID nor a name.
//   - Arguments of the query are declared by route.QueryOf(route.Params{{Name: …, Since: …}}).
//     Others are rejected before the operation is called. Read them with arguments(ctx),
//     and flags with its flag. A list adds pageArguments and reads them with pageOf.
//   - A representation is a struct with a field for each member that any version
//     has, tagged `since:"21"` if 1.1 does not have it; documents and responses of
//     lower versions lack it. Members are never omitted because they are empty: use
//     pointers with `nullable:"true"` for members that can be null, and omitempty only to
//     document that `fields` can omit the member.
//     newShape[T]() lists the members: all(ctx), only(ctx, names…) and asked(ctx, …)
//     select some, show(chosen, value) returns the representation: `Body view[T]`.
//   - A body is a struct too. A member tagged `since` that is sent below its version
//     is rejected with 406; with `since:"58,unknown"` it is an unknown member, 400.
//     route.Write(v(1), route.Body[in]{Example: …, Optional: true}, o.method) reads,
//     decodes and validates it by the published schema. Optional: a missing body is {}.
//   - The body of PATCH is a Patch: check its members, then apply it to them as
//     a map; it is atomic.
//   - Responses: answer[B] is 200; created[B] is 201 with Location (and
//     route.Status(201)); accepted is 202 with Location; *empty, nil is 204.
//     url and links return absolute URLs. Times are of type Time.
//   - Errors are faults: fault.New(fault.Conflict, "…"). Rule violations of the store are
//     translated by route.RuleFaults{store.NodeNotFound: …}.Translate(err). A fault without a
//     text is for routing only.
//   - Tests of operations are in package baremetal_test and use newService, of
//     service_test.go: s.send(method, path, version, body).wants(200).shows(…), and
//     .refuses(status, text) for errors.
//   - A version at which something changes must be in changes (versions.go); a test
//     fails if it is not. `make generate` writes the documents.
package baremetal

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/microversion"
)

// Options are the dependencies and settings of the operations.
type Options struct {
	Store *store.Store
	// Conductor is the host name of the conductor that new work is assigned to.
	Conductor string
	// Decide notifies that conductor of a new allocation. If it is nil, the conductor runs in another process, which
	// the database notifies.
	Decide func(uuid.UUID)
	// Collectors are the metrics of the conductor of this process.
	Collectors []prometheus.Collector
	// HeartbeatTimeout is the age of a heartbeat after which a conductor counts as dead.
	HeartbeatTimeout time.Duration
	// Extension enables Berth's extensions of the API up to a version; nil: requests for them are rejected.
	Extension *microversion.Extension
	// Explanations bounds and counts the explanations of allocations.
	Explanations *explainlog.Log
	// ListenURL is the address of the database for LISTEN, without a transaction pooler. Empty: the address that the
	// store uses.
	ListenURL string
	// Stopping is closed when the process stops; waiting requests then return. Nil: the process never stops.
	Stopping <-chan struct{}
	// LockTimeout is the maximum time that a request waits for a conductor to release a node before it returns a
	// conflict; 0: it does not wait.
	LockTimeout time.Duration
}

type operations struct {
	store       *store.Store
	conductor   string
	decide      func(uuid.UUID)
	decisionHub *decisionHub
	// extended and explains are true with Berth's extensions, explains from the version with explanations on.
	extended, explains bool
	explanations       *explainlog.Log
	// lockTimeout and stopping end the wait for a reserved node.
	lockTimeout time.Duration
	stopping    <-chan struct{}
	// heartbeatTimeout is the age of a heartbeat after which a conductor counts as dead.
	heartbeatTimeout time.Duration
}

// Operations returns the operations of the API, which are the rows of the route table. A path with a fixed last segment
// precedes one with a variable. The order of methods on a path is the order in Allow headers.
func Operations(options Options) []*route.Operation {
	o := &operations{
		store: options.Store, conductor: options.Conductor, decide: options.Decide, heartbeatTimeout: options.HeartbeatTimeout,
		extended: options.Extension != nil, decisionHub: newDecisions(options),
		explains: options.Extension != nil && *options.Extension >= berth12, explanations: options.Explanations,
		lockTimeout: options.LockTimeout, stopping: options.Stopping,
	}
	if o.explanations == nil {
		o.explanations = explainlog.New(explainlog.Options{Store: options.Store})
	}
	var all []*route.Operation
	for _, resource := range [][]*route.Operation{
		discoveryOperations(), o.nodeOperations(), o.nodeStateOperations(), o.nodeTraitOperations(), o.portOperations(),
		o.driverOperations(), o.conductorOperations(), o.nodeAllocationOperations(),
	} {
		all = append(all, resource...)
	}
	for _, op := range all {
		op.Further = append(op.Further, furtherRules()[op.Rule]...)
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

// Tags returns the descriptions of the groups of operations in the documents.
func Tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagDiscovery, Description: "Supported API versions and their paths."},
		{Name: tagNodes, Description: "Machines."},
		{Name: tagStates, Description: "Provision state and power state of nodes, and their targets."},
		{Name: tagTraits, Description: "Capabilities of nodes that allocations can require."},
		{Name: tagPorts, Description: "Network interfaces of nodes."},
		{Name: tagAllocations, Description: "Requests for nodes, and the assigned nodes."},
		{Name: tagDrivers, Description: "Hardware types that manage nodes."},
		{Name: tagConductors, Description: "Processes that manage nodes."},
	}
}

// v returns the microversion 1.minor. Its short name keeps the tables of variants readable.
func v(minor uint8) microversion.Version { return microversion.V(minor) }

// These are the checks of most operations.
var (
	only        = []route.Check{route.Version}
	writes      = []route.Check{route.LenientJSON}
	writesSince = []route.Check{route.Version, route.LenientJSON}
)

// none is the input of operations without path parameters.
type none struct{}

// empty is a response without a body.
type empty struct{}

// answer is a response with a body.
type answer[B any] struct {
	Body B
}

// created is a response with the location of a new resource.
type created[B any] struct {
	Location string `header:"Location" doc:"URL of the created resource." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001"`
	Body     B
}

// accepted is a response to a request that a conductor completes later.
type accepted struct {
	Location string `header:"Location" doc:"URL that reports the progress." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001/states"`
}
