package placement

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
)

// candidateParams are the parameters, with the microversion that brings each and
// the one from which it may be repeated. Those of groups take a suffix from 1.25 on.
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
		doc:    text("The providers are in the same tree as this one. Nothing that other trees share is used."),
		schema: huma.Schema{Type: huma.TypeString, Format: "uuid"}, example: exampleHost},
	{since: v(16), repeats: never, param: querystring.Param{Name: "limit", Pattern: "^[1-9][0-9]*$", First: true},
		doc:    text("At most so many candidates. If it is repeated, the first counts."),
		schema: huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0)}, example: 100},
	{since: v(25), repeats: never, param: querystring.Param{Name: "group_policy", Enum: []string{"none", "isolate"}},
		doc: text("`isolate`: no two groups with a suffix are served by one provider; `none`: they may be. " +
			"It must be given with more than one such group. If it is repeated, the first counts."),
		schema: huma.Schema{Type: huma.TypeString, Enum: []any{"none", "isolate"}}, example: "isolate"},
	{since: v(35), repeats: never, param: querystring.Param{Name: "root_required"},
		doc: text("The root of the tree has all these traits; it must not have those written `!TRAIT`. " +
			"Alternatives are not known here, and it must not be repeated."),
		schema: textSchema, example: "CUSTOM_GOLD"},
	{since: v(36), repeats: v(36), param: querystring.Param{Name: "same_subtree"},
		doc: text("Suffixes of groups, separated by commas: of the providers that serve them, one stands above all others, " +
			"or is the only one. If it is repeated, each holds by itself."),
		schema: textSchema, example: "_CPU,_NET"},
}

var textSchema = huma.Schema{Type: huma.TypeString}

func candidateResourcesDoc(at microversion.Version) string {
	doc := "What is wanted: amounts of resource classes. Each class comes from one provider as a whole; "
	if at.CombinesTrees() {
		doc += "different classes may come from different providers of a tree, and from providers that share with it."
	} else {
		doc += "different classes may come from a provider and from others that share with it."
	}
	if at.GroupsCandidates() {
		doc += " This or one of the `groups` must be given."
	}
	return doc
}

func candidateRequiredDoc(at microversion.Version) string {
	doc := "The providers that are used have all these traits between them."
	if at.ForbidsTraits() {
		doc += " `!TRAIT` forbids one to all of them."
	}
	if at.HasAnyOfTraits() {
		return doc + " `in:TRAIT,TRAIT` asks for any. If it is repeated, all must hold."
	}
	return doc + " If it is repeated, the last counts."
}

func candidateMemberOfDoc(at microversion.Version) string {
	doc := "The providers that are used, or the roots of their trees, are in this aggregate, or in any of `in:UUID,UUID`. " +
		"What is shared must itself be in it."
	if at.ForbidsMemberOf() {
		doc += " `!UUID` and `!in:UUID,UUID` exclude."
	}
	if at.RepeatsMemberOf() {
		doc += " If it is repeated, all must hold."
	}
	return doc
}

// suffixPattern is what a suffix looks like; empty: there are none.
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

// candidateGroupsDoc documents the parameters whose names end in a suffix. OpenAPI
// cannot name a family of parameters. It can say that each member of an object is a
// parameter of its own, and that is what they are.
func candidateGroupsDoc(at microversion.Version, pattern string) *huma.Param {
	suffix, example := "a number", map[string]any{"resources1": "SRIOV_NET_VF:1", "required1": "CUSTOM_GOLD"}
	if at.NamesGroups() {
		suffix = "up to 64 letters, digits, `_` and `-`"
		example = map[string]any{"resources_NET": "SRIOV_NET_VF:1", "required_NET": "CUSTOM_GOLD"}
	}
	doc := "Further groups of what is wanted. Each is served by one provider, which has everything that the group asks for. " +
		"Each member of this object is a parameter of the query by itself, so there is no parameter called `groups`: " +
		"its name is that of a parameter without suffix, followed by the group's suffix, which is " + suffix + ". " +
		"Its value is written like that of the parameter without suffix, and it holds for the provider itself. " +
		"Where that one may be repeated, so may it, which an object cannot show."
	if at.AllowsResourcelessGroups() {
		doc += " A group that asks for no resources must be named in `same_subtree`."
	}
	return &huma.Param{
		Name: "groups", In: "query", Style: "form", Explode: new(true), Description: doc, Example: example,
		Schema: jsonbody.MapSchema(&huma.Schema{Type: huma.TypeString}, pattern, 0),
	}
}
