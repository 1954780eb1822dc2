package placement

import (
	"slices"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
)

var (
	candidateTraitUnknown = route.Fails(fault.Invalid, "invalid-required",
		"`required` or `root_required` is malformed, or names a trait that does not exist.", textNoTraits, unknownTrait)
	conflictingTraits = route.Fails(fault.Invalid, "conflicting-traits",
		"A group forbids all traits of which it requires one.",
		"Conflicting required and forbidden traits found in the following traits keys: %s", "required: ("+exampleTrait+")")
	groupWithoutResources = route.Fails(fault.Invalid, "group-without-resources",
		"A group requests no resources, or the query has no group.", "All request groups must specify resources.")
	groupPolicyMissing = route.Fails(fault.Invalid, "group-policy-missing",
		"There are several groups with suffixes, and `group_policy` is missing.",
		`The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.`)
	invalidInTree = route.Fails(fault.Invalid, "invalid-in-tree", "`in_tree` is not a UUID.",
		"Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: %s", "gold")
	rootRequiredRepeated = route.Fails(fault.Invalid, "root-required-repeated", "`root_required` is repeated.",
		"Query parameter 'root_required' may be specified only once.").WithCode(fault.CodeDuplicateKey)
	rootRequiredConflict = route.Fails(fault.Invalid, "root-required-conflict",
		"`root_required` requires and forbids the same trait.",
		"Conflicting required and forbidden traits found in root_required: %s", exampleTrait).WithCode(fault.CodeBadValue)
	resourcesMissing = route.Fails(fault.Invalid, "resources-missing", "No group requests resources.",
		"There must be at least one resources or resources[$S] parameter.").WithCode(fault.CodeMissingValue)
	groupOutsideSubtree = route.Fails(fault.Invalid, "group-outside-subtree",
		"A group without resources is not named in `same_subtree`.",
		"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - %s.",
		"['_NUMA']").
		WithCode(fault.CodeBadValue)
	unknownSuffix = route.Fails(fault.Invalid, "unknown-suffix", "`same_subtree` names a suffix that no group has.",
		"Real suffixes should be specified in `same_subtree`: %s not found in %s.", "['_GONE']", "['', '_NUMA']").
		WithCode(fault.CodeBadValue)
)

// These are the failures of queries in the search language of Berth's extensions.
var (
	rootMemberOfSeveral = extendedFailure("root-member-of-several", "`root_member_of` has several aggregates without `in:`.",
		"Several values of 'root_member_of' must be prefixed with 'in:' or '!in:'. Got: %s", exampleGroup+","+unknownUUID)
	rootMemberOfInvalid = extendedFailure("invalid-root-member-of", "`root_member_of` has an element that is not a UUID.",
		"Expected 'root_member_of' parameter to contain valid UUID(s). Got: %s", "gold")
	notInTreeInvalid = extendedFailure("invalid-not-in-tree", "`not_in_tree` has an element that is not a UUID.",
		"Expected 'not_in_tree' parameter to contain valid UUID(s). Got: %s", "gold").From(berth13)
	notInTreeTooMany = extendedFailure("not-in-tree-too-long", "`not_in_tree` has more than 1000 elements.",
		"'not_in_tree' may have at most 1000 elements. Got: %d", 1001).From(berth13)
	subtreeBothWays = extendedFailure("subtree-both-ways", "`same_subtree` names a group with and without `!`.",
		"`same_subtree` names group %s both with and without '!'. Got: %s", "'_B'", "_A,_B,!_B")
	subtreeNegated = extendedFailure("subtree-negated", "`same_subtree` names no group without `!`.",
		"`same_subtree` must name at least one group without '!'. Got: %s", "!_A,!_B")
	isolateEmpty = extendedFailure("isolate-empty", "`isolate` has an empty suffix.",
		"Empty string (unsuffixed group) can not be specified in `isolate`")
	isolateSingle = extendedFailure("isolate-single", "`isolate` names fewer than two groups.",
		"`isolate` must name at least two groups. Got: %s", "_A,_A")
	isolateConflict = extendedFailure("isolate-conflict", "`isolate` is combined with `group_policy=isolate`.",
		"`isolate` cannot be combined with group_policy=isolate, which isolates all groups with a suffix already.").
		WithCode(fault.CodeExtensionConflict)
	isolateUnknown = extendedFailure("isolate-unknown", "`isolate` names a suffix that no group has.",
		"Real suffixes should be specified in `isolate`: %s not found in %s.", "['_GONE']", "['', '_NUMA']").
		WithCode(fault.CodeExtensionUnknownGroup)
	canSplitEmpty = extendedFailure("can-split-empty", "`can_split` has an empty element.",
		"`can_split` has an empty class name. Got: %s", "VCPU,")
	canSplitUnknown = extendedFailure("can-split-unknown", "`can_split` names a class that the group without a suffix does not request.",
		"`can_split` names classes that the group without a suffix does not ask for: %s.", "DISK_GB")
	orderRepeated = extendedFailure("order-repeated", "`order` is repeated.",
		"Query parameter 'order' may be specified only once.").WithCode(fault.CodeExtensionDuplicateKey)
	orderInvalid = extendedFailure("invalid-order", "`order` has another format.",
		"Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: %s", "big")
	orderUnknown = extendedFailure("order-unknown", "`order` names a class that no group requests.",
		"`order` names a class that no group asks for: %s.", "VGPU")
	unsuffixedWithoutResources = extendedFailure("unsuffixed-without-resources",
		"The group without a suffix has conditions and no resources.",
		"The group without a suffix asks for no resources. Give it a suffix, or use root_required and root_member_of for what the root must have.")
)

// extendedFailure returns a failure of the search language with its usual code.
func extendedFailure(name, when, format string, values ...any) route.Failure {
	return route.Fails(fault.Invalid, name, when, format, values...).
		WithCode(fault.CodeExtensionBadValue).From(berth11)
}

var candidateListFailures = []route.Failure{
	invalidQuery,
	invalidResources,
	candidateTraitUnknown.From(v(17)),
	invalidMemberOf.From(v(21)),
	conflictingTraits.From(v(22)),
	groupWithoutResources.From(v(25)).Until(v(36)),
	groupPolicyMissing.From(v(25)).Until(berth11),
	invalidInTree.From(v(31)),
	rootRequiredRepeated.From(v(35)),
	rootRequiredConflict.From(v(35)),
	resourcesMissing.From(v(36)),
	groupOutsideSubtree.From(v(36)).Until(berth11),
	unknownSuffix.From(v(36)),
	rootMemberOfSeveral, rootMemberOfInvalid, notInTreeInvalid, notInTreeTooMany, subtreeBothWays, subtreeNegated, isolateEmpty, isolateSingle,
	isolateConflict, isolateUnknown, canSplitEmpty, canSplitUnknown, orderRepeated, orderInvalid, orderUnknown,
	unsuffixedWithoutResources,
}

// candidateSearchFailures are those of the query that a body states.
var candidateSearchFailures = slices.DeleteFunc(slices.Clone(candidateListFailures), func(failure route.Failure) bool {
	return failure.Name == invalidInTree.Name || failure.Before != 0
})
