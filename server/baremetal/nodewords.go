package baremetal

import (
	"maps"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

func noNode(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Node %s could not be found.", sent)
}

var noNodeFails = route.Failure{When: "There is no such node.", Fault: noNode("rack-7")}

// denied is what the policy refuses, for operations that have more of that status.
func denied(rule string) route.Failure {
	return route.Failure{When: "The policy does not allow it.", Fault: fault.New(fault.Forbidden, "%s", (&policy.Denied{Rule: rule}).Error())}
}

func associated(node, instance string) *fault.Error {
	return fault.New(fault.Conflict, "Node %s is associated with instance %s.", node, instance)
}

func protected(node string) *fault.Error {
	return fault.New(fault.Forbidden, "Node %s is protected and cannot be undeployed, rebuilt or deleted", node)
}

func notDeletable(node, state string) *fault.Error {
	return fault.New(fault.Conflict, "Can not delete node \"%s\" while it is in provision state \"%s\". Valid provision states "+
		"to perform deletion are: \"enroll, manageable, adopt failed, available\"; in maintenance it is possible in any.", node, state)
}

func uuidTaken(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "A node with UUID %s already exists.", n.UUID)
}

func nameTaken(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "A node with name %s already exists.", textOf(n.Name))
}

// instanceTaken is for a node that wants an instance; nil is the one of an example.
func instanceTaken(n *store.Node) *fault.Error {
	instance, node := "c0ffee00-5ca1-4b1e-8000-000000000009", exampleNode.UUID.String()
	if n != nil {
		instance, node = textOf(idText(n.InstanceUUID)), n.UUID.String()
	}
	return fault.New(fault.Conflict, "Instance %s is already associated with a node, it cannot be associated with this other node %s",
		instance, node)
}

func noConductorFor(n *store.Node) *fault.Error {
	return fault.New(fault.Invalid, "No valid host was found. Reason: No conductor service registered which supports driver %s "+
		"for conductor group \"%s\".", n.Driver, n.ConductorGroup)
}

func badMarker(marker string) *fault.Error {
	return fault.New(fault.NotFound, "The marker %s could not be found.", marker)
}

// markerWords say that a page begins after something that is not there.
func markerWords(rule store.Rule, page store.Page) words {
	return words{rule: func(store.Values) *fault.Error { return badMarker(textOf(idText(page.Marker))) }}
}

// nodeWords say what was wrong with the node of a path.
func nodeWords(sent string) words {
	return words{
		store.NodeUnknown:      saying(fault.NotFound, "Node %s could not be found.", sent),
		store.NodeAssociated:   func(is store.Values) *fault.Error { return associated(is.Node, is.Instance) },
		store.NodeProtected:    func(is store.Values) *fault.Error { return protected(is.Node) },
		store.NodeNotDeletable: func(is store.Values) *fault.Error { return notDeletable(is.Node, is.State) },
		store.NodeRevision: saying(fault.Conflict,
			"Node %s is changed by others again and again. Please retry.", sent),
		store.ProviderHasAllocations: saying(fault.Conflict,
			"Node %s is a resource provider that has allocations in Placement; delete them before.", sent),
		store.ProviderHasChildren: saying(fault.Conflict,
			"Node %s is a resource provider that has children in Placement; delete them before.", sent),
	}
}

// nodeChangeWords say what the database refused of a node as it was to be.
func nodeChangeWords(sent string, wanted *store.Node) words {
	all := maps.Clone(nodeWords(sent))
	maps.Copy(all, words{
		store.NodeUUIDTaken:     func(store.Values) *fault.Error { return uuidTaken(wanted) },
		store.NodeNameTaken:     func(store.Values) *fault.Error { return nameTaken(wanted) },
		store.NodeInstanceTaken: func(store.Values) *fault.Error { return instanceTaken(wanted) },
		store.NodeOwnerFixed:    func(is store.Values) *fault.Error { return ownerStays(is.Node) },
		store.InventoryInUse: func(is store.Values) *fault.Error {
			return fault.New(fault.Conflict, "The resource_class of node %s can not be changed while its %s is claimed in Placement.",
				wanted.UUID, is.Class)
		},
		store.ProviderNameTaken: saying(fault.Conflict,
			"A resource provider in Placement is named %s, which has to be the name of this node's.", wanted.UUID),
	})
	return all
}
