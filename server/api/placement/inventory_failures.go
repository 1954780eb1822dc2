package placement

import (
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
)

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
