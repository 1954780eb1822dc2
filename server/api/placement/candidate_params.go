package placement

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// candidateParams are the query parameters. Those of groups (splitGroupParam) take a suffix from 1.25 on.
var candidateParams = route.Params{
	{Name: resourcesParam, Since: v(10), Check: querystring.Param{Required: true},
		DocAt: candidateResourcesDoc, Example: "VCPU:2,MEMORY_MB:2048"},
	{Name: requiredParam, Since: v(17), Repeats: v(39),
		DocAt: candidateRequiredDoc, Example: "HW_CPU_X86_VMX,CUSTOM_GOLD"},
	{Name: memberOfParam, Since: v(21), Repeats: v(24),
		DocAt: candidateMemberOfDoc, Example: "in:" + exampleGroup},
	{Name: inTreeParam, Since: v(31),
		Doc:    "The providers are in the same tree as this one. Sharing providers of other trees are not used.",
		Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}, Example: exampleHost},
	{Name: limitParam, Since: v(16), Check: querystring.Param{Pattern: positivePattern, First: true},
		Doc:    "Maximum number of candidates. The first of repeated values applies.",
		Schema: positiveSchema, Example: 100},
	{Name: groupPolicyParam, Since: v(25), Check: querystring.Param{Enum: []string{"none", "isolate"}},
		DocAt: candidatePolicyDoc, Example: "isolate"},
	{Name: rootRequiredParam, Since: v(35),
		Doc: "Traits of the root of the tree; `!TRAIT` is a forbidden trait. " +
			"`in:` is not supported, and the parameter must not be repeated.",
		Example: "CUSTOM_GOLD"},
	{Name: sameSubtreeParam, Since: v(36), Repeats: v(36),
		DocAt: candidateSubtreeDoc, Example: "_CPU,_NET"},
	{Name: rootMemberOfParam, Since: berth11, Repeats: berth11,
		Doc: "The root of the tree is a member of this aggregate, or of any in `in:UUID,UUID`. `!UUID` and `!in:UUID,UUID` exclude. " +
			"Other providers of the tree, and sharing providers, need not be members. All of repeated values apply.",
		Example: "in:" + exampleGroup},
	{Name: notInTreeParam, Since: berth13, Repeats: berth13,
		Doc: "Up to 1,000 providers, separated by commas: the tree of a candidate has none of them. Sharing providers of such a tree still " +
			"serve other trees. Providers that do not exist exclude nothing. All of repeated values apply.",
		Example: exampleHost},
	{Name: isolateParam, Since: berth11, Repeats: berth11,
		Doc: "Suffixes of at least two groups, separated by commas: each of these groups is served by a different provider. " +
			"Each of repeated values applies on its own. Excludes `group_policy=isolate`.",
		Example: "_NET1,_NET2"},
	{Name: canSplitParam, Since: berth11, Repeats: berth11,
		Doc: "Resource classes of the group without a suffix, separated by commas. In a tree without a candidate, several providers " +
			"may supply the amount of each of these classes together. A tree with candidates has the same ones as without the parameter. " +
			"All of repeated values apply.",
		Example: "VCPU,MEMORY_MB"},
	{Name: orderParam, Since: berth11,
		Doc: "Order of the trees. `id`: the order in which their roots were created. `pack:CLASS`: least free capacity of the class first. " +
			"`spread:CLASS`: most first. `random`: a different order each time. All candidates of a tree come together. " +
			"Default: the settings of the server. The parameter must not be repeated.",
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^(id|random|(pack|spread):.+)$"}, Example: "pack:VCPU"},
	{Name: limitPerTreeParam, Since: berth11, Check: querystring.Param{Pattern: positivePattern, Every: true},
		Doc:    "Maximum number of candidates of each tree. The first of repeated values applies.",
		Schema: positiveSchema, Example: 1},
	{Name: explainParam, Since: berth12, Check: querystring.Param{Enum: []string{"empty", "always"}, First: true},
		Doc:     "Adds an explanation to the response: `always`, or if there is no candidate (`empty`). The first of repeated values applies.",
		Example: "empty"},
}

const positivePattern = "^[1-9][0-9]*$"

var positiveSchema = &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0)}

func candidateResourcesDoc(at microversion.Version) string {
	doc := "Requested amounts of resource classes. One provider supplies the whole amount of a class; "
	if at.CombinesTrees() {
		doc += "different classes may come from different providers of a tree, and from its sharing providers."
	} else {
		doc += "different classes may come from a provider and from its sharing providers."
	}
	if at.GroupsCandidates() {
		doc += " Required unless one of the `groups` is given."
	}
	return doc
}

func candidateRequiredDoc(at microversion.Version) string {
	doc := "Required traits: each of the used providers or several of them together have them."
	if at.ForbidsTraits() {
		doc += " `!TRAIT` is a trait that none of the used providers may have."
	}
	if at.HasAnyOfTraits() {
		return doc + " `in:TRAIT,TRAIT` requires any of the traits. All of repeated values apply."
	}
	return doc + " The last of repeated values applies."
}

func candidateMemberOfDoc(at microversion.Version) string {
	doc := "The used providers, or the roots of their trees, are members of this aggregate, or of any in `in:UUID,UUID`. " +
		"Sharing providers must be members themselves."
	if at.ForbidsMemberOf() {
		doc += " `!UUID` and `!in:UUID,UUID` exclude."
	}
	if at.RepeatsMemberOf() {
		doc += " All of repeated values apply."
	}
	return doc
}

func candidatePolicyDoc(at microversion.Version) string {
	doc := "`isolate`: each group with a suffix is served by a different provider; `none`: groups can share a provider. "
	if at >= berth11 {
		return doc + "Default: `none`. The first of repeated values applies."
	}
	return doc + "Required with more than one such group. The first of repeated values applies."
}

func candidateSubtreeDoc(at microversion.Version) string {
	doc := "Suffixes of groups, separated by commas: one of the providers that serve them is an ancestor of all others, " +
		"or is the only one. "
	if at >= berth11 {
		doc += "A group after `!` is served by a provider that is neither this one nor one of its descendants. "
	}
	return doc + "Each of repeated values applies on its own."
}

// suffixPattern returns the pattern of a suffix, or "" at microversions without suffixes.
func suffixPattern(at microversion.Version) string {
	switch {
	case at.NamesGroups():
		return "[a-zA-Z0-9_-]{1,64}"
	case at.GroupsCandidates():
		return "[1-9][0-9]*"
	}
	return ""
}

func candidateListSchema(at microversion.Version) *querystring.Schema {
	checks, suffix := candidateParams.Checks(at), suffixPattern(at)
	for i, check := range checks {
		if _, _, ofGroup := splitGroupParam(check.Name); ofGroup && suffix != "" {
			checks[i] = querystring.Param{NamePattern: "^" + check.Name + "(" + suffix + ")?$"}
		}
	}
	return querystring.MustSchema(checks...)
}

func candidateListDocs(at microversion.Version) []*huma.Param {
	docs, suffix := candidateParams.Docs(at), suffixPattern(at)
	if suffix == "" {
		return docs
	}
	var families []string
	for _, doc := range docs {
		doc.Required = false
		if _, _, ofGroup := splitGroupParam(doc.Name); ofGroup {
			families = append(families, doc.Name)
		}
	}
	return append(docs, candidateGroupsDoc(at, "^("+strings.Join(families, "|")+")"+suffix+"$"))
}

// candidateGroupsDoc documents the parameters whose names end in a suffix. OpenAPI cannot name a family of parameters.
// It can define an object whose members are separate query parameters, which is equivalent.
func candidateGroupsDoc(at microversion.Version, pattern string) *huma.Param {
	suffix, example := "a number", map[string]any{"resources1": "SRIOV_NET_VF:1", "required1": "CUSTOM_GOLD"}
	if at.NamesGroups() {
		suffix = "up to 64 letters, digits, `_` and `-`"
		example = map[string]any{"resources_NET": "SRIOV_NET_VF:1", "required_NET": "CUSTOM_GOLD"}
	}
	doc := "Further request groups. One provider serves a group completely. " +
		"Each member of this object is a separate query parameter; no parameter is called `groups`. " +
		"Its name is that of a parameter without suffix, followed by the group's suffix, which is " + suffix + ". " +
		"Client generators that send `groups` itself need a setting (openapi-fetch, @hey-api/openapi-ts: `querySerializer: {object: {style: \"form\", explode: true}}`) " +
		"or the members as parameters (orval: `{resources: \"VCPU:1\", ...groups}`). " +
		"Its value has the format of the parameter without suffix and applies to the provider itself. " +
		"It can be repeated if the parameter without suffix can, which an object cannot express."
	switch {
	case at >= berth11:
		doc += " A group without resources is a condition: a provider of the tree, or a sharing provider, satisfies it. " +
			"Named in `same_subtree` or `isolate`, or with `group_policy=isolate`, it has a candidate for each such provider."
	case at.AllowsResourcelessGroups():
		doc += " A group without resources must be named in `same_subtree`."
	}
	return &huma.Param{
		Name: "groups", In: "query", Style: "form", Explode: new(true), Description: doc, Example: example,
		Schema: jsonbody.MapSchema(&huma.Schema{Type: huma.TypeString}, pattern, 0),
	}
}

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
