package querytext

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berthd/berth/client"
)

// Definition describes a parameter of a candidate query for all that read and show queries: addresses, files of shapes, forms,
// and flags.
type Definition struct {
	// Name is that in an address. Its flag has hyphens.
	Name string
	// OfGroup is true for a parameter of each group.
	OfGroup bool
	// Values is what the values are.
	Values Values
	// Usage is the help of the flag.
	Usage string
	// Field returns the field of a query: a *string or *int for one value, *[]string, or *[][]string for lists in which commas
	// separate suffixes. isList is true for a []string whose elements are one value of an address, with commas.
	Field func(*client.CandidateQuery) any
	// Excludes is true for a parameter of queries that avoid trees, such as those of an evacuation.
	Excludes bool
	isList   bool
	// place orders the parameters of all groups together in addresses and forms.
	place int
}

// Values is a kind of the values of a parameter.
type Values string

// The kinds of values that programs read or complete. The other parameters are texts and numbers.
const (
	Amounts    Values = "amounts"
	Aggregates Values = "aggregates"
	Classes    Values = "classes"
	Order      Values = "order"
	Providers  Values = "providers"
	Suffixes   Values = "suffixes"
	Traits     Values = "traits"
)

// Definitions are the parameters of a candidate query in the order of their flags.
var Definitions = []*Definition{
	{Name: "resources", OfGroup: true, Values: Amounts, Usage: "amounts `CLASS=AMOUNT,…` from any providers of a tree",
		Field: func(q *client.CandidateQuery) any { return &q.Resources }},
	{Name: "required", OfGroup: true, Values: Traits, Usage: "`TRAIT,!FORBIDDEN,…` of the providers, or in:TRAIT,TRAIT for any of several; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.Required }},
	{Name: "member_of", OfGroup: true, Values: Aggregates, Usage: "`aggregate` of the providers, in:A,B for any of several, or !A to exclude one; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.MemberOf }},
	{Name: "in_tree", OfGroup: true, Values: Providers, Usage: "name or UUID of a `provider` of the tree",
		Field: func(q *client.CandidateQuery) any { return &q.InTree }},
	{Name: "group_policy", place: 3, Usage: "`policy` for request groups: none permits a shared provider, isolate requires different ones",
		Field: func(q *client.CandidateQuery) any { return &q.GroupPolicy }},
	{Name: "isolate", place: 2, Values: Suffixes, Usage: "`SUFFIX,SUFFIX,…` of request groups that require different providers; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.Isolate }},
	{Name: "same_subtree", place: 1, Values: Suffixes, Usage: "`SUFFIX,!OUTSIDE,…` of request groups whose providers have one of them as common ancestor, or are outside of its subtree; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.SameSubtree }},
	{Name: "root_required", place: 4, Values: Traits, Usage: "`TRAIT,!FORBIDDEN,…` of the root provider",
		Field: func(q *client.CandidateQuery) any { return &q.RootRequired }},
	{Name: "root_member_of", place: 5, Values: Aggregates, Usage: "`aggregate` of the root provider, in:A,B for any of several, or !A to exclude one; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.RootMemberOf }},
	{Name: "can_split", place: 7, Values: Classes, isList: true, Usage: "`CLASS,CLASS,…` of --resources that several providers may supply together, in trees without other candidates",
		Field: func(q *client.CandidateQuery) any { return &q.CanSplit }},
	{Name: "order", place: 8, Values: Order, Usage: "`order` of the trees: id, pack:CLASS, spread:CLASS or random (default: the settings of the service)",
		Field: func(q *client.CandidateQuery) any { return &q.Order }},
	{Name: "limit", place: 10, Usage: "maximum `number` of candidates; 0 means no limit",
		Field: func(q *client.CandidateQuery) any { return &q.Limit }},
	{Name: "limit_per_tree", place: 9, Usage: "maximum `number` of candidates of each tree; 0 means no limit",
		Field: func(q *client.CandidateQuery) any { return &q.LimitPerTree }},
	{Name: "not_in_tree", place: 6, Values: Providers, isList: true, Excludes: true, Usage: "name or UUID of a `provider` whose tree is excluded; repeatable",
		Field: func(q *client.CandidateQuery) any { return &q.NotInTree }},
}

// Flag returns the name of the flag.
func (d *Definition) Flag() string { return strings.ReplaceAll(d.Name, "_", "-") }

// IsSingle reports whether a query has one value at most.
func (d *Definition) IsSingle() bool {
	switch d.Field(&client.CandidateQuery{}).(type) {
	case *string, *int:
		return true
	}
	return false
}

// defined returns the definition of a parameter, which is given without the suffix of a group; nil: there is none.
func defined(name string) *Definition {
	at := slices.IndexFunc(Definitions, func(d *Definition) bool { return d.Name == name })
	if at < 0 {
		return nil
	}
	return Definitions[at]
}

// named returns the names of the parameters of each group, or of those of all groups together, in their order in an address.
func named(ofGroup bool) (names []string) {
	ordered := slices.SortedStableFunc(slices.Values(Definitions), func(a, b *Definition) int { return cmp.Compare(a.place, b.place) })
	for _, d := range ordered {
		if d.OfGroup == ofGroup {
			names = append(names, d.Name)
		}
	}
	return names
}
