package querytext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/berthd/berth/client"
)

// Check returns an error for parameters that a form cannot show, for amounts that are no numbers, and for a query without
// resources. The service checks the rest.
func (q *Question) Check() error {
	for _, parameter := range q.Text {
		return fmt.Errorf("%q is not a parameter of a query, or has a value that it cannot have", parameter.String())
	}
	asks := false
	for _, suffix := range q.Suffixes {
		for _, amount := range q.Amounts(suffix) {
			if n, err := strconv.ParseInt(amount.Amount, 10, 64); err != nil || n < 1 {
				return fmt.Errorf("%q is not an amount of %s", amount.Amount, amount.Class)
			}
			asks = true
		}
	}
	if !asks {
		return errors.New("it has no resources")
	}
	return nil
}

// Units returns the largest amount of each class that a group has, in the order of the query.
func (q *Question) Units() (units []client.CapacityUnit) {
	amounts, classes := q.ByGroup()
	for _, class := range classes {
		unit := client.CapacityUnit{Class: class}
		for _, group := range amounts {
			unit.Amount = max(unit.Amount, group[class])
		}
		units = append(units, unit)
	}
	return units
}

// Candidates returns the query for the client, without order and limits.
func (q *Question) Candidates() client.CandidateQuery {
	first := func(name string) string { return strings.Join(q.Values[name], ",") }
	list := func(name string) []string {
		return strings.FieldsFunc(first(name), func(r rune) bool { return r == ',' })
	}
	query := client.CandidateQuery{
		Resources: first("resources"), Required: q.Values["required"], MemberOf: q.Values["member_of"], InTree: first("in_tree"),
		RootRequired: first("root_required"), RootMemberOf: q.Values["root_member_of"], SameSubtree: q.Values["same_subtree"],
		GroupPolicy: first("group_policy"), NotInTree: list("not_in_tree"), CanSplit: list("can_split"),
	}
	for _, suffixes := range q.Values["isolate"] {
		query.Isolate = append(query.Isolate, strings.Split(suffixes, ","))
	}
	for _, suffix := range q.Suffixes[1:] {
		query.Groups = append(query.Groups, client.GroupQuery{
			Suffix: suffix, Resources: first("resources" + suffix), InTree: first("in_tree" + suffix),
			Required: q.Values["required"+suffix], MemberOf: q.Values["member_of"+suffix],
		})
	}
	return query
}
