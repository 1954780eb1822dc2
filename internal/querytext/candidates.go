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
	query := client.CandidateQuery{}
	for _, d := range Definitions {
		switch field := d.Field(&query).(type) {
		case *string:
			if d.Values != Order {
				*field = first(d.Name)
			}
		case *[]string:
			if *field = q.Values[d.Name]; d.isList {
				*field = strings.FieldsFunc(first(d.Name), func(r rune) bool { return r == ',' })
			}
		case *[][]string:
			for _, suffixes := range q.Values[d.Name] {
				*field = append(*field, strings.Split(suffixes, ","))
			}
		}
	}
	for _, suffix := range q.Suffixes[1:] {
		query.Groups = append(query.Groups, client.GroupQuery{
			Suffix: suffix, Resources: first("resources" + suffix), InTree: first("in_tree" + suffix),
			Required: q.Values["required"+suffix], MemberOf: q.Values["member_of"+suffix],
		})
	}
	return query
}
