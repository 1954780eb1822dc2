package placement

import (
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
)

// What follows is for the documents: the errors that several operations have,
// worded with the values of the examples.

// fails is an error without a code of its own.
func fails(kind fault.Kind, when, format string, args ...any) route.Failure {
	return route.Failure{When: when, Fault: fault.New(kind, format, args...)}
}

// coded is an error with a code.
func coded(kind fault.Kind, code, when, format string, args ...any) route.Failure {
	return route.Failure{When: when, Fault: fault.New(kind, format, args...).WithCode(code)}
}

// from is the same error from a microversion on.
func from(since uint8, failure route.Failure) route.Failure {
	failure.Since = v(since)
	return failure
}

// before is the same error up to a microversion, exclusive.
func before(end uint8, failure route.Failure) route.Failure {
	failure.Before = v(end)
	return failure
}

// noProviderFound says the same as all operations on a provider, in the words of
// most.
var noProviderFound = route.Failure{When: "There is no such provider.", Fault: noProvider(unknownUUID)}

// noProviderTwice is how some operations say it.
var noProviderTwice = fails(fault.NotFound, noProviderFound.When,
	"No resource provider with uuid %s found: %s", unknownUUID, noProvider(unknownUUID).Detail)

var badQuery = fails(fault.Invalid, "A query parameter is unknown at this microversion, or breaks its schema.",
	"Invalid query string parameters: Additional properties are not allowed ('colour' was unexpected)")

// staleProvider is a generation that is not the provider's.
func staleProvider(format string, args ...any) route.Failure {
	return coded(fault.Conflict, fault.CodeConcurrentUpdate,
		"The provider's generation is another by now. Read the provider again and repeat.", format, args...)
}

// inventoryFailures are those of writing an inventory: what is reserved may be all
// of it from 1.26 on.
func inventoryFailures(action string) []route.Failure {
	const says = "Unable to %s inventory for resource provider %s: Invalid inventory for 'VCPU' on resource provider '%s'. " +
		"The reserved value is %s"
	return []route.Failure{
		before(26, fails(fault.Invalid, "The capacity, `(total - reserved) * allocation_ratio`, is less than 1.",
			says, action, exampleHost, exampleHost, "greater than or equal to total.")),
		from(26, fails(fault.Invalid, "The capacity, `(total - reserved) * allocation_ratio`, is less than 0.",
			says, action, exampleHost, exampleHost, "greater than total.")),
	}
}

// claimFailures are those of every write of allocations; unknown introduces a
// class that does not exist.
func claimFailures(unknown string) []route.Failure {
	const unable = "Unable to allocate inventory: "
	return []route.Failure{
		fails(fault.Invalid, "A provider does not exist.",
			"Allocation for resource provider '%s' that does not exist.", unknownUUID),
		fails(fault.Invalid, "A resource class does not exist.", "%sNo such resource class %s.", unknown, unknownClass),
		{
			When: "The consumer's generation is another by now, or there is no such consumer yet, or there is one already. " +
				"Read its allocations again and decide anew.",
			Fault: fault.New(fault.Conflict, "consumer generation conflict - expected 2 but got 1").
				WithCode(fault.CodeConcurrentUpdate),
			Since: microversion.V(28),
		},
		fails(fault.Conflict, "A provider has no inventory of a class.",
			unable+"Inventory for '%s' on resource provider '%s' invalid.", "VCPU", exampleHost),
		fails(fault.Conflict, "An amount is below `min_unit`, above `max_unit` or no multiple of `step_size`.",
			unable+"Unable to create allocation for '%s' on resource provider '%s'. "+
				"The requested amount would violate inventory constraints.", "VCPU", exampleHost),
		fails(fault.Conflict, "An amount does not fit into what is left of the capacity.",
			unable+"Unable to create allocation for '%s' on resource provider '%s'. "+
				"The requested amount would exceed the capacity.", "VCPU", exampleHost),
	}
}

// with is a list of failures with more at its end.
func with(failures []route.Failure, more ...route.Failure) []route.Failure {
	return append(append([]route.Failure{}, failures...), more...)
}

var providerCreateFailures = func() []route.Failure {
	refused := func(when, reason string) route.Failure {
		return fails(fault.Invalid, when, "Unable to create resource provider \"%s\", %s: Object action create failed because: %s",
			hostRow.Name, exampleHost, reason)
	}
	return []route.Failure{
		refused("The name is empty.", "name is required"),
		from(14, refused("The parent does not exist.", "parent provider UUID does not exist.")),
		from(14, refused("The parent is the provider itself.", "parent provider UUID cannot be same as UUID. "+
			"Please set parent provider UUID to None if there is no parent.")),
		coded(fault.Conflict, fault.CodeDuplicateName, "Another provider has the name or the uuid.",
			"Conflicting resource provider name: %s already exists.", hostRow.Name),
	}
}()

var providerUpdateFailures = func() []route.Failure {
	refused := func(when, action, reason string) route.Failure {
		return fails(fault.Invalid, when, "Unable to save resource provider %s: Object action %s failed because: %s",
			exampleHost, action, reason)
	}
	return []route.Failure{
		noProviderFound,
		from(14, refused("The new parent does not exist.", "create", "parent provider UUID does not exist.")),
		from(14, refused("The new parent is the provider itself or stands below it.", "update",
			"creating loop in the provider tree is not allowed.")),
		from(14, before(37, refused("A provider that has a parent is to get another.", "update",
			"re-parenting a provider is not currently allowed."))),
		from(14, before(37, refused("A provider that has a parent is to become a root.", "update",
			"un-parenting a provider is not currently allowed."))),
		coded(fault.Conflict, fault.CodeDuplicateName, "Another provider has the name.",
			"Conflicting resource provider %s already exists.", hostRow.Name),
	}
}()

var providerDeleteFailures = []route.Failure{
	fails(fault.NotFound, noProviderFound.When, "No resource provider with uuid %s found for delete", unknownUUID),
	coded(fault.Conflict, fault.CodeCannotDeleteParent, "Other providers stand below it.",
		"Unable to delete parent resource provider %s: It has child resource providers.", exampleHost),
	coded(fault.Conflict, fault.CodeProviderInUse, "Consumers have allocations on it.",
		"Unable to delete resource provider %s: Resource provider has allocations.", exampleHost),
}

var providerListFailures = []route.Failure{
	badQuery,
	from(3, fails(fault.Invalid, "`member_of` is malformed.",
		"Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: gold")),
	from(4, fails(fault.Invalid, "`resources` is malformed, or names a class that does not exist.",
		"Invalid resource class in resources parameter: No such resource class %s.", unknownClass)),
	from(18, fails(fault.Invalid, "`required` is malformed, or names a trait that does not exist.",
		`Invalid trait(s) in "required" parameter: No such trait(s): %s.`, unknownTrait)),
}

// noProviderSpaced is how the readers of inventories say it.
var noProviderSpaced = fails(fault.NotFound, noProviderFound.When,
	"No resource provider with uuid %s found : %s", unknownUUID, noProvider(unknownUUID).Detail)

func inventoryInUse(prefix string) route.Failure {
	return coded(fault.Conflict, fault.CodeInventoryInUse, "Consumers have allocations of a class that is to go.",
		"%sInventory for 'VCPU' on resource provider '%s' in use.", prefix, exampleHost)
}

var staleInventory = staleProvider("resource provider generation conflict")

var (
	inventoryListFailures   = []route.Failure{noProviderSpaced}
	inventoryCreateFailures = with(inventoryFailures("create"),
		noProviderFound,
		fails(fault.Invalid, "The resource class does not exist.",
			"Unable to create inventory for resource provider %s: No such resource class %s.", exampleHost, unknownClass),
		coded(fault.Conflict, fault.CodeConcurrentUpdate, "The provider has inventory of the class already.",
			"Update conflict: resource provider %s has inventory of class VCPU already.", exampleHost))
	inventoryReplaceFailures = with(inventoryFailures("update"),
		noProviderFound,
		fails(fault.Invalid, "A resource class does not exist.",
			"Unknown resource class in inventory for resource provider %s: No such resource class %s.", exampleHost, unknownClass),
		staleInventory, inventoryInUse("update conflict: "))
	inventoryClearFailures = []route.Failure{noProviderFound, inventoryInUse("")}
	inventoryShowFailures  = []route.Failure{noProviderSpaced,
		fails(fault.NotFound, "The provider has no inventory of the class.", "No inventory of class VGPU for %s", exampleHost)}
	inventoryUpdateFailures = with(inventoryFailures("update"),
		noProviderFound,
		fails(fault.NotFound, "The resource class does not exist.", "No such resource class %s.", unknownClass),
		fails(fault.Invalid, "The provider has no inventory of the class.",
			"No inventory record with resource class for resource provider %s: No inventory of class VGPU found.", exampleHost),
		staleInventory)
	inventoryDeleteFailures = []route.Failure{
		noProviderFound,
		fails(fault.NotFound, "The provider has no inventory of the class.",
			"No inventory of class VGPU found for delete: No inventory of class VGPU found."),
		coded(fault.Conflict, fault.CodeConcurrentUpdate, "Consumers have allocations of the class.",
			"Unable to delete inventory of class VCPU: Inventory for 'VCPU' on resource provider '%s' in use.", exampleHost),
	}
)

// staleSet is how the operations that replace traits and aggregates say that the
// generation is old.
var staleSet = staleProvider("Resource provider's generation already changed. Please update the generation and try again.")

var noClass = fails(fault.NotFound, "There is no such class.", "No such resource class %s.", unknownClass)

var (
	classCreateFailures = []route.Failure{fails(fault.Conflict, "The class exists.",
		"Conflicting resource class already exists: %s", exampleClass)}
	classRenameFailures = []route.Failure{noClass,
		fails(fault.Invalid, "It is a standard class.", "Cannot update standard resource class VCPU"),
		fails(fault.Conflict, "Another class has the new name.", "Resource class already exists: %s", exampleClass)}
	classEnsureFailures = []route.Failure{fails(fault.Invalid, "The name is not one for a custom class.",
		"JSON does not validate: 'GOLD' does not match '%s'", customPattern)}
	classDeleteFailures = []route.Failure{noClass,
		fails(fault.Invalid, "It is a standard class.",
			"Error in delete resource class: Cannot delete standard resource class VCPU."),
		fails(fault.Conflict, "A provider has inventory of the class.",
			"Error in delete resource class: Cannot delete resource class %s. Class is in use in inventory.", exampleClass)}
)

var noTrait = fails(fault.NotFound, "There is no such trait.", "No such trait(s): %s.", unknownTrait)

var (
	traitListFailures = []route.Failure{badQuery,
		fails(fault.Invalid, "`name` has no operator.", "Badly formatted name parameter. Expected name query string parameter "+
			"in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: \"%s\"", exampleTrait),
		fails(fault.Invalid, "`associated` is neither true nor false.",
			`The query parameter "associated" only accepts "true" or "false"`)}
	traitEnsureFailures = []route.Failure{fails(fault.Invalid, "The name is not one for a custom trait.", "%s", badTraitName)}
	traitDeleteFailures = []route.Failure{noTrait,
		fails(fault.Invalid, "It is a standard trait.", "Cannot delete standard trait HW_CPU_X86_AVX2."),
		fails(fault.Conflict, "A provider has the trait.", "The trait %s is in use by a resource provider.", exampleTrait)}
	providerTraitReplaceFailures = []route.Failure{noProviderFound, staleSet,
		fails(fault.Invalid, "A trait does not exist.", "No such trait %s", unknownTrait)}
)

var (
	providerAllocationListFailures = []route.Failure{fails(fault.NotFound, noProviderFound.When,
		"Resource provider '%s' not found: %s", unknownUUID, noProvider(unknownUUID).Detail)}
	allocationReplaceFailures = with(
		claimFailures("Unable to allocate inventory for consumer "+exampleInstance+": "),
		fails(fault.Invalid, "The consumer in the path is no uuid.", "Malformed consumer_uuid: 17"))
	allocationDeleteFailures = []route.Failure{fails(fault.NotFound, "The consumer has no allocations.",
		"No allocations for consumer '%s'", unknownUUID)}
	reshapeFailures = with(claimFailures("malformed reshaper data: "),
		coded(fault.Invalid, fault.CodeProviderNotFound, "A provider in `inventories` does not exist.",
			"Resource provider %s in inventories not found: %s", unknownUUID, noProvider(unknownUUID).Detail),
		staleProvider("resource provider generation conflict for provider %s: actual: 5, given: 4", exampleHost),
		inventoryInUse("update conflict: "))
)

var candidateListFailures = []route.Failure{
	badQuery,
	fails(fault.Invalid, "`resources` is malformed, or names a class that does not exist.",
		"Invalid resource class in resources parameter: No such resource class %s.", unknownClass),
	from(17, fails(fault.Invalid, "`required` or `root_required` is malformed, or names a trait that does not exist.",
		"No such trait(s): %s.", unknownTrait)),
	from(21, fails(fault.Invalid, "`member_of` is malformed.",
		"Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: gold")),
	from(22, fails(fault.Invalid, "A group forbids all traits of which it requires one.",
		"Conflicting required and forbidden traits found in the following traits keys: required: (%s)", exampleTrait)),
	from(25, before(36, fails(fault.Invalid, "A group asks for no resources, or there is no group.",
		"All request groups must specify resources."))),
	from(25, fails(fault.Invalid, "There are several groups with suffixes, and `group_policy` is missing.",
		`The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.`)),
	from(31, fails(fault.Invalid, "`in_tree` is no uuid.",
		"Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: gold")),
	from(35, coded(fault.Invalid, fault.CodeDuplicateKey, "`root_required` is repeated.",
		"Query parameter 'root_required' may be specified only once.")),
	from(35, coded(fault.Invalid, fault.CodeBadValue, "`root_required` contradicts itself.",
		"Conflicting required and forbidden traits found in root_required: %s", exampleTrait)),
	from(36, coded(fault.Invalid, fault.CodeMissingValue, "No group asks for resources.",
		"There must be at least one resources or resources[$S] parameter.")),
	from(36, coded(fault.Invalid, fault.CodeBadValue, "A group that asks for no resources is not in `same_subtree`.",
		"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_NUMA'].")),
	from(36, coded(fault.Invalid, fault.CodeBadValue, "`same_subtree` names a suffix that no group has.",
		"Real suffixes should be specified in `same_subtree`: ['_GONE'] not found in ['', '_NUMA'].")),
}
