package placement

import (
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
)

const textAllocate = "Unable to allocate inventory: "

// These are the failures of all writes of allocations.
var (
	claimProviderUnknown = route.Fails(fault.Invalid, "unknown-provider", "A provider does not exist.",
		"Allocation for resource provider '%s' that does not exist.", unknownUUID)
	claimClassUnknown = route.Fails(fault.Invalid, "unknown-class", "A resource class does not exist.",
		"%s"+textNoClass, "", unknownClass)
	staleConsumer = route.Fails(fault.Conflict, "stale-consumer-generation",
		"The request contains an outdated consumer generation, or a generation although the consumer does not exist, "+
			"or null although it exists. Read its allocations again and retry.",
		"consumer generation conflict - expected %s but got %s", "2", "1").
		WithCode(fault.CodeConcurrentUpdate).From(v(28))
	claimInventoryMissing = route.Fails(fault.Conflict, "no-inventory",
		"A provider has no inventory of a class.",
		textAllocate+"Inventory for '%s' on resource provider '%s' invalid.", "VCPU", exampleHost)
	amountViolatesUnits = route.Fails(fault.Conflict, "amount-violates-units",
		"An amount is below `min_unit`, above `max_unit` or not a multiple of `step_size`.",
		textAllocate+"Unable to create allocation for '%s' on resource provider '%s'. "+
			"The requested amount would violate inventory constraints.", "VCPU", exampleHost)
	amountExceedsCapacity = route.Fails(fault.Conflict, "amount-exceeds-capacity",
		"An amount exceeds the free capacity.",
		textAllocate+"Unable to create allocation for '%s' on resource provider '%s'. "+
			"The requested amount would exceed the capacity.", "VCPU", exampleHost)
)

// These texts precede the error for a resource class that does not exist, one for each write of allocations.
const (
	textReplaceMany = "Unable to allocate inventory "
	textReshape     = "malformed reshaper data: "
)

func replacingConsumer(consumer string) string {
	return "Unable to allocate inventory for consumer " + consumer + ": "
}

// claimFailures returns the failures of a write of allocations. unknown precedes the error for a resource class that
// does not exist.
func claimFailures(unknown string) []route.Failure {
	class := claimClassUnknown
	class.Fault = class.Of(unknown, unknownClass)
	return []route.Failure{
		claimProviderUnknown, class, staleConsumer, claimInventoryMissing, amountViolatesUnits, amountExceedsCapacity,
	}
}

var (
	malformedConsumer = route.Fails(fault.Invalid, "malformed-consumer-uuid",
		"The consumer in the path is not a UUID.",
		"Malformed consumer_uuid: %s", "17")
	consumerNotFound = route.Fails(fault.NotFound, "consumer-not-found", "The consumer has no allocations.",
		"No allocations for consumer '%s'", unknownUUID)
	allocationProviderNotFound = route.Fails(fault.NotFound, "provider-not-found", whenNoProvider,
		"Resource provider '%[1]s' not found: "+textNoProvider, unknownUUID)
	shapeProviderUnknown = route.Fails(fault.Invalid, "unknown-inventory-provider",
		"A provider in `inventories` does not exist.",
		"Resource provider %[1]s in inventories not found: "+textNoProvider, unknownUUID).
		WithCode(fault.CodeProviderNotFound)
	staleShape = staleProvider("resource provider generation conflict for provider %s: actual: %d, given: %d",
		exampleHost, 5, 4)

	allocationReplaceFailures = with(claimFailures(replacingConsumer(exampleInstance)), malformedConsumer)
	reshapeFailures           = with(claimFailures(textReshape),
		shapeProviderUnknown, staleShape, inventoryInUseForUpdate)
)
