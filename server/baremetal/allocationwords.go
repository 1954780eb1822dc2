package baremetal

import (
	"fmt"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

func noAllocation(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Allocation %s could not be found.", sent)
}

// noNodeInFilter is for nodes that a body or a filter names: it is not the
// resource of the path that is missing.
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

// allocationOnNode is why a node is not let go.
func allocationOnNode(allocation, node, reason string) *fault.Error {
	return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is %s (and maintenance mode is off)",
		allocation, node, reason)
}

// notBackfilled is why a node in use cannot have the allocation. The allocation has no
// uuid yet if none was sent.
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

// allocationWords are for an allocation that a path names.
func allocationWords(sent string) words {
	return words{
		store.NodeAllocationUnknown:    saying(noAllocation(sent).Kind, "%s", noAllocation(sent).Detail),
		store.NodeAllocationNodeActive: nodeIsActive,
		store.NodeAllocationNodeBusy:   nodeIsBusy,
	}
}

// nodeAllocationWords are for the allocation of a node that a path names.
func nodeAllocationWords(sent string) words {
	return words{
		store.NodeUnknown:              saying(fault.NotFound, "Node %s could not be found.", sent),
		store.NodeAllocationUnknown:    func(store.Values) *fault.Error { return noAllocationOfNode(sent) },
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

// allocationsUnlisted are for filters and markers.
var allocationsUnlisted = words{
	store.NodeUnknown:           func(values store.Values) *fault.Error { return noNodeInFilter(values.Node) },
	store.NodeAllocationUnknown: func(values store.Values) *fault.Error { return noAllocation(values.Allocation) },
}

// allocationRefused are for requests that are not even taken.
func allocationRefused(request *store.NodeAllocationRequest) words {
	return words{
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
		store.NodeUnknown:              func(values store.Values) *fault.Error { return noNodeInFilter(values.Node) },
		store.NodeAssociated: func(values store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Node %s is associated with instance %s.", values.Node, values.Instance)
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
		store.AllocationCapacity: func(store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Cannot backfill an allocation for node %s: It is claimed through Placement.", *request.Node)
		},
		store.NodeAllocationConsumerTaken: func(store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Cannot backfill an allocation for node %s: "+
				"A consumer of the same UUID has allocations in Placement already.", *request.Node)
		},
	}
}

// The failures of operations on allocations, for the documents.
var (
	exampleValues = store.Values{
		Node: "c0ffee00-5ca1-4b1e-8000-000000000001", State: "available", Allocation: "ba5eba11-0000-4000-8000-000000000001",
	}
	allocationHeld = []route.Failure{
		{When: "The node is active, and not in maintenance.", Fault: nodeIsActive(exampleValues)},
		{When: "The node is on its way to another state, and not in maintenance.", Fault: nodeIsBusy(store.Values{
			Node: exampleValues.Node, State: "deploying", Allocation: exampleValues.Allocation,
		})},
	}
	nodeWithoutAllocation = []route.Failure{
		{When: "There is no such node.", Fault: fault.New(fault.NotFound, "Node rack-7 could not be found.")},
		{When: "The node has no allocation.", Fault: noAllocationOfNode("rack-7")},
	}
	allocationRefusals = []route.Failure{
		{When: "There is neither a resource class nor a node.", Fault: noClass},
		{When: "The uuid is none.", Fault: fault.New(fault.Invalid, "Expected UUID for uuid: abc")},
		{When: "A trait has no name of a trait.", Fault: badTrait("fast")},
		{When: "A candidate does not exist.", Fault: noCandidates("rack-7")},
		{When: "The node to make the allocation for does not exist.", Fault: noNodeInFilter("rack-7"), Since: v(58)},
		{When: "An allocation has the uuid already.", Fault: allocationUUIDTaken(exampleValues.Allocation)},
		{When: "An allocation has the name already.", Fault: allocationNameTaken("web-1")},
		{When: "The uuid is the instance of a node already.", Fault: allocationInstanceTaken(exampleValues.Allocation, exampleValues.Node)},
		{When: "The node to make the allocation for is not active.", Fault: notActive(exampleValues), Since: v(58)},
	}
)
