package placement

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// candidateParams lists the query parameters, with the microversion that introduces each one and the microversion that
// allows repetition. Parameters of groups take a suffix from 1.25 on.
var candidateParams = []struct {
	since, repeats microversion.Version
	param          querystring.Param
	group          bool
	doc            func(microversion.Version) string
	schema         huma.Schema
	example        any
}{
	{since: v(10), repeats: never, param: querystring.Param{Name: resourcesParam, Required: true}, group: true,
		doc: candidateResourcesDoc, schema: textSchema, example: "VCPU:2,MEMORY_MB:2048"},
	{since: v(17), repeats: v(39), param: querystring.Param{Name: requiredParam}, group: true,
		doc: candidateRequiredDoc, schema: textSchema, example: "HW_CPU_X86_VMX,CUSTOM_GOLD"},
	{since: v(21), repeats: v(24), param: querystring.Param{Name: memberOfParam}, group: true,
		doc: candidateMemberOfDoc, schema: textSchema, example: "in:" + exampleGroup},
	{since: v(31), repeats: never, param: querystring.Param{Name: inTreeParam}, group: true,
		doc:    text("The providers are in the same tree as this one. Sharing providers of other trees are not used."),
		schema: huma.Schema{Type: huma.TypeString, Format: "uuid"}, example: exampleHost},
	{since: v(16), repeats: never, param: querystring.Param{Name: limitParam, Pattern: positivePattern, First: true},
		doc:    text("Maximum number of candidates. The first of repeated values applies."),
		schema: positiveSchema, example: 100},
	{since: v(25), repeats: never, param: querystring.Param{Name: groupPolicyParam, Enum: []string{"none", "isolate"}},
		doc: candidatePolicyDoc, schema: huma.Schema{Type: huma.TypeString, Enum: []any{"none", "isolate"}}, example: "isolate"},
	{since: v(35), repeats: never, param: querystring.Param{Name: rootRequiredParam},
		doc: text("Traits of the root of the tree; `!TRAIT` is a forbidden trait. " +
			"`in:` is not supported, and the parameter must not be repeated."),
		schema: textSchema, example: "CUSTOM_GOLD"},
	{since: v(36), repeats: v(36), param: querystring.Param{Name: sameSubtreeParam},
		doc: candidateSubtreeDoc, schema: textSchema, example: "_CPU,_NET"},
	{since: berth11, repeats: berth11, param: querystring.Param{Name: rootMemberOfParam},
		doc: text("The root of the tree is a member of this aggregate, or of any in `in:UUID,UUID`. `!UUID` and `!in:UUID,UUID` exclude. " +
			"Other providers of the tree, and sharing providers, need not be members. All of repeated values apply."),
		schema: textSchema, example: "in:" + exampleGroup},
	{since: berth13, repeats: berth13, param: querystring.Param{Name: notInTreeParam},
		doc: text("Up to 1,000 providers, separated by commas: the tree of a candidate has none of them. Sharing providers of such a tree still " +
			"serve other trees. Providers that do not exist exclude nothing. All of repeated values apply."),
		schema: textSchema, example: exampleHost},
	{since: berth11, repeats: berth11, param: querystring.Param{Name: isolateParam},
		doc: text("Suffixes of at least two groups, separated by commas: each of these groups is served by a different provider. " +
			"Each of repeated values applies on its own. Excludes `group_policy=isolate`."),
		schema: textSchema, example: "_NET1,_NET2"},
	{since: berth11, repeats: berth11, param: querystring.Param{Name: canSplitParam},
		doc: text("Resource classes of the group without a suffix, separated by commas. In a tree without a candidate, several providers " +
			"may supply the amount of each of these classes together. A tree with candidates has the same ones as without the parameter. " +
			"All of repeated values apply."),
		schema: textSchema, example: "VCPU,MEMORY_MB"},
	{since: berth11, repeats: never, param: querystring.Param{Name: orderParam},
		doc: text("Order of the trees. `id`: the order in which their roots were created. `pack:CLASS`: least free capacity of the class first. " +
			"`spread:CLASS`: most first. `random`: a different order each time. All candidates of a tree come together. " +
			"Default: the settings of the server. The parameter must not be repeated."),
		schema: huma.Schema{Type: huma.TypeString, Pattern: "^(id|random|(pack|spread):.+)$"}, example: "pack:VCPU"},
	{since: berth11, repeats: never, param: querystring.Param{Name: limitPerTreeParam, Pattern: positivePattern, Every: true},
		doc:    text("Maximum number of candidates of each tree. The first of repeated values applies."),
		schema: positiveSchema, example: 1},
	{since: berth12, repeats: never, param: querystring.Param{Name: explainParam, Enum: []string{"empty", "always"}, First: true},
		doc:    text("Adds an explanation to the response: `always`, or if there is no candidate (`empty`). The first of repeated values applies."),
		schema: huma.Schema{Type: huma.TypeString, Enum: []any{"empty", "always"}}, example: "empty"},
}

const positivePattern = "^[1-9][0-9]*$"

var positiveSchema = huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0)}

var textSchema = huma.Schema{Type: huma.TypeString}

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
	var known []querystring.Param
	suffix := suffixPattern(at)
	for _, row := range candidateParams {
		param := row.param
		if row.group && suffix != "" {
			param = querystring.Param{NamePattern: "^" + param.Name + "(" + suffix + ")?$"}
		}
		if row.since <= at {
			known = append(known, param)
		}
	}
	return querystring.MustSchema(known...)
}

func candidateListDocs(at microversion.Version) []*huma.Param {
	var docs []*huma.Param
	suffix, families := suffixPattern(at), ""
	for _, row := range candidateParams {
		if row.since > at {
			continue
		}
		schema := row.schema
		doc := &huma.Param{
			Name: row.param.Name, In: "query", Required: row.param.Required && suffix == "",
			Description: row.doc(at), Schema: &schema, Example: row.example,
		}
		if row.repeats <= at {
			doc.Schema, doc.Example = &huma.Schema{Type: huma.TypeArray, Items: doc.Schema}, []any{row.example}
		}
		docs = append(docs, doc)
		if row.group {
			families += "|" + row.param.Name
		}
	}
	if suffix != "" {
		docs = append(docs, candidateGroupsDoc(at, "^("+families[1:]+")"+suffix+"$"))
	}
	return docs
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
