package baremetal

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
)

func noAllocation(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Allocation %s could not be found.", sent)
}

// noNodeInFilter returns the error for a node that a body or a filter names. Its status is 400, because the resource of
// the path exists.
func noNodeInFilter(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Node %s could not be found.", sent)
}

func noAllocationOfNode(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Allocation for node %s was not found", sent)
}

func allocationNameTaken(name string) *fault.Error {
	return fault.New(fault.Conflict, "An allocation with name %s already exists.", name)
}

func allocationUUIDTaken(id string) *fault.Error {
	return fault.New(fault.Conflict, "An allocation with UUID %s already exists.", id)
}

func allocationInstanceTaken(instance, node string) *fault.Error {
	return fault.New(fault.Conflict, "Instance %s is already associated with node %s.", instance, node)
}

func noCandidates(nodes string) *fault.Error {
	return fault.New(fault.Invalid, "Nodes cannot be found: %s", nodes)
}

// allocationOnNode returns the error for a node that cannot be released.
func allocationOnNode(allocation, node, reason string) *fault.Error {
	return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is %s (and maintenance mode is off)",
		allocation, node, reason)
}

// notBackfilled returns the error for a backfill of an unsuitable node. The allocation has no UUID yet if the request
// contained none.
func notBackfilled(values store.Values, format string, args ...any) *fault.Error {
	text := fmt.Sprintf("Cannot backfill an allocation for node %s: %s", values.Node, fmt.Sprintf(format, args...))
	if values.Allocation != "" {
		text = fmt.Sprintf("Failed to process allocation %s: %s", values.Allocation, text)
	}
	return fault.New(fault.Conflict, "%s", text)
}

func notActive(values store.Values) *fault.Error {
	return notBackfilled(values, `Node must be in the "active" state, but the current state is "%s".`, values.State)
}

// allocationFaults returns the errors for an allocation in a path.
func allocationFaults(sent string) route.RuleFaults {
	return route.RuleFaults{
		store.NodeAllocationNotFound:   func(store.Values) *fault.Error { return noAllocation(sent) },
		store.NodeAllocationNodeActive: nodeIsActive,
		store.NodeAllocationNodeBusy:   nodeIsBusy,
	}
}

// nodeAllocationFaults returns the errors for the allocation of a node in a path.
func nodeAllocationFaults(sent string) route.RuleFaults {
	return route.RuleFaults{
		store.NodeNotFound:             func(store.Values) *fault.Error { return noNode(sent) },
		store.NodeAllocationNotFound:   func(store.Values) *fault.Error { return noAllocationOfNode(sent) },
		store.NodeAllocationNodeActive: nodeIsActive,
		store.NodeAllocationNodeBusy:   nodeIsBusy,
	}
}

func nodeIsActive(values store.Values) *fault.Error {
	return allocationOnNode(values.Allocation, values.Node, "active")
}

func nodeIsBusy(values store.Values) *fault.Error {
	return allocationOnNode(values.Allocation, values.Node, "in state "+values.State+" where updates are not allowed")
}

// allocationsUnlisted are the errors of filters and markers.
var allocationsUnlisted = route.RuleFaults{
	store.NodeNotFound:           func(values store.Values) *fault.Error { return noNodeInFilter(values.Node) },
	store.NodeAllocationNotFound: func(values store.Values) *fault.Error { return noAllocation(values.Allocation) },
}

// allocationRefused returns the errors of requests that create no allocation.
func allocationRefused(request *store.NodeAllocationRequest) route.RuleFaults {
	return route.RuleFaults{
		store.NodeAllocationUUIDTaken: func(store.Values) *fault.Error {
			if request.UUID == nil {
				return fault.New(fault.Conflict, "An allocation with the instance UUID of node %s already exists.", *request.Node)
			}
			return allocationUUIDTaken(request.UUID.String())
		},
		store.NodeAllocationNameTaken: func(store.Values) *fault.Error { return allocationNameTaken(*request.Name) },
		store.NodeAllocationInstance: func(values store.Values) *fault.Error {
			return allocationInstanceTaken(values.Instance, values.Node)
		},
		store.NodeAllocationCandidates: func(values store.Values) *fault.Error { return noCandidates(values.Node) },
		store.NodeNotFound:             func(values store.Values) *fault.Error { return noNodeInFilter(values.Node) },
		store.NodeAssociated: func(values store.Values) *fault.Error {
			return associated(values.Node, values.Instance)
		},
		store.BackfillState: notActive,
		store.BackfillClass: func(values store.Values) *fault.Error {
			return notBackfilled(values, "Resource class %s does not match the expected value %s.", values.Class, request.ResourceClass)
		},
		store.BackfillTraits: func(values store.Values) *fault.Error {
			return notBackfilled(values, "Node is missing requested traits %s.", values.Traits)
		},
		store.BackfillCandidates: func(values store.Values) *fault.Error {
			return notBackfilled(values, "It is not one of the candidate nodes.")
		},
		store.AllocationExceedsCapacity: func(store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Cannot backfill an allocation for node %s: It is claimed through Placement.", *request.Node)
		},
		store.NodeAllocationConsumerTaken: func(store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Cannot backfill an allocation for node %s: "+
				"A consumer of the same UUID has allocations in Placement already.", *request.Node)
		},
	}
}

// These are the failures of operations on allocations, for the documents.
var (
	exampleValues = store.Values{
		Node: "c0ffee00-5ca1-4b1e-8000-000000000001", State: "available", Allocation: "ba5eba11-0000-4000-8000-000000000001",
	}
	allocationHeld = []route.Failure{
		{Name: "node-active", When: "The node is active and not in maintenance.",
			Fault: nodeIsActive(exampleValues)},
		{Name: "node-busy", When: "The node is in a transient state and not in maintenance.",
			Fault: nodeIsBusy(store.Values{
				Node: exampleValues.Node, State: "deploying", Allocation: exampleValues.Allocation,
			})},
	}
	nodeWithoutAllocation = []route.Failure{
		noNodeFails,
		{Name: "no-allocation", When: "The node has no allocation.", Fault: noAllocationOfNode("rack-7")},
	}
	allocationRefusals = []route.Failure{
		{Name: "resource-class-missing", When: "The request contains neither a resource class nor a node.", Fault: noClass},
		{Name: "invalid-uuid", When: "The value is not a UUID.", Fault: badUUID("uuid", "abc")},
		{Name: "invalid-trait-name", When: "The name of a trait is invalid.", Fault: badTrait("fast")},
		{Name: "unknown-candidate", When: "A candidate does not exist.", Fault: noCandidates("rack-7")},
		{Name: "unknown-node", When: "The node to backfill does not exist.",
			Fault: noNodeInFilter("rack-7"), Since: v(58)},
		{Name: "uuid-taken", When: "Another allocation has the UUID.",
			Fault: allocationUUIDTaken(exampleValues.Allocation)},
		{Name: "name-taken", When: "Another allocation has the name.", Fault: allocationNameTaken("web-1")},
		{Name: "instance-taken", When: "The UUID is already the instance UUID of a node.",
			Fault: allocationInstanceTaken(exampleValues.Allocation, exampleValues.Node)},
		{Name: "node-not-active", When: "The node to backfill is not active.",
			Fault: notActive(exampleValues), Since: v(58)},
	}
)

// nodeAllocationExplanation returns the operation that explains an allocation.
func (o *operations) nodeAllocationExplanation() *route.Operation {
	return &route.Operation{
		ID: "node-allocation-explain", Method: http.MethodGet, Path: allocationOnePath + "/explanation", Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Further: []string{policy.NodesList, policy.NodesListOwn},
		Authorize: o.onAllocation(policy.NodeAllocationsShow), Checks: only, Summary: "Explain an allocation",
		Description: "Explains the requirements of an allocation with the nodes that the caller may list, as they are now: " +
			"how many nodes pass each condition, which nodes fail the fewest, and which changes would help.",
		Fails: []route.Failure{{Name: "allocation-not-found", When: "The allocation does not exist.",
			Fault: noAllocation("web-1")}},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationExplain,
			route.Example(func(context.Context) any { return exampleExplanation() }))},
	}
}

func (o *operations) nodeAllocationExplain(ctx context.Context, in *allocationInput) (*answer[explain.NodeAllocation], error) {
	called, err := ident(authorized(ctx, in.Ident))
	if err != nil {
		return nil, err
	}
	asked, err := o.store.NodeAllocationShow(ctx, called)
	if err != nil {
		return nil, allocationFaults(in.Ident).Translate(err)
	}
	var allocation *explain.NodeAllocation
	took, err := o.explanations.Maker().Run(ctx, explainlog.OnRequest, func(ctx context.Context) (err error) {
		allocation, err = o.explain(ctx, &asked)
		return err
	})
	if err != nil {
		return &answer[explain.NodeAllocation]{Body: *explain.ShortNodeAllocation(&asked)}, nil
	}
	now, ms := time.Now().UTC(), took.Milliseconds()
	allocation.MadeAt, allocation.TookMS = &now, &ms
	return &answer[explain.NodeAllocation]{Body: *allocation}, nil
}

// explain computes the explanation of an allocation. After an error of a later query it is incomplete.
func (o *operations) explain(ctx context.Context, asked *store.NodeAllocation) (*explain.NodeAllocation, error) {
	listable := listableNodes(ctx)
	query := &explain.NodeQuery{Asked: asked, Limited: listable.None || listable.Project != nil}
	traits := explain.TraitElements(asked.Traits)
	var err error
	query.Groups, query.AreProviders, err = o.store.NodeAllocationExplain(ctx, asked, traits, listable, asked.ResourceClass)
	if err != nil {
		return nil, err
	}
	query.Similar = []store.NodeGroup{}
	if similar := query.SimilarClasses(); len(similar) > 0 {
		if query.Similar, _, err = o.store.NodeAllocationExplain(ctx, asked, traits, listable, similar...); err != nil {
			query.Similar = nil
		}
	}
	if query.NeedsTraits() {
		if query.Traits, err = o.store.NodeAllocationExplainTraits(ctx, listable); err != nil {
			query.Traits = nil
		}
	}
	return explain.ExplainNodeAllocation(query), nil
}

// listableNodes returns the nodes that the caller may list, by the rules of GET /v1/nodes.
func listableNodes(ctx context.Context) store.Listable {
	listing, err := authorizeOwn(ctx, policy.NodesList, policy.NodesListOwn)
	if err != nil {
		return store.Listable{None: true}
	}
	return store.Listable{Project: projectOf(listing)}
}

// exampleExplanation explains the allocation of the examples.
func exampleExplanation() *explain.NodeAllocation {
	asked := exampleAsked
	allocation := explain.ExplainNodeAllocation(&explain.NodeQuery{
		Asked: &asked, Similar: []store.NodeGroup{}, Traits: []string{"CUSTOM_FAST_DISKS"}, Groups: []store.NodeGroup{
			{Class: "gold", State: "available", Passed: []bool{true, true, true, true, true, true, false}, Nodes: 1, First: []store.GroupNode{
				{ID: 1, UUID: uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"), Name: "rack-7"},
			}},
			{Class: "silver", State: "active", Passed: []bool{false, false, true, true, true, true}, Nodes: 2},
		},
	})
	at := time.Date(2026, 11, 20, 15, 8, 2, 0, time.UTC)
	allocation.MadeAt, allocation.TookMS = &at, new(int64(4))
	return allocation
}
