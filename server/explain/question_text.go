package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/candidates"
)

// Question is a candidate query that is explained.
type Question struct {
	Query candidates.Query
	// Params are the parameters of the query string, in their order.
	Params []Param
	// Parse parses changed parameters, with the language of berth 1.1 if extended is set.
	Parse func(params []Param, extended bool) (candidates.Query, error)
}

// Param is a parameter of a query string.
type Param struct{ Name, Value string }

var escapes = strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B", " ", "%20")

// Text returns parameters as a query string that people can read.
func Text(params []Param) string {
	texts := make([]string, len(params))
	for i, one := range params {
		texts[i] = escapes.Replace(one.Name) + "=" + escapes.Replace(one.Value)
	}
	return strings.Join(texts, "&")
}

// change is a relaxation with the parameters that it leaves.
type change struct {
	Relaxation
	params   []Param
	extended bool
}

// changes returns the relaxations to try, in their order, except those of amounts.
func (q *question) changes(of *Question) (all []change) {
	extended := of.Query.Extended
	for _, group := range q.query.Groups {
		for _, one := range group.Resources {
			if group.Suffix == "" && !slices.Contains(q.query.CanSplit, one.Class) {
				params := append(slices.Clone(of.Params), Param{"can_split", one.Class})
				all = append(all, change{Relaxation{Change: "can_split", Class: one.Class}, params, true})
			}
		}
	}
	for i, one := range of.Params {
		if one == (Param{"group_policy", "isolate"}) {
			params := slices.Clone(of.Params)
			params[i].Value = "none"
			all = append(all, change{Relaxation{Change: "replace", Value: "group_policy=none"}, params, extended})
			break
		}
	}
	for _, name := range []string{"isolate", "same_subtree"} {
		all = append(all, q.drops(of, name, "", false)...)
	}
	for _, name := range []string{"required", "member_of", "in_tree"} {
		for _, group := range q.groupsOnce() {
			all = append(all, q.dropsOfGroup(of, name, group)...)
		}
	}
	all = append(all, q.drops(of, "root_required", "", true)...)
	return append(all, q.drops(of, "root_member_of", "", false)...)
}

// groupsOnce returns the groups, equal ones together.
func (q *question) groupsOnce() (all [][]int) {
	seen := map[int]bool{}
	for _, one := range q.parts {
		if !seen[one.groups[0]] {
			all = append(all, one.groups)
		}
		seen[one.groups[0]] = true
	}
	return all
}

// elements splits a value into what can be dropped by itself.
func elements(value string, split bool) []string {
	if !split || strings.HasPrefix(value, "in:") {
		return []string{value}
	}
	return strings.Split(value, ",")
}

// drops returns the changes that drop one value of a parameter, or one element of one.
func (q *question) drops(of *Question, name, suffix string, split bool) (all []change) {
	for i, one := range of.Params {
		if one.Name != name+suffix {
			continue
		}
		parts := elements(one.Value, split)
		for j, element := range parts {
			params := slices.Clone(of.Params)
			rest := slices.Delete(slices.Clone(parts), j, j+1)
			if params[i].Value = strings.Join(rest, ","); len(rest) == 0 {
				params = slices.Delete(params, i, i+1)
			}
			all = append(all, change{Relaxation{Change: "drop", Value: one.Name + "=" + strings.TrimSpace(element)}, params, of.Query.Extended})
		}
	}
	return all
}

// dropsOfGroup returns the changes that drop a value of a group, and the same values of equal groups.
func (q *question) dropsOfGroup(of *Question, name string, groups []int) []change {
	split := name == "required"
	first := q.query.Groups[groups[0]].Suffix
	all := q.drops(of, name, first, split)
	for i := range all {
		if len(groups) == 1 {
			continue
		}
		all[i].Groups = q.suffixes(groups)
		_, dropped, _ := strings.Cut(all[i].Value, "=")
		for _, place := range groups[1:] {
			all[i].params = without(all[i].params, name+q.query.Groups[place].Suffix, dropped, split)
		}
	}
	return all
}

// without removes the first occurrence of a value, or of an element of one.
func without(params []Param, name, dropped string, split bool) []Param {
	for i, one := range params {
		parts := elements(one.Value, split)
		at := slices.IndexFunc(parts, func(element string) bool { return strings.TrimSpace(element) == dropped })
		if one.Name != name || at < 0 {
			continue
		}
		if parts = slices.Delete(parts, at, at+1); len(parts) == 0 {
			return slices.Delete(slices.Clone(params), i, i+1)
		}
		params = slices.Clone(params)
		params[i].Value = strings.Join(parts, ",")
		return params
	}
	return params
}

// suffixes returns the suffixes of groups.
func (q *question) suffixes(groups []int) []string {
	all := make([]string, len(groups))
	for i, place := range groups {
		all[i] = q.query.Groups[place].Suffix
	}
	return all
}

// withAmount returns the parameters with another amount of a class of some groups.
func (q *question) withAmount(of *Question, groups []int, class string, to int64) []Param {
	params := slices.Clone(of.Params)
	for i, one := range params {
		suffix, isResources := strings.CutPrefix(one.Name, "resources")
		if !isResources || !slices.Contains(q.suffixes(groups), suffix) {
			continue
		}
		parts := strings.Split(one.Value, ",")
		for j, element := range parts {
			if name, _, _ := strings.Cut(element, ":"); name == class {
				parts[j] = class + ":" + strconv.FormatInt(to, 10)
			}
		}
		params[i].Value = strings.Join(parts, ",")
	}
	return params
}

// dropEmptyGroups removes what belongs to groups that have no condition left: their names in same_subtree and isolate.
func dropEmptyGroups(params []Param) []Param {
	known := map[string]bool{}
	for _, one := range params {
		for _, name := range []string{"resources", "required", "member_of", "in_tree"} {
			if suffix, found := strings.CutPrefix(one.Name, name); found {
				known[suffix] = true
			}
		}
	}
	var kept []Param
	for _, one := range params {
		if one.Name == "same_subtree" || one.Name == "isolate" {
			names := slices.DeleteFunc(strings.Split(one.Value, ","), func(name string) bool {
				return !known[strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "!"))]
			})
			if one.Value = strings.Join(names, ","); len(names) == 0 {
				continue
			}
		}
		kept = append(kept, one)
	}
	return kept
}
