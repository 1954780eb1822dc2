package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// PatchedInventory are the members of an inventory in a merge patch.
type PatchedInventory struct {
	Total           receivedInt    `json:"total,omitempty" format:"int32" minimum:"1" maximum:"2147483647" doc:"Total amount of the resource class on this provider. Required for a class that the provider does not have." example:"64"`
	Reserved        receivedInt    `json:"reserved,omitempty" format:"int32" minimum:"0" maximum:"2147483647" doc:"Amount that consumers cannot allocate. Null: 0." example:"2"`
	MinUnit         receivedInt    `json:"min_unit,omitempty" format:"int32" minimum:"1" maximum:"2147483647" doc:"Minimum amount of an allocation. Null: 1." example:"1"`
	MaxUnit         receivedInt    `json:"max_unit,omitempty" format:"int32" minimum:"1" maximum:"2147483647" doc:"Maximum amount of an allocation. Null: no limit." example:"32"`
	StepSize        receivedInt    `json:"step_size,omitempty" format:"int32" minimum:"1" maximum:"2147483647" doc:"The amount of an allocation is a multiple of this value. Null: 1." example:"1"`
	AllocationRatio receivedNumber `json:"allocation_ratio,omitempty" maximum:"3.40282e+38" doc:"Overcommit factor: capacity = (total − reserved) × allocation_ratio. Null: 1.0." example:"4"`
	Generation      ignored        `json:"resource_provider_generation,omitempty" doc:"Ignored."`
}

// patchedByClass maps resource classes to merge patches of inventories.
type patchedByClass struct {
	jsonbody.Ordered[orNull[PatchedInventory]]
}

// Schema implements huma.SchemaProvider.
func (patchedByClass) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(orNull[PatchedInventory]{}.Schema(r), classPattern, 0)
}

// InventoriesPatch is the merge patch of a provider's inventories.
type InventoriesPatch struct {
	Inventories patchedByClass `json:"inventories" doc:"Inventories by resource class; null removes the class."`
	Generation  *jsonbody.Int  `json:"resource_provider_generation,omitempty" nullable:"false" doc:"The provider generation that the client read. Default: not compared." example:"4"`
}

var (
	inventoryTotalMissing = route.Failure{
		Name: "total-missing", When: "A class that the provider does not have has no `total`, or the total of a class is null.",
		Fault: route.InvalidBody.Of("'total' is a required property"),
	}
	inventoryPatchFailures = with(inventoryFailures("update"),
		providerNotFound, staleProviderNow, inventoryTotalMissing, inventoryClassUnknown, inventoryInUseForUpdate)
)

// inventoryPatchOperation returns the row of the table.
func (o *operations) inventoryPatchOperation(path string, example route.Doc) *route.Operation {
	body := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"inventories": map[string]any{"VCPU": map[string]any{"allocation_ratio": 4}, "DISK_GB": nil},
	}}
	return &route.Operation{
		ID: "inventory-patch", Method: http.MethodPatch, Path: path, Tag: tagInventories, Rule: policy.InventoriesUpdate,
		Summary: "Change some of a provider's inventories", Checks: patches, Fails: inventoryPatchFailures,
		Description: "A JSON merge patch (RFC 7396). A class that the provider has keeps the members that are not sent. " +
			"A patch that changes nothing does not increment the generation.",
		Variants: []route.Variant{route.Write(berth13, body, o.inventoryPatch, example)},
	}
}

// members returns the members that were sent.
func (p *PatchedInventory) members() map[string]*float64 {
	numbers := map[string]*float64{}
	for name, sent := range map[string]receivedInt{
		"total": p.Total, "reserved": p.Reserved, "min_unit": p.MinUnit, "max_unit": p.MaxUnit, "step_size": p.StepSize,
	} {
		if !sent.isSent {
			continue
		}
		numbers[name] = nil
		if sent.value != nil {
			value := float64(*sent.value) // exact: the schema limits it to 32 bits
			numbers[name] = &value
		}
	}
	if ratio := p.AllocationRatio; ratio.isSent {
		numbers["allocation_ratio"] = nil
		if ratio.value != nil {
			value := max(*ratio.value, leastRatio)
			numbers["allocation_ratio"] = &value
		}
	}
	return numbers
}

// toStore converts the patch in the order of the request.
func (p patchedByClass) toStore() (patch store.InventoryPatch) {
	for _, entry := range p.Ordered {
		if entry.Value.value == nil {
			patch.Removed = append(patch.Removed, entry.Key)
			continue
		}
		patch.Changed = append(patch.Changed, store.InventoryMembers{Class: entry.Key, Members: entry.Value.value.members()})
	}
	return patch
}

func (o *operations) inventoryPatch(ctx context.Context, in *providerPath, body *InventoriesPatch) (*cached[Inventories], error) {
	sent := generationOf(body.Generation)
	after, err := o.store.InventoryPatch(ctx, in.id(), sent, body.Inventories.toStore(), minCapacity(ctx))
	recordProvider(ctx, in.id(), sent, &after.Generation, err)
	if err != nil {
		return nil, inventoryFaults(ctx, in.UUID, "update").With(route.RuleFaults{
			store.ProviderGenerationConflict: providerConflict(in.UUID),
			store.InventoryTotalMissing:      func(store.Values) *fault.Error { return inventoryTotalMissing.Fault },
			store.ClassNotFound: func(values store.Values) *fault.Error {
				return inventoryClassUnknown.Of(in.UUID, values.Class)
			},
			store.InventoryInUse: func(values store.Values) *fault.Error {
				return inventoryInUseForUpdate.Of(values.Class, in.UUID)
			},
		}).Translate(err)
	}
	modified := now()
	if len(after.Records) == 0 {
		modified = nil
	}
	return answer(ctx, allShown(after.Generation, after.Records), modified), nil
}

const (
	textReserved = "Unable to %s inventory for resource provider %[2]s: " +
		"Invalid inventory for '%[3]s' on resource provider '%[2]s'. The reserved value is "
	textInUse      = "Inventory for '%[1]s' on resource provider '%[2]s' in use."
	textNoClassRow = "No inventory of class %[1]s found"
)

// Up to 1.25 reserved must be less than total.
var (
	capacityBelowOne = route.Fails(fault.Invalid, "capacity-below-one",
		"The capacity, `(total - reserved) * allocation_ratio`, is less than 1.",
		textReserved+"greater than or equal to total.", "create", exampleHost, "VCPU").Until(v(26))
	capacityNegative = route.Fails(fault.Invalid, "capacity-negative",
		"The capacity, `(total - reserved) * allocation_ratio`, is less than 0.",
		textReserved+"greater than total.", "create", exampleHost, "VCPU").From(v(26))
)

// inventoryFailures returns the failures of writing an inventory. action is the name of the operation in the texts.
func inventoryFailures(action string) []route.Failure {
	belowOne, negative := capacityBelowOne, capacityNegative
	belowOne.Fault = belowOne.Of(action, exampleHost, "VCPU")
	negative.Fault = negative.Of(action, exampleHost, "VCPU")
	return []route.Failure{belowOne, negative}
}

// Some operations have a prefix before this conflict.
var (
	inventoryInUse = route.Fails(fault.Conflict, "inventory-in-use",
		"A removed class has allocations.",
		textInUse, "VCPU", exampleHost).WithCode(fault.CodeInventoryInUse)
	inventoryInUseForUpdate = route.Fails(fault.Conflict, "inventory-in-use", inventoryInUse.When,
		"update conflict: "+textInUse, "VCPU", exampleHost).WithCode(fault.CodeInventoryInUse)
)

var (
	staleInventory = staleProvider("resource provider generation conflict")

	newInventoryClassUnknown = route.Fails(fault.Invalid, "unknown-class", "The resource class does not exist.",
		"Unable to create inventory for resource provider %s: "+textNoClass, exampleHost, unknownClass)
	inventoryExists = route.Fails(fault.Conflict, "inventory-exists",
		"The provider already has an inventory of the class.",
		"Update conflict: resource provider %s has inventory of class %s already.", exampleHost, "VCPU").
		WithCode(fault.CodeConcurrentUpdate)
	inventoryClassUnknown = route.Fails(fault.Invalid, "unknown-class", "A resource class does not exist.",
		"Unknown resource class in inventory for resource provider %s: "+textNoClass, exampleHost, unknownClass)
	inventoryNotFound = route.Fails(fault.NotFound, "inventory-not-found",
		"The provider has no inventory of the class.",
		"No inventory of class %s for %s", "VGPU", exampleHost)
	pathClassUnknown = route.Fails(fault.NotFound, "class-not-found", "The resource class does not exist.",
		textNoClass, unknownClass)
	inventoryMissing = route.Fails(fault.Invalid, "inventory-missing",
		"The provider has no inventory of the class.",
		"No inventory record with resource class for resource provider %[2]s: "+textNoClassRow+".", "VGPU", exampleHost)
	inventoryNotFoundForDelete = route.Fails(fault.NotFound, "inventory-not-found",
		"The provider has no inventory of the class.",
		textNoClassRow+" for delete: "+textNoClassRow+".", "VGPU")
	// Placement reports this conflict without the code for inventory in use, and clients depend on it.
	inventoryClassInUse = route.Fails(fault.Conflict, "inventory-in-use",
		"The class has allocations on the provider.",
		"Unable to delete inventory of class %[1]s: "+textInUse, "VCPU", exampleHost).WithCode(fault.CodeConcurrentUpdate)
)

var (
	inventoryCreateFailures = with(inventoryFailures("create"),
		providerNotFound, staleProviderNow, newInventoryClassUnknown, inventoryExists)
	inventoryReplaceFailures = with(inventoryFailures("update"),
		providerNotFound, inventoryClassUnknown, staleInventory, inventoryInUseForUpdate)
	inventoryShowFailures   = []route.Failure{providerNotFoundLeadingSpace, inventoryNotFound}
	inventoryUpdateFailures = with(inventoryFailures("update"),
		providerNotFound, pathClassUnknown, inventoryMissing, staleInventory)
	inventoryDeleteFailures = []route.Failure{
		providerNotFound, inventoryNotFoundForDelete, staleProviderNow, inventoryClassInUse,
	}
)
