package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// These are the steps, in the order in which a provider is tested.
const (
	stepReached     = "reached"
	stepInventory   = "inventory"
	stepInTree      = "in_tree"
	stepMemberOf    = "member_of"
	stepNotMemberOf = "not_member_of"
	stepRequired    = "required"
	stepForbidden   = "forbidden"
	stepUnits       = "units"
	stepSize        = "size"
	stepReserved    = "reserved"
	stepUsed        = "used"
	stepSplit       = "split"
)

// splitStep fails if providers together have too little of an amount. It is no step of a provider.
var splitStep = step{kind: stepSplit}

// part is what one provider must meet: a suffixed group, or a class of the unsuffixed group. Equal groups are one part.
type part struct {
	// content is equal for groups that ask for the same.
	content string
	// groups are indices of the query's groups.
	groups   []int
	suffixed bool
	amounts  []store.Amount
	canSplit bool
	steps    []step
	// inTree is the provider whose tree is searched.
	inTree *uuid.UUID
}

// step is a condition of a part: that of a query with an index, or one of inventories with the index of an amount.
type step struct {
	kind, value string
	at          int
}

// isOfInventory reports whether a step is one of an amount.
func (s *step) isOfInventory() bool {
	switch s.kind {
	case stepInventory, stepUnits, stepSize, stepReserved, stepUsed, stepSplit:
		return true
	}
	return false
}

// condition is one about traits or aggregates: one of each set, or none of the forbidden ones.
type condition struct {
	traits              [][]string
	forbiddenTrait      string
	aggregates          [][]uuid.UUID
	forbiddenAggregates []uuid.UUID
}

// rootStage is a condition of roots.
type rootStage struct {
	stage, value string
	condition    int
}

// parsedQuery is a query taken apart.
type parsedQuery struct {
	query      *candidates.Query
	parts      []part
	conditions []condition
	roots      []rootStage
	// sets are the conditions of the traits that the unsuffixed group's providers must have together.
	sets []int
}

func newParsedQuery(query *candidates.Query) *parsedQuery {
	q := &parsedQuery{query: query}
	q.addRoots()
	for place := range query.Groups {
		group := &query.Groups[place]
		if group.Suffix != "" {
			q.addPart(place, group, group.Resources, false)
			continue
		}
		for i, resource := range group.Resources {
			q.addPart(place, group, group.Resources[i:i+1], slices.Contains(query.CanSplit, resource.Class))
		}
	}
	return q
}

func (q *parsedQuery) addRoots() {
	query := q.query
	for _, trait := range query.RootRequired {
		q.roots = append(q.roots, rootStage{"root_required", trait, q.add(condition{traits: [][]string{{trait}}})})
	}
	for _, trait := range query.RootForbidden {
		q.roots = append(q.roots, rootStage{"root_required", "!" + trait, q.add(condition{forbiddenTrait: trait})})
	}
	for _, set := range query.RootMemberOf {
		q.roots = append(q.roots, rootStage{"root_member_of", anyOf(set), q.add(condition{aggregates: [][]uuid.UUID{set}})})
	}
	if forbidden := query.RootNotMemberOf; len(forbidden) > 0 {
		q.roots = append(q.roots, rootStage{"root_member_of", "!" + anyOf(forbidden), q.add(condition{forbiddenAggregates: forbidden})})
	}
}

func (q *parsedQuery) add(item condition) int {
	q.conditions = append(q.conditions, item)
	return len(q.conditions) - 1
}

// addPart adds a part, or the group to an equal one.
func (q *parsedQuery) addPart(place int, group *candidates.Group, amounts []store.Amount, canSplit bool) {
	content := contentOf(group)
	if group.Suffix != "" {
		for i := range q.parts {
			if known := &q.parts[i]; known.suffixed && known.content == content {
				known.groups = append(known.groups, place)
				return
			}
		}
	}
	result := part{content: content, groups: []int{place}, suffixed: group.Suffix != "", amounts: amounts, canSplit: canSplit, inTree: group.InTree}
	result.steps = append(result.steps, step{kind: stepReached})
	for i := range amounts {
		result.steps = append(result.steps, step{kind: stepInventory, at: i})
	}
	result.steps = append(result.steps, q.qualities(group, result.suffixed)...)
	for i := range amounts {
		for _, kind := range []string{stepUnits, stepSize, stepReserved, stepUsed} {
			result.steps = append(result.steps, step{kind: kind, at: i})
		}
	}
	q.parts = append(q.parts, result)
}

// qualities returns the steps of a group that are not about inventories.
func (q *parsedQuery) qualities(group *candidates.Group, suffixed bool) (steps []step) {
	if group.InTree != nil {
		steps = append(steps, step{kind: stepInTree, value: group.InTree.String()})
	}
	if len(group.MemberOf) > 0 {
		values := make([]string, len(group.MemberOf))
		for i, set := range group.MemberOf {
			values[i] = "in:" + joined(set)
		}
		steps = append(steps, step{stepMemberOf, strings.Join(values, ";"), q.add(condition{aggregates: group.MemberOf})})
	}
	if len(group.NotMemberOf) > 0 {
		steps = append(steps, step{stepNotMemberOf, "!in:" + joined(group.NotMemberOf), q.add(condition{forbiddenAggregates: group.NotMemberOf})})
	}
	for _, set := range group.Required {
		at := q.add(condition{traits: [][]string{set}})
		if suffixed || len(group.Resources) == 1 && !slices.Contains(q.query.CanSplit, group.Resources[0].Class) {
			steps = append(steps, step{stepRequired, strings.Join(set, ","), at})
		} else if !slices.Contains(q.sets, at) {
			q.sets = append(q.sets, at)
		}
	}
	for _, trait := range group.Forbidden {
		steps = append(steps, step{stepForbidden, trait, q.add(condition{forbiddenTrait: trait})})
	}
	return steps
}

// namesTrees reports whether a group has in_tree.
func (q *parsedQuery) namesTrees() bool {
	return slices.ContainsFunc(q.parts, func(p part) bool { return p.inTree != nil })
}

// contentOf returns a text that is equal for groups that ask for the same, in any order.
func contentOf(group *candidates.Group) string {
	tree := ""
	if group.InTree != nil {
		tree = group.InTree.String()
	}
	amounts := slices.SortedFunc(slices.Values(group.Resources), func(a, b store.Amount) int { return strings.Compare(a.Class, b.Class) })
	return fmt.Sprint(amounts, contentOfSets(group.Required), ordered(group.Forbidden), contentOfSets(group.MemberOf), ordered(group.NotMemberOf), tree)
}

func contentOfSets[E any](sets [][]E) []string {
	texts := make([]string, len(sets))
	for i, set := range sets {
		texts[i] = strings.Join(ordered(set), "|")
	}
	return ordered(texts)
}

// ordered returns the texts of different elements in order.
func ordered[E any](list []E) []string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// joined returns UUIDs with commas between them.
func joined(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}

// anyOf returns the value of a parameter for one of some UUIDs.
func anyOf(ids []uuid.UUID) string {
	if len(ids) == 1 {
		return ids[0].String()
	}
	return "in:" + joined(ids)
}
