package console

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/client"
)

// asked is the shape of a page: what the user chose, and its query. Units are the largest amounts of each class that it
// needs from one provider. The zero value is no shape.
type asked struct {
	Text    string
	Query   client.CandidateQuery
	Units   []client.CapacityUnit
	Classes []string
}

// shape returns the shape that the address names: one of the file of shapes, resources such as "VCPU:4,MEMORY_MB:8192", or
// a query string.
func (v *visit) shape() (asked, error) {
	found := asked{Text: strings.TrimSpace(v.query("shape"))}
	query := found.Text
	for _, known := range v.c.names.Load().shapes {
		if known.Name == found.Text {
			query = known.Query
		}
	}
	switch {
	case query == "":
		return found, nil
	case !strings.Contains(query, "="):
		query = "resources=" + query
	}
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err == nil {
		err = checkQuery(values)
	}
	if err != nil {
		return found, invalid("The shape %q is neither one with a name nor a query: %v.", found.Text, err)
	}
	found.Query = candidateQuery(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, unit := range unitsOf(name, values.Get(name)) {
			if at := slices.Index(found.Classes, unit.Class); at >= 0 {
				found.Units[at].Amount = max(found.Units[at].Amount, unit.Amount)
				continue
			}
			found.Classes, found.Units = append(found.Classes, unit.Class), append(found.Units, unit)
		}
	}
	return found, nil
}

// unitsOf returns the amounts of a valid parameter of resources, and nothing for another parameter.
func unitsOf(name, value string) (units []client.CapacityUnit) {
	for _, element := range listed(value) {
		if !strings.HasPrefix(name, "resources") {
			break
		}
		class, text, _ := strings.Cut(element, ":")
		amount, _ := strconv.ParseInt(text, 10, 64) // at most 18 digits
		units = append(units, client.CapacityUnit{Class: class, Amount: amount})
	}
	return units
}

// candidateQuery returns the query of parameters of GET /allocation_candidates, without order and limits.
func candidateQuery(values url.Values) client.CandidateQuery {
	query := client.CandidateQuery{
		Resources: values.Get("resources"), Required: values["required"], MemberOf: values["member_of"], InTree: values.Get("in_tree"),
		RootRequired: values.Get("root_required"), RootMemberOf: values["root_member_of"], SameSubtree: values["same_subtree"],
		GroupPolicy: values.Get("group_policy"), NotInTree: listed(values.Get("not_in_tree")), CanSplit: listed(values.Get("can_split")),
	}
	for _, suffixes := range values["isolate"] {
		query.Isolate = append(query.Isolate, listed(suffixes))
	}
	suffixes := map[string]bool{}
	for name := range values {
		if parts := parameterForm.FindStringSubmatch(name); parts[2] != "" {
			suffixes[parts[2]] = true
		}
	}
	for _, suffix := range slices.Sorted(maps.Keys(suffixes)) {
		query.Groups = append(query.Groups, client.GroupQuery{
			Suffix: suffix, Resources: values.Get("resources" + suffix), InTree: values.Get("in_tree" + suffix),
			Required: values["required"+suffix], MemberOf: values["member_of"+suffix],
		})
	}
	return query
}

// listed splits a list; an empty one has no elements.
func listed(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
