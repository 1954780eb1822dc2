package bruteforce

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// The bounds of relaxations.
const (
	maxChanges    = 32
	maxRooms      = 8
	maxRelaxation = 100
)

// change is one change of a query, with the requests to try; the first that gives more candidates counts.
type change struct {
	shown explain.Relaxation
	tries []try
}

// try is a changed request, for an amount with the new one.
type try struct {
	to      int64
	request *request
}

// changes returns all changes in the order in which they are tried.
func (e *explainer) changes() []change {
	var all []change
	for _, part := range e.parts {
		for _, class := range part.classes {
			if tries := e.amountTries(part, class); tries != nil {
				all = append(all, change{explain.Relaxation{Change: "amount", Groups: part.suffixes(), Class: class, From: part.amount(class)}, tries})
			}
		}
	}
	one := func(shown explain.Relaxation, edit func(r *request)) {
		changed := e.request.clone()
		edit(changed)
		changed.tidy()
		all = append(all, change{shown, []try{{request: changed}}})
	}
	if e.request.hasGroup("") {
		for _, class := range e.request.group("").classes {
			if !slices.Contains(e.request.canSplit, class) {
				one(explain.Relaxation{Change: "can_split", Class: class}, func(r *request) { r.canSplit = append(r.canSplit, class) })
			}
		}
	}
	if e.request.policy == "isolate" {
		one(explain.Relaxation{Change: "replace", Value: "group_policy=none"}, func(r *request) { r.policy = "none" })
	}
	drop := func(groups []string, value string, edit func(r *request)) {
		if len(groups) < 2 {
			groups = nil
		}
		one(explain.Relaxation{Change: "drop", Groups: groups, Value: value}, edit)
	}
	e.dropSets(drop)
	e.dropQualities(drop)
	if excluded := e.request.notInTree; len(excluded) > 0 {
		drop(nil, "not_in_tree="+strings.Join(excluded, ","), func(r *request) { r.notInTree = nil })
	}
	e.dropRoot(drop)
	return all
}

// amountTries returns requests with a smaller amount of a class: amounts that providers can give which lack nothing else,
// then halves.
func (e *explainer) amountTries(part *explainedPart, class string) []try {
	rooms, halves := e.rooms(part, class), []int64(nil)
	rooms = rooms[:min(len(rooms), maxRooms)]
	for half := part.amount(class) / 2; half > 0; half /= 2 {
		if !slices.Contains(rooms, half) {
			halves = append(halves, half)
		}
	}
	var tries []try
	for _, amount := range slices.Concat(rooms, halves) {
		changed := e.request.clone()
		for _, suffix := range part.suffixes() {
			changed.group(suffix).resources[class] = amount
		}
		tries = append(tries, try{amount, changed})
	}
	return tries
}

// rooms returns the different amounts below that of a class that are all that is missing in some tree, the greatest first.
// Of a split class the providers of a tree give it together.
func (e *explainer) rooms(part *explainedPart, class string) []int64 {
	var rooms []int64
	for _, anchor := range e.anchors {
		isOtherUnmet := func(other *explainedPart) bool { return other != part && !e.isMetAt(other, anchor) }
		if e.isMetAt(part, anchor) || slices.ContainsFunc(e.parts, isOtherUnmet) {
			continue
		}
		if part.canSplit {
			rooms = append(rooms, e.splitSum(part, anchor))
			continue
		}
		for _, provider := range e.Providers {
			failsOther := func(s partStep) bool {
				return (s.class != class || s.kind == stepInventory) && !s.isMet(anchor, provider)
			}
			if e.reaches(anchor, provider) && !slices.ContainsFunc(part.steps, failsOther) {
				rooms = append(rooms, provider.gives(class, part.amount(class)))
			}
		}
	}
	slices.Sort(rooms)
	rooms = slices.DeleteFunc(slices.Compact(rooms), func(room int64) bool { return room == 0 || room >= part.amount(class) })
	slices.Reverse(rooms)
	return rooms
}

type dropFunc func(groups []string, value string, edit func(r *request))

func (e *explainer) dropSets(drop dropFunc) {
	for i, set := range e.request.isolated {
		drop(nil, "isolate="+strings.Join(set, ","), func(r *request) { r.isolated = slices.Delete(r.isolated, i, i+1) })
	}
	for i, set := range e.request.subtrees {
		drop(nil, "same_subtree="+set.String(), func(r *request) { r.subtrees = slices.Delete(r.subtrees, i, i+1) })
	}
}

// dropQualities drops one constraint of a group, and of those that are equal to it.
func (e *explainer) dropQualities(drop dropFunc) {
	each := func(of func(g *group, drop func(value string, edit func(g *group)))) {
		done := map[*group]bool{}
		for _, part := range e.parts {
			if done[part.groups[0]] {
				continue
			}
			done[part.groups[0]] = true
			of(part.groups[0], func(value string, edit func(g *group)) {
				drop(part.suffixes(), value, func(r *request) {
					for _, suffix := range part.suffixes() {
						edit(r.group(suffix))
					}
				})
			})
		}
	}
	each(func(g *group, drop func(string, func(*group))) {
		for _, anyOf := range g.required {
			text := strings.Join(sorted(anyOf), "|")
			drop("required"+g.suffix+"="+anyOfValue(anyOf), func(g *group) {
				g.required = slices.DeleteFunc(g.required, func(set []string) bool { return strings.Join(sorted(set), "|") == text })
			})
		}
		for _, trait := range g.forbidden {
			drop("required"+g.suffix+"=!"+trait, func(g *group) { g.forbidden = without(g.forbidden, trait) })
		}
	})
	each(func(g *group, drop func(string, func(*group))) {
		for _, anyOf := range g.memberOf {
			text := strings.Join(sorted(anyOf), "|")
			drop("member_of"+g.suffix+"="+anyOfValue(anyOf), func(g *group) {
				g.memberOf = slices.DeleteFunc(g.memberOf, func(set []string) bool { return strings.Join(sorted(set), "|") == text })
			})
		}
		if g.notMemberOf != nil {
			drop("member_of"+g.suffix+"=!"+anyOfValue(g.notMemberOf), func(g *group) { g.notMemberOf = nil })
		}
	})
	each(func(g *group, drop func(string, func(*group))) {
		if g.inTree != "" {
			drop("in_tree"+g.suffix+"="+g.inTree, func(g *group) { g.inTree = "" })
		}
	})
}

func (e *explainer) dropRoot(drop dropFunc) {
	for _, trait := range e.request.rootRequired {
		drop(nil, "root_required="+trait, func(r *request) { r.rootRequired = without(r.rootRequired, trait) })
	}
	for _, trait := range e.request.rootForbidden {
		drop(nil, "root_required=!"+trait, func(r *request) { r.rootForbidden = without(r.rootForbidden, trait) })
	}
	for i, anyOf := range e.request.rootMemberOf {
		drop(nil, "root_member_of="+anyOfValue(anyOf), func(r *request) { r.rootMemberOf = slices.Delete(r.rootMemberOf, i, i+1) })
	}
	if forbidden := e.request.rootNotMemberOf; forbidden != nil {
		drop(nil, "root_member_of=!"+anyOfValue(forbidden), func(r *request) { r.rootNotMemberOf = nil })
	}
}

// relaxations searches with each change, and returns those that give more candidates than the query.
func (e *explainer) relaxations(changes []change) []explain.Relaxation {
	base, _ := e.found(e.request)
	shown := []explain.Relaxation{}
	for _, each := range changes {
		for _, attempt := range each.tries {
			count, needs := e.found(attempt.request)
			if count <= base {
				continue
			}
			made := each.shown
			made.To, made.Candidates, made.More = attempt.to, count, count == maxRelaxation
			made.Query, made.Needs = attempt.request.queryText(), needs
			shown = append(shown, made)
			break
		}
	}
	return shown
}

// found returns the number of candidates of a request up to the limit of relaxations, and the extension that it needs beyond
// the version of the query.
func (e *explainer) found(r *request) (candidates int, needs string) {
	minor := e.minor
	if minor < Berth && r.needsExtensions() {
		minor, needs = Berth, "berth 1.1"
	}
	answer := e.Ask(r.queryText(), minor)
	if answer.Refused != "" {
		panic("a changed query is refused: " + r.queryText() + ": " + answer.Refused)
	}
	return min(answer.count(), maxRelaxation), needs
}

// count returns the number of candidates without a limit, but with that per tree.
func (answer *Response) count() int {
	if answer.LimitPerTree == 0 {
		return len(answer.Candidates)
	}
	known := map[string]bool{}
	for _, tree := range answer.trees {
		left := answer.LimitPerTree
		for _, candidate := range tree.candidates {
			if key := answer.key(candidate); left > 0 && !known[key] {
				known[key] = true
				left--
			}
		}
	}
	return len(known)
}
