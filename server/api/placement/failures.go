package placement

import (
	"slices"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
)

// Each failure below is declared once. The server sends its text with the values of the request; the documents show it
// with the values of the examples. Lists of failures are named after their operations. The texts are part of the API;
// clients match some of them.

// These texts occur in more than one failure.
const (
	textNoProvider = "No resource provider with uuid %[1]s found"
	textNoClass    = "No such resource class %s."
	textNoTraits   = "No such trait(s): %s."
)

const whenNoProvider = "The provider does not exist."

// The operations on a provider use different texts for a provider that does not exist.
var (
	providerNotFound = route.Fails(fault.NotFound, "provider-not-found",
		whenNoProvider, textNoProvider, unknownUUID)
	providerNotFoundRepeated = route.Fails(fault.NotFound, "provider-not-found",
		whenNoProvider, textNoProvider+": "+textNoProvider, unknownUUID)
	providerNotFoundLeadingSpace = route.Fails(fault.NotFound, "provider-not-found",
		whenNoProvider, textNoProvider+" : "+textNoProvider, unknownUUID)
)

var invalidQuery = route.InvalidQuery

// staleProvider returns the failure of a write with an outdated provider generation.
func staleProvider(format string, values ...any) route.Failure {
	return route.Fails(fault.Conflict, "stale-provider-generation",
		"The request contains an outdated provider generation. Read the provider again and retry.", format, values...).
		WithCode(fault.CodeConcurrentUpdate)
}

const (
	textCreateProvider = "Unable to create resource provider \"%s\", %s: Object action create failed because: "
	// Placement calls the action "create" if the parent in an update does not exist.
	textSaveProvider = "Unable to save resource provider %s: Object action "
)

var (
	providerNameMissing = route.Fails(fault.Invalid, "name-missing", "The name is empty.",
		textCreateProvider+"name is required", hostRow.Name, exampleHost)
	providerParentUnknown = route.Fails(fault.Invalid, "parent-not-found", "The parent does not exist.",
		textCreateProvider+"parent provider UUID does not exist.", hostRow.Name, exampleHost).From(v(14))
	providerParentIsSelf = route.Fails(fault.Invalid, "parent-is-itself", "The parent is the provider itself.",
		textCreateProvider+"parent provider UUID cannot be same as UUID. "+
			"Please set parent provider UUID to None if there is no parent.", hostRow.Name, exampleHost).From(v(14))
	providerNameTaken = route.Fails(fault.Conflict, "name-taken", "Another provider has the name.",
		"Conflicting resource provider name: %s already exists.", hostRow.Name).WithCode(fault.CodeDuplicateName)
	providerUUIDTaken = route.Fails(fault.Conflict, "uuid-taken", "Another provider has the UUID.",
		"Conflicting resource provider uuid: %s already exists.", exampleHost).WithCode(fault.CodeDuplicateName)

	providerCreateFailures = []route.Failure{
		providerNameMissing, providerParentUnknown, providerParentIsSelf, providerNameTaken, providerUUIDTaken,
	}
)

var (
	newParentUnknown = route.Fails(fault.Invalid, "parent-not-found", "The new parent does not exist.",
		textSaveProvider+"create failed because: parent provider UUID does not exist.", exampleHost).From(v(14))
	newParentInSubtree = route.Fails(fault.Invalid, "parent-cycle",
		"The new parent is the provider itself or one of its descendants.",
		textSaveProvider+"update failed because: creating loop in the provider tree is not allowed.", exampleHost).
		From(v(14))
	reparentNotAllowed = route.Fails(fault.Invalid, "reparent-not-allowed",
		"The provider already has a parent, and the microversion does not support re-parenting.",
		textSaveProvider+"update failed because: re-parenting a provider is not currently allowed.", exampleHost).
		From(v(14)).Until(v(37))
	unparentNotAllowed = route.Fails(fault.Invalid, "unparent-not-allowed",
		"The provider has a parent, and the microversion does not support un-parenting.",
		textSaveProvider+"update failed because: un-parenting a provider is not currently allowed.", exampleHost).
		From(v(14)).Until(v(37))
	newProviderNameTaken = route.Fails(fault.Conflict, "name-taken", "Another provider has the name.",
		"Conflicting resource provider %s already exists.", hostRow.Name).WithCode(fault.CodeDuplicateName)

	providerUpdateFailures = []route.Failure{
		providerNotFound, staleProviderNow, newParentUnknown, newParentInSubtree, reparentNotAllowed, unparentNotAllowed,
		newProviderNameTaken,
	}
)

var (
	providerNotFoundForDelete = route.Fails(fault.NotFound, "provider-not-found", whenNoProvider,
		textNoProvider+" for delete", unknownUUID)
	providerHasChildren = route.Fails(fault.Conflict, "provider-has-children", "The provider has children.",
		"Unable to delete parent resource provider %s: It has child resource providers.", exampleHost).
		WithCode(fault.CodeCannotDeleteParent)
	providerHasAllocations = route.Fails(fault.Conflict, "provider-in-use", "The provider has allocations.",
		"Unable to delete resource provider %s: Resource provider has allocations.", exampleHost).
		WithCode(fault.CodeProviderInUse)

	providerDeleteFailures = []route.Failure{
		providerNotFoundForDelete, staleProviderNow, providerHasChildren, providerHasAllocations,
	}
)

// These are the failures of filters in lists.
var (
	invalidMemberOf = route.Fails(fault.Invalid, "invalid-member-of", "`member_of` is malformed.",
		"Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: %s", "gold")
	invalidResources = route.Fails(fault.Invalid, "invalid-resources",
		"`resources` is malformed, or names a class that does not exist.",
		"Invalid resource class in resources parameter: "+textNoClass, unknownClass)
	invalidRequired = route.Fails(fault.Invalid, "invalid-required",
		"`required` is malformed, or names a trait that does not exist.",
		`Invalid trait(s) in "required" parameter: `+textNoTraits, unknownTrait)

	providerListFailures = []route.Failure{
		invalidQuery, invalidMemberOf.From(v(3)), invalidResources.From(v(4)), invalidRequired.From(v(18)),
	}
)

// with returns a list of failures with more appended.
func with(failures []route.Failure, more ...route.Failure) []route.Failure {
	return slices.Concat(failures, more)
}

// staleSet is the failure of operations that replace traits or aggregates.
var staleSet = staleProvider(
	"Resource provider's generation already changed. Please update the generation and try again.")

var (
	classNotFound = route.Fails(fault.NotFound, "class-not-found",
		"The resource class does not exist.", textNoClass, unknownClass)
	classExists = route.Fails(fault.Conflict, "class-exists", "The resource class already exists.",
		"Conflicting resource class already exists: %s", exampleClass)
	classNotRenamed = route.Fails(fault.Invalid, "standard-class", "The resource class is a standard class.",
		"Cannot update standard resource class %s", "VCPU")
	classNameTaken = route.Fails(fault.Conflict, "class-name-taken", "Another class has the new name.",
		"Resource class already exists: %s", exampleClass)
	classNotDeleted = route.Fails(fault.Invalid, "standard-class", "The resource class is a standard class.",
		"Error in delete resource class: Cannot delete standard resource class %s.", "VCPU")
	classInUse = route.Fails(fault.Conflict, "class-in-use", "A provider has inventory of the class.",
		"Error in delete resource class: Cannot delete resource class %s. Class is in use in inventory.", exampleClass)
	invalidClassName = route.Failure{
		Name: "invalid-class-name", When: "The name is not valid for a custom resource class.",
		Fault: route.InvalidBody.Of("'GOLD' does not match '" + customPattern + "'"),
	}
)

var (
	traitNotFound = route.Fails(fault.NotFound, "trait-not-found",
		"The trait does not exist.", textNoTraits, unknownTrait)
	invalidNameFilter = route.Fails(fault.Invalid, "invalid-name-filter", "`name` has no operator.",
		"Badly formatted name parameter. Expected name query string parameter "+
			"in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: \"%s\"", exampleTrait)
	invalidAssociated = route.Fails(fault.Invalid, "invalid-associated", "`associated` is neither true nor false.",
		`The query parameter "associated" only accepts "true" or "false"`)
	invalidTraitName = route.Fails(fault.Invalid, "invalid-trait-name", "The name is not valid for a custom trait.",
		"The trait is invalid. A valid trait must be no longer than 255 characters, "+
			`start with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"`)
	traitNotDeleted = route.Fails(fault.Invalid, "standard-trait", "The trait is a standard trait.",
		"Cannot delete standard trait %s.", "HW_CPU_X86_AVX2")
	traitInUse = route.Fails(fault.Conflict, "trait-in-use", "A provider has the trait.",
		"The trait %s is in use by a resource provider.", exampleTrait)
	unknownTraits = route.Fails(fault.Invalid, "unknown-trait",
		"A trait does not exist.", "No such trait %s", unknownTrait)
)
