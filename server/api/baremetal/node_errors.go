package baremetal

import (
	"context"
	"maps"
	"net/http"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/work/conductor"
)

func noNode(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Node %s could not be found.", sent)
}

var noNodeFails = route.Failure{Name: "node-not-found", When: "The node does not exist.", Fault: noNode("rack-7")}

// denied returns the failure of a denied request, for operations with several failures of that status.
func denied(rule string) route.Failure {
	return route.Failure{Name: "forbidden", When: "The policy denies the request.",
		Fault: fault.New(fault.Forbidden, "%s", (&policy.Denied{Rule: rule}).Error())}
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

// instanceTaken returns the error for an instance UUID that another node has; nil uses the example node.
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

func nodeContended(sent string) *fault.Error {
	return fault.New(fault.Conflict, "Concurrent updates of node %s conflicted with this request in every attempt. Retry the request.", sent)
}

func providerHas(what, sent string) *fault.Error {
	return fault.New(fault.Conflict,
		"Node %s is a resource provider that has %s in Placement; delete them before.", sent, what)
}

// markerFaults returns the error for a marker that does not exist.
func markerFaults(rule store.Rule, page store.Page) route.RuleFaults {
	return route.RuleFaults{rule: func(store.Values) *fault.Error { return badMarker(textOf(idText(page.Marker))) }}
}

// nodeFaults returns the errors for the node of a path.
func nodeFaults(sent string) route.RuleFaults {
	return route.RuleFaults{
		store.NodeNotFound:           func(store.Values) *fault.Error { return noNode(sent) },
		store.NodeAssociated:         func(is store.Values) *fault.Error { return associated(is.Node, is.Instance) },
		store.NodeProtected:          func(is store.Values) *fault.Error { return protected(is.Node) },
		store.NodeNotDeletable:       func(is store.Values) *fault.Error { return notDeletable(is.Node, is.State) },
		store.NodeRevisionConflict:   func(store.Values) *fault.Error { return nodeContended(sent) },
		store.ProviderHasAllocations: func(store.Values) *fault.Error { return providerHas("allocations", sent) },
		store.ProviderHasChildren:    func(store.Values) *fault.Error { return providerHas("children", sent) },
	}
}

// nodeChangeFaults returns the errors of the database for the changed node.
func nodeChangeFaults(sent string, wanted *store.Node) route.RuleFaults {
	all := maps.Clone(nodeFaults(sent))
	maps.Copy(all, route.RuleFaults{
		store.NodeUUIDTaken:     func(store.Values) *fault.Error { return uuidTaken(wanted) },
		store.NodeNameTaken:     func(store.Values) *fault.Error { return nameTaken(wanted) },
		store.NodeInstanceTaken: func(store.Values) *fault.Error { return instanceTaken(wanted) },
		store.NodeOwnerFixed:    func(is store.Values) *fault.Error { return ownerStays(is.Node) },
		store.InventoryInUse: func(is store.Values) *fault.Error {
			return fault.New(fault.Conflict, "The resource_class of node %s can not be changed while its %s is claimed in Placement.",
				wanted.UUID, is.Class)
		},
		store.ProviderNameTaken: func(store.Values) *fault.Error {
			return fault.New(fault.Conflict,
				"A resource provider in Placement is named %s, which has to be the name of this node's.", wanted.UUID)
		},
	})
	return all
}

// Validation has a result for each interface of a node's driver.
type Validation struct {
	BIOS       ValidationResult `json:"bios" doc:"BIOS interface."`
	Boot       ValidationResult `json:"boot" doc:"Boot interface."`
	Console    ValidationResult `json:"console" doc:"Console interface."`
	Deploy     ValidationResult `json:"deploy" doc:"Deploy interface."`
	Inspect    ValidationResult `json:"inspect" doc:"Inspect interface."`
	Management ValidationResult `json:"management" doc:"Management interface."`
	Network    ValidationResult `json:"network" doc:"Network interface."`
	Power      ValidationResult `json:"power" doc:"Power interface."`
	RAID       ValidationResult `json:"raid" doc:"RAID interface."`
	Rescue     ValidationResult `json:"rescue" doc:"Rescue interface."`
	Storage    ValidationResult `json:"storage" doc:"Storage interface."`
}

// ValidationResult is the result for one interface.
type ValidationResult struct {
	Result *bool  `json:"result" nullable:"true" doc:"Whether the validation passed; null if the driver does not support the interface." example:"true"`
	Reason string `json:"reason,omitempty" doc:"Reason of the failure." example:"The address is missing."`
}

func (o *operations) nodeValidateOperation() *route.Operation {
	return &route.Operation{
		ID: "node-validate", Method: http.MethodGet, Path: nodeOne + "/validate", Tag: tagNodes, Rule: policy.NodesValidate, Authorize: o.onNode(policy.NodesValidate),
		Summary: "Validate a node's driver settings", Fails: []route.Failure{noNodeFails, driverNotHere},
		Variants: []route.Variant{route.From(v(1), o.nodeValidate, validationExample)},
	}
}

// nodeValidateAnyOperation returns the operation with the node as an argument, which some clients still use.
func (o *operations) nodeValidateAnyOperation() *route.Operation {
	node := route.Params{{Name: "node", Since: v(1), Doc: "The node.", Example: "rack-7"}}
	return &route.Operation{
		ID: "node-validate-any", Method: http.MethodGet, Path: nodeAll + "/validate", Tag: tagNodes, Rule: policy.NodesValidate, Authorize: o.onNodeOfQuery,
		Summary: "Validate the driver settings of the node in an argument",
		Fails: []route.Failure{{Name: "node-missing", When: "The query names no node.",
			Fault: errNoNodeNamed}, noNodeFails, driverNotHere},
		Variants: []route.Variant{route.From(v(1), o.nodeValidateAny, route.QueryOf(node), validationExample)},
	}
}

var (
	errNoNodeNamed = fault.New(fault.Invalid, "The argument node is missing: the uuid or the name of a node.")
	driverNotHere  = route.Failure{Name: "driver-not-available", When: "The server does not have the node's driver.",
		Fault: noDriverHere("none")}

	validationExample = route.Example(func(context.Context) any { return validationOf(map[string]error{"power": nil}) })
)

func noDriverHere(driver string) *fault.Error {
	return fault.New(fault.Invalid, "No driver %s is built into this server, so that the node cannot be validated.", driver)
}

func (o *operations) nodeValidateAny(ctx context.Context, _ *none) (*answer[Validation], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	sent, there := given.Last("node")
	if !there || sent == "" {
		return nil, errNoNodeNamed
	}
	return o.nodeValidate(ctx, &nodePath{Node: sent})
}

func (o *operations) nodeValidate(ctx context.Context, in *nodePath) (*answer[Validation], error) {
	found, err := o.node(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	driver, known := conductor.Drivers()[found.Driver]
	if !known {
		return nil, noDriverHere(found.Driver)
	}
	return &answer[Validation]{Body: validationOf(driver.Validate(ctx, found))}, nil
}

func validationOf(found map[string]error) Validation {
	of := func(name string) ValidationResult {
		reason, there := found[name]
		switch {
		case !there:
			return ValidationResult{Reason: "not supported"}
		case reason != nil:
			return ValidationResult{Result: new(false), Reason: reason.Error()}
		}
		return ValidationResult{Result: new(true)}
	}
	return Validation{
		BIOS: of("bios"), Boot: of("boot"), Console: of("console"), Deploy: of("deploy"), Inspect: of("inspect"),
		Management: of("management"), Network: of("network"), Power: of("power"), RAID: of("raid"), Rescue: of("rescue"),
		Storage: of("storage"),
	}
}
