package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// berth11 is the first version of the extensions with all fields of CandidateQuery.
const berth11 = "1.1"

// ExtensionError is the error of a query with a field that needs extensions, from a service without them. errors.Is
// finds ErrExtensions in it.
type ExtensionError struct {
	// Field is the field of CandidateQuery: NotInTree, RootMemberOf, Isolate, CanSplit, Order, LimitPerTree or SameSubtree; Groups
	// for a group without resources that SameSubtree does not name; GroupPolicy if it is missing.
	Field string
	// Version is the version of the extensions that has the field, such as "1.1".
	Version string
	// Cause is the error of the request.
	Cause error
}

// Error returns the field and the response.
func (e *ExtensionError) Error() string {
	return "CandidateQuery." + e.Field + e.Usage() + " needs berth " + e.Version + ", which the service does not have: " + e.Cause.Error()
}

// Usage returns the use of the field that needs the extensions, such as " with '!'", or "" if each use does.
func (e *ExtensionError) Usage() string {
	return map[string]string{
		"SameSubtree": " with '!'", "GroupPolicy": " left out with several groups", "Groups": " with a group without resources outside of SameSubtree",
	}[e.Field]
}

// Unwrap returns the error of the request.
func (e *ExtensionError) Unwrap() error { return e.Cause }

// needsError returns the error of a query whose field needs the extensions; "" for none.
func needsError(field string, err error) error {
	if field == "" || !errors.Is(err, ErrExtensions) {
		return err
	}
	return &ExtensionError{Field: field, Version: fieldVersion(field), Cause: err}
}

// fieldNotInTree is the field of CandidateQuery that needs berth 1.3.
const fieldNotInTree = "NotInTree"

// fieldVersion returns the version that has a field of CandidateQuery.
func fieldVersion(field string) string {
	if field == fieldNotInTree {
		return berth13
	}
	return berth11
}

// needsExtensions returns the first field that needs the extensions, or "".
func (q CandidateQuery) needsExtensions() string {
	named := map[string]bool{}
	negated := false
	for _, list := range q.SameSubtree {
		for suffix := range strings.SplitSeq(list, ",") {
			suffix = strings.TrimSpace(suffix)
			named[suffix] = true
			negated = negated || strings.HasPrefix(suffix, "!")
		}
	}
	suffixed := 0
	isCondition := func(of GroupQuery) bool { return of.Resources == "" && !of.isEmpty() && !named[of.Suffix] }
	for _, of := range q.Groups {
		if !of.isEmpty() {
			suffixed++
		}
	}
	switch {
	case len(q.NotInTree) > 0:
		return fieldNotInTree
	case len(q.RootMemberOf) > 0:
		return "RootMemberOf"
	case len(q.Isolate) > 0:
		return "Isolate"
	case negated:
		return "SameSubtree"
	case len(q.CanSplit) > 0:
		return "CanSplit"
	case q.Order != "":
		return "Order"
	case q.LimitPerTree > 0:
		return "LimitPerTree"
	case slices.ContainsFunc(q.Groups, isCondition):
		return "Groups"
	case q.GroupPolicy == "" && suffixed > 1:
		return "GroupPolicy"
	}
	return ""
}

// isEmpty reports whether a group has no parameters, so that the query does not contain it.
func (g GroupQuery) isEmpty() bool {
	return g.Resources == "" && g.InTree == "" && len(g.Required)+len(g.MemberOf) == 0
}

// searchBody is the body form of a query.
type searchBody struct {
	Groups       searchGroups `json:"groups"`
	RootRequired []string     `json:"root_required,omitempty"`
	RootMemberOf []string     `json:"root_member_of,omitempty"`
	NotInTree    []string     `json:"not_in_tree,omitempty"`
	Isolate      [][]string   `json:"isolate,omitempty"`
	SameSubtree  [][]string   `json:"same_subtree,omitempty"`
	CanSplit     []string     `json:"can_split,omitempty"`
	GroupPolicy  string       `json:"group_policy,omitempty"`
	Order        string       `json:"order,omitempty"`
	Limit        int          `json:"limit,omitempty"`
	LimitPerTree int          `json:"limit_per_tree,omitempty"`
	Explain      ExplainWhen  `json:"explain,omitempty"`
}

// searchGroup is a group of a body, and searchGroups an object of groups by suffix in their order.
type searchGroup struct {
	suffix    string
	Resources map[string]int64 `json:"resources,omitempty"`
	Required  []string         `json:"required,omitempty"`
	MemberOf  []string         `json:"member_of,omitempty"`
	InTree    string           `json:"in_tree,omitempty"`
}

type searchGroups []searchGroup

// MarshalJSON implements json.Marshaler.
func (s searchGroups) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, group := range s {
		value, err := json.Marshal(group)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Quote(group.suffix) + ":") // letters, digits, _ and -
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// body returns the query as a body, with an explanation unless explain is "", or nil if a body cannot express it. The
// service then returns the error of the query string.
func (q CandidateQuery) body(explain ExplainWhen) json.RawMessage {
	groups, err := q.groups()
	if err != nil {
		return nil
	}
	result := searchBody{
		RootRequired: elements(q.RootRequired), RootMemberOf: q.RootMemberOf, NotInTree: q.NotInTree, CanSplit: q.CanSplit,
		GroupPolicy: q.GroupPolicy, Order: q.Order, Limit: max(0, q.Limit), LimitPerTree: max(0, q.LimitPerTree), Explain: explain,
		Isolate: slices.DeleteFunc(slices.Clone(q.Isolate), func(suffixes []string) bool { return len(suffixes) == 0 }),
	}
	for _, list := range q.SameSubtree {
		result.SameSubtree = append(result.SameSubtree, strings.Split(list, ","))
	}
	for _, of := range groups {
		amounts, ok := amountsOf(of.Resources)
		if !ok {
			return nil
		}
		group := searchGroup{of.Suffix, amounts, of.Required, of.MemberOf, of.InTree}
		if !of.isEmpty() {
			result.Groups = append(result.Groups, group)
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil
	}
	return text
}

// elements splits a list; an empty one has no elements.
func elements(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// amountsOf parses "VCPU:2,MEMORY_MB:512". It returns false for a list that is not one of different classes and amounts.
func amountsOf(resources string) (map[string]int64, bool) {
	amounts := map[string]int64{}
	for _, element := range elements(resources) {
		class, text, _ := strings.Cut(element, ":")
		amount, err := strconv.ParseInt(text, 10, 64)
		if _, again := amounts[class]; again || err != nil || amount < 1 {
			return nil, false
		}
		amounts[class] = amount
	}
	return amounts, true
}
