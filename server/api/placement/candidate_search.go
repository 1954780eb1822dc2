package placement

import (
	"context"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// CandidateSearch is the body form of a candidate query. Its members mean what the parameters of the same names mean.
type CandidateSearch struct {
	CandidateQuery
	Order        *string      `json:"order,omitempty" nullable:"false" doc:"Order of the trees: id, pack:CLASS, spread:CLASS or random. Default: the settings of the server." example:"pack:VCPU"`
	Limit        *searchLimit `json:"limit,omitempty" nullable:"false" doc:"Maximum number of candidates. Default: no limit."`
	Explain      string       `json:"explain,omitempty" since:"berth 2" enum:"empty,always" doc:"Adds an explanation to the response: always, or if there is no candidate (empty)." example:"empty"`
	LimitPerTree *searchLimit `json:"limit_per_tree,omitempty" nullable:"false" doc:"Maximum number of candidates of each tree. Default: no limit."`
}

// CandidateQuery is the members of a candidate query that claims have too.
type CandidateQuery struct {
	Groups       searchedGroups `json:"groups" doc:"Request groups by suffix, in the order of the query. The empty suffix is the group that several providers may serve."`
	RootRequired []string       `json:"root_required,omitempty" nullable:"false" doc:"Traits of the root of the tree: TRAIT or !TRAIT." example:"[\"CUSTOM_GOLD\"]"`
	RootMemberOf []string       `json:"root_member_of,omitempty" nullable:"false" doc:"Aggregates of the root of the tree: UUID, in:UUID,UUID, !UUID or !in:UUID,UUID. All apply."`
	NotInTree    []string       `json:"not_in_tree,omitempty" since:"berth 3" nullable:"false" doc:"Providers, up to 1,000: the tree of a candidate has none of them."`
	Isolate      [][]string     `json:"isolate,omitempty" nullable:"false" doc:"Lists of suffixes of groups that are served by different providers."`
	SameSubtree  [][]string     `json:"same_subtree,omitempty" nullable:"false" doc:"Lists of suffixes of groups in one subtree; !SUFFIX is a group outside of it."`
	CanSplit     []string       `json:"can_split,omitempty" nullable:"false" doc:"Resource classes of the group without a suffix whose amounts several providers may supply together."`
	GroupPolicy  string         `json:"group_policy,omitempty" enum:"none,isolate" doc:"isolate: each group with a suffix is served by a different provider. Default: none."`
}

// SearchedGroup is a request group of a CandidateSearch.
type SearchedGroup struct {
	Resources *claimedResources `json:"resources,omitempty" nullable:"false" doc:"Amounts by resource class."`
	Required  []string          `json:"required,omitempty" nullable:"false" doc:"Traits: TRAIT,TRAIT; in:TRAIT,TRAIT for any of several; !TRAIT is forbidden. All elements apply."`
	MemberOf  []string          `json:"member_of,omitempty" nullable:"false" doc:"Aggregates: UUID, in:UUID,UUID, !UUID or !in:UUID,UUID. All elements apply."`
	InTree    string            `json:"in_tree,omitempty" format:"uuid" doc:"A provider of the tree."`
}

// searchedGroups are groups by suffix, at least one.
type searchedGroups struct {
	jsonbody.Ordered[SearchedGroup]
}

// Schema implements huma.SchemaProvider.
func (searchedGroups) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[SearchedGroup](r), "^[a-zA-Z0-9_-]{0,64}$", 1)
}

// searchLimit is a positive number of candidates.
type searchLimit struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (searchLimit) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(1.0), Examples: []any{10}}
}

// searchParams collects the parameters of a CandidateSearch.
type searchParams []querystring.Pair

func (p *searchParams) add(name string, values ...string) {
	for _, value := range values {
		*p = append(*p, querystring.Pair{Name: name, Value: value})
	}
}

// list adds a parameter whose value is a list. An empty list is a missing parameter.
func (p *searchParams) list(name string, elements []string) {
	if len(elements) > 0 {
		p.add(name, strings.Join(elements, ","))
	}
}

// limit adds a number, unless it is missing.
func (p *searchParams) limit(name string, value *searchLimit) {
	if value != nil {
		p.add(name, strconv.FormatInt(int64(value.Int), 10))
	}
}

// values returns the query string of the body.
func (s *CandidateSearch) values() querystring.Values {
	params := s.params(s.Order)
	params.limit(limitParam, s.Limit)
	params.limit(limitPerTreeParam, s.LimitPerTree)
	if s.Explain != "" {
		params.add(explainParam, s.Explain)
	}
	return querystring.Of(params...)
}

// params returns the parameters of a query: the groups with their parameters, then the others. The schema has rejected an
// empty in_tree and group_policy, so an empty text is a missing one.
func (s *CandidateQuery) params(order *string) searchParams {
	var params searchParams
	for i := range s.Groups.Ordered {
		suffix, group := s.Groups.Ordered[i].Key, &s.Groups.Ordered[i].Value
		params.list(resourcesParam+suffix, group.amounts())
		params.add(requiredParam+suffix, group.Required...)
		params.add(memberOfParam+suffix, group.MemberOf...)
		if group.InTree != "" {
			params.add(inTreeParam+suffix, group.InTree)
		}
	}
	params.list(rootRequiredParam, s.RootRequired)
	params.add(rootMemberOfParam, s.RootMemberOf...)
	params.list(notInTreeParam, s.NotInTree)
	for _, suffixes := range s.Isolate {
		params.list(isolateParam, suffixes)
	}
	for _, suffixes := range s.SameSubtree {
		params.list(sameSubtreeParam, suffixes)
	}
	params.list(canSplitParam, s.CanSplit)
	if s.GroupPolicy != "" {
		params.add(groupPolicyParam, s.GroupPolicy)
	}
	if order != nil {
		params.add(orderParam, *order)
	}
	return params
}

// amounts returns the elements of the parameter resources.
func (g *SearchedGroup) amounts() []string {
	if g.Resources == nil {
		return nil
	}
	var elements []string
	for _, entry := range g.Resources.Ordered {
		elements = append(elements, entry.Key+":"+strconv.FormatInt(int64(entry.Value.Int), 10))
	}
	return elements
}

// noParams is the schema of a request without query parameters.
var noParams = querystring.MustSchema()

// checkNoQuery returns an error if the query string has parameters.
func checkNoQuery(ctx context.Context, _ *none) error {
	_, err := query(ctx, noParams)
	return err
}

func (o *operations) candidateSearch(ctx context.Context, in *none, body *CandidateSearch) (*candidateResponse, error) {
	if err := checkNoQuery(ctx, in); err != nil {
		return nil, err
	}
	return o.answerCandidates(ctx, body.values(), candidateShapes[len(candidateShapes)-1].shape)
}

// exampleSearch returns the body of the documents.
func exampleSearch() any {
	return map[string]any{
		"groups": map[string]any{
			"":      map[string]any{"resources": exampleRequest(), "required": []string{exampleTrait}},
			"_NET1": map[string]any{"resources": map[string]any{"SRIOV_NET_VF": 1}},
			"_NET2": map[string]any{"resources": map[string]any{"SRIOV_NET_VF": 1}},
		},
		"isolate":   [][]string{{"_NET1", "_NET2"}},
		"can_split": []string{"VCPU"},
		"order":     "pack:VCPU",
		"limit":     10,
	}
}
