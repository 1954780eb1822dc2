package baremetal

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/work/conductor"
)

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
