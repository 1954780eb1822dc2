package explain

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/candidates"
)

// change is a relaxation, with the changed queries to try: of an amount one for each smaller amount.
type change struct {
	Relaxation
	tries     []try
	hasPolicy bool
	// isTried is true after all searches of the change have ended, or one has found candidates.
	isTried bool
	// parts and root are what the change concerns: it cannot help a tree in which anything else fails.
	parts []int
	root  int
	// addsTrees is true if the change concerns trees that were not judged.
	addsTrees bool
}

// try is a changed query, which exists only while it is tried: a change can have many, each with all groups.
type try struct {
	to    int64
	query func() candidates.Query
}

// tryOf returns the try of a query that is edited.
func tryOf(of *candidates.Query, edit func(*candidates.Query)) []try {
	return []try{{query: func() candidates.Query {
		query := edited(of)
		edit(&query)
		return tidy(query)
	}}}
}

// noRoot is the root of a change that concerns no root condition.
const noRoot = -1

// edited returns a copy of the query whose groups can be changed.
func edited(of *candidates.Query) candidates.Query {
	query := *of
	query.Groups = slices.Clone(of.Groups)
	query.Subtrees, query.Isolated = slices.Clone(of.Subtrees), slices.Clone(of.Isolated)
	return query
}

// changes returns the relaxations to try, in their order.
func (e *explanationBuilder) changes() (all []change) {
	for i := range e.r.parts {
		for at := range e.r.parts[i].amounts {
			if change := e.amountChange(i, at); len(change.tries) > 0 {
				all = append(all, change)
			}
		}
	}
	item, several := e.groupsLess()
	all = append(all, several...)
	add := func(shown Relaxation, root int, edit func(*candidates.Query)) {
		all = append(all, change{Relaxation: shown, tries: tryOf(&e.Query, edit), hasPolicy: e.HasPolicy, root: root})
	}
	for place, of := range e.r.parts {
		if !of.suffixed && !of.canSplit {
			class := of.amounts[0].Class
			add(Relaxation{Change: "can_split", Class: class}, noRoot, func(q *candidates.Query) {
				q.CanSplit = append(slices.Clone(q.CanSplit), class)
			})
			all[len(all)-1].parts = []int{place}
		}
	}
	if e.Query.Isolate {
		add(Relaxation{Change: "replace", Value: "group_policy=none"}, noRoot, func(q *candidates.Query) { q.Isolate = false })
	}
	drop := func(value string, edit func(*candidates.Query)) {
		add(Relaxation{Change: "drop", Value: value}, noRoot, edit)
	}
	for i := range e.Query.Isolated {
		drop("isolate="+e.Isolate[i], func(q *candidates.Query) { q.Isolated = slices.Delete(q.Isolated, i, i+1) })
	}
	for i := range e.Query.Subtrees {
		drop("same_subtree="+e.SameSubtree[i], func(q *candidates.Query) { q.Subtrees = slices.Delete(q.Subtrees, i, i+1) })
	}
	all = append(all, e.groupChanges()...)
	if excluded := e.Query.NotInTree; len(excluded) > 0 {
		drop("not_in_tree="+joined(excluded), func(q *candidates.Query) { q.NotInTree = nil })
		all[len(all)-1].addsTrees = true
	}
	for i, stage := range e.r.roots {
		add(Relaxation{Change: "drop", Value: stage.stage + "=" + stage.value}, i, func(q *candidates.Query) { e.dropRoot(q, i) })
	}
	return append(all, item...)
}

// dropRoot removes a condition of roots.
func (e *explanationBuilder) dropRoot(q *candidates.Query, place int) {
	for _, list := range []*[]string{&q.RootRequired, &q.RootForbidden} {
		if place < len(*list) && place >= 0 {
			*list = slices.Delete(slices.Clone(*list), place, place+1)
			return
		}
		place -= len(*list)
	}
	if place < len(q.RootMemberOf) {
		q.RootMemberOf = slices.Delete(slices.Clone(q.RootMemberOf), place, place+1)
		return
	}
	q.RootNotMemberOf = nil
}

// groupChanges drops constraints of groups: first traits of all groups, then aggregates, then trees. A constraint of equal
// groups is dropped of all.
func (e *explanationBuilder) groupChanges() (all []change) {
	for _, each := range []func(*candidates.Group, func(string, func(*candidates.Group))){dropsOfTraits, dropsOfAggregates, dropsOfTree} {
		done := map[int]bool{}
		for _, of := range e.r.parts {
			first := of.groups[0]
			if done[first] {
				continue
			}
			done[first] = true
			each(&e.Query.Groups[first], func(value string, edit func(*candidates.Group)) {
				result := change{Relaxation: Relaxation{Change: "drop", Value: value}, hasPolicy: e.HasPolicy, root: noRoot}
				result.tries = tryOf(&e.Query, func(q *candidates.Query) {
					for _, place := range of.groups {
						edit(&q.Groups[place])
					}
				})
				if len(of.groups) > 1 {
					result.Groups = e.r.suffixes(of.groups)
				}
				result.parts = e.r.partsOf(first)
				all = append(all, result)
			})
		}
	}
	return all
}

// groupsLess drops one group of each part with a suffix, if there are others: several are those of which equal groups are left.
// They are relaxations from berth 1.6 on.
func (e *explanationBuilder) groupsLess() (changes, several []change) {
	if !e.FreesConsumers || len(e.Query.Groups) < 2 {
		return nil, nil
	}
	for i := range e.r.parts {
		of := &e.r.parts[i]
		if !of.suffixed {
			continue
		}
		gone := of.groups[len(of.groups)-1]
		result := change{
			Relaxation: Relaxation{Change: "drop", Value: groupText(&e.Query.Groups[gone])}, hasPolicy: e.HasPolicy, root: noRoot, parts: []int{i},
			tries: []try{{query: func() candidates.Query { return tidy(withoutGroup(edited(&e.Query), gone)) }}},
		}
		if len(of.groups) > 1 {
			several = append(several, result)
		} else {
			changes = append(changes, result)
		}
	}
	return changes, several
}

// groupText names a group by its amounts, or by its first constraint if it has none.
func groupText(of *candidates.Group) string {
	alone := candidates.Query{Groups: []candidates.Group{*of}}
	first, _, _ := strings.Cut(queryText(&alone, false), "&")
	return first
}

// partsOf returns the parts of a group.
func (q *parsedQuery) partsOf(group int) (places []int) {
	for i := range q.parts {
		if slices.Contains(q.parts[i].groups, group) {
			places = append(places, i)
		}
	}
	return places
}

func dropsOfTraits(g *candidates.Group, drop func(string, func(*candidates.Group))) {
	for _, set := range g.Required {
		drop("required"+g.Suffix+"="+anyTrait(set), func(g *candidates.Group) {
			g.Required = slices.DeleteFunc(slices.Clone(g.Required), func(other []string) bool { return sameSet(other, set) })
		})
	}
	for _, trait := range g.Forbidden {
		drop("required"+g.Suffix+"=!"+trait, func(g *candidates.Group) {
			g.Forbidden = slices.DeleteFunc(slices.Clone(g.Forbidden), func(other string) bool { return other == trait })
		})
	}
}

func dropsOfAggregates(g *candidates.Group, drop func(string, func(*candidates.Group))) {
	for _, set := range g.MemberOf {
		drop("member_of"+g.Suffix+"="+anyOf(set), func(g *candidates.Group) {
			g.MemberOf = slices.DeleteFunc(slices.Clone(g.MemberOf), func(other []uuid.UUID) bool { return sameSet(other, set) })
		})
	}
	if len(g.NotMemberOf) > 0 {
		drop("member_of"+g.Suffix+"=!"+anyOf(g.NotMemberOf), func(g *candidates.Group) { g.NotMemberOf = nil })
	}
}

func dropsOfTree(g *candidates.Group, drop func(string, func(*candidates.Group))) {
	if g.InTree != nil {
		drop("in_tree"+g.Suffix+"="+g.InTree.String(), func(g *candidates.Group) { g.InTree = nil })
	}
}

// sameSet reports whether two lists have the same elements.
func sameSet[E comparable](a, b []E) bool {
	within := func(a, b []E) bool {
		return !slices.ContainsFunc(a, func(item E) bool { return !slices.Contains(b, item) })
	}
	return within(a, b) && within(b, a)
}

// amountChange returns the change of an amount: what nearby trees could give, greatest first, and then halves.
func (e *explanationBuilder) amountChange(i, at int) change {
	of := &e.r.parts[i]
	amount := of.amounts[at]
	amounts := slices.Clone(e.tally.amounts[amountKey{i, at}])
	if less := amount.Amount - 1; e.FreesConsumers && less > 0 && !slices.Contains(amounts, less) {
		amounts = slices.Insert(amounts, 0, less) // no provider gives more of what it lacks
	}
	for half := amount.Amount / 2; half >= 1; half /= 2 {
		if !slices.Contains(amounts, half) {
			amounts = append(amounts, half)
		}
	}
	result := change{
		Relaxation: Relaxation{Change: "amount", Groups: e.r.suffixes(of.groups), Class: amount.Class, From: amount.Amount},
		hasPolicy:  e.HasPolicy, parts: []int{i}, root: noRoot,
	}
	for _, to := range amounts {
		result.tries = append(result.tries, try{to, func() candidates.Query { return withAmount(&e.Query, of.groups, amount.Class, to) }})
	}
	return result
}

// withAmount returns the query with another amount of a class in some groups.
func withAmount(of *candidates.Query, groups []int, class string, to int64) candidates.Query {
	query := edited(of)
	for _, place := range groups {
		resources := slices.Clone(query.Groups[place].Resources)
		for i := range resources {
			if resources[i].Class == class {
				resources[i].Amount = to
			}
		}
		query.Groups[place].Resources = resources
	}
	return query
}

// tidy removes the groups without resources that have no other constraint, and below berth 1.1 those that no same_subtree
// names, with the sets that become invalid.
func tidy(q candidates.Query) candidates.Query {
	for {
		at := slices.IndexFunc(q.Groups, func(g candidates.Group) bool {
			isNamed := slices.ContainsFunc(q.Subtrees, func(s candidates.Subtree) bool { return slices.Contains(suffixesOf(&q, s.Inside), g.Suffix) })
			return len(g.Resources) == 0 && (isUnconstrained(&g) || !q.Extended && !isNamed)
		})
		if at < 0 {
			return q
		}
		q = withoutGroup(q, at)
	}
}

func isUnconstrained(g *candidates.Group) bool {
	return len(g.Required)+len(g.Forbidden)+len(g.MemberOf)+len(g.NotMemberOf) == 0 && g.InTree == nil
}

// withoutGroup removes a group from a query.
func withoutGroup(q candidates.Query, gone int) candidates.Query {
	left := func(places []int) (kept []int) {
		for _, place := range places {
			if place > gone {
				kept = append(kept, place-1)
			} else if place < gone {
				kept = append(kept, place)
			}
		}
		return kept
	}
	q.Groups = slices.Delete(slices.Clone(q.Groups), gone, gone+1)
	var isolated [][]int
	for _, set := range q.Isolated {
		if kept := left(set); len(kept) > 1 {
			isolated = append(isolated, kept)
		}
	}
	var subtrees []candidates.Subtree
	for _, set := range q.Subtrees {
		if inside := left(set.Inside); len(inside) > 0 {
			subtrees = append(subtrees, candidates.Subtree{Inside: inside, Outside: left(set.Outside)})
		}
	}
	q.Isolated, q.Subtrees = isolated, subtrees
	return q
}
