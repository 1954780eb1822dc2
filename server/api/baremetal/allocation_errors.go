package baremetal

import (
	"fmt"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
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
