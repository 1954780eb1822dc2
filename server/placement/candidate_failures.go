package placement

import (
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/route"
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

var candidateListFailures = []route.Failure{
	invalidQuery,
	invalidResources,
	candidateTraitUnknown.From(v(17)),
	invalidMemberOf.From(v(21)),
	conflictingTraits.From(v(22)),
	groupWithoutResources.From(v(25)).Until(v(36)),
	groupPolicyMissing.From(v(25)),
	invalidInTree.From(v(31)),
	rootRequiredRepeated.From(v(35)),
	rootRequiredConflict.From(v(35)),
	resourcesMissing.From(v(36)),
	groupOutsideSubtree.From(v(36)),
	unknownSuffix.From(v(36)),
}
