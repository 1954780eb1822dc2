package bruteforce

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// The kinds of facts.
const (
	factRootTrait     = "root_trait"
	factRootAggregate = "root_aggregate"
	factClass         = "class"
	factTrait         = "trait"
	factAggregate     = "aggregate"
)

// wantedThing is a single thing that a query asks for.
type wantedThing struct {
	kind, name string
	// anyOf are the traits or the aggregates.
	anyOf []string
	// amount is that of a class, needed what a provider must have of it: of a split class a sixteenth.
	amount, needed int64
	groups         []string
	isAt           func(p *Provider) bool
}

func (t *wantedThing) reason() explain.Reason {
	return map[string]explain.Reason{
		factRootTrait: explain.Root, factRootAggregate: explain.Root, factClass: explain.Amount, factTrait: explain.Trait,
		factAggregate: explain.Aggregate,
	}[t.kind]
}

// wantedThings returns what a query asks for, in its order, each once.
func (e *explainer) wantedThings() []*wantedThing {
	var things []*wantedThing
	add := func(made wantedThing, suffix ...string) {
		isSame := func(t *wantedThing) bool {
			return t.kind == made.kind && t.name == made.name && t.amount == made.amount && t.needed == made.needed
		}
		at := slices.IndexFunc(things, isSame)
		if at < 0 {
			at, things = len(things), append(things, &made)
		}
		things[at].groups = unique(append(things[at].groups, suffix...))
	}
	for _, trait := range e.request.rootRequired {
		add(wantedTrait(factRootTrait, []string{trait}))
	}
	for _, anyOf := range e.request.rootMemberOf {
		add(wantedAggregate(factRootAggregate, anyOf))
	}
	for _, g := range e.request.groups {
		for _, class := range g.classes {
			amount := g.resources[class]
			needed := e.orderAmount(g, class)
			add(wantedThing{kind: factClass, name: class, amount: amount, needed: needed, isAt: func(p *Provider) bool {
				return p.free(class) >= needed
			}}, g.suffix)
		}
		for _, anyOf := range g.required {
			add(wantedTrait(factTrait, anyOf), g.suffix)
		}
		for _, anyOf := range g.memberOf {
			add(wantedAggregate(factAggregate, anyOf), g.suffix)
		}
	}
	return things
}

func wantedTrait(kind string, anyOf []string) wantedThing {
	return wantedThing{kind: kind, name: strings.Join(anyOf, ","), anyOf: anyOf,
		isAt: func(p *Provider) bool { return slices.ContainsFunc(anyOf, p.hasTrait) }}
}

func wantedAggregate(kind string, anyOf []string) wantedThing {
	return wantedThing{kind: kind, name: strings.Join(anyOf, ","), anyOf: anyOf,
		isAt: func(p *Provider) bool { return p.isInAnyOf(anyOf) }}
}

func (e *explainer) facts() []explain.Fact {
	shown := []explain.Fact{}
	for _, thing := range e.wanted {
		shown = append(shown, e.fact(thing))
	}
	return shown
}

func (e *explainer) fact(thing *wantedThing) explain.Fact {
	fact := explain.Fact{Kind: thing.kind, Name: thing.name, Providers: countOf(e.Providers, thing.isAt)}
	switch thing.kind {
	case factRootTrait, factRootAggregate:
		fact.Providers = countOf(e.Roots(), thing.isAt)
	case factClass:
		withRoom, mostRoom, largest := fact.Providers, int64(0), int64(0)
		fact.Providers = 0
		for _, provider := range e.Providers {
			if inventory, exists := provider.Inventories[thing.name]; exists {
				fact.Providers++
				mostRoom = max(mostRoom, provider.free(thing.name))
				largest = max(largest, int64(min(float64(inventory.MaxUnit), inventory.capacity())))
			}
		}
		fact.Amount, fact.WithRoom, fact.MostRoom = thing.amount, &withRoom, &mostRoom
		if withRoom == 0 {
			fact.Largest = &largest
		}
	}
	return fact
}

// conflicts returns what cannot be met whatever is free: unknown trees, then the wanted things, then isolated groups.
func (e *explainer) conflicts() []explain.Conflict {
	shown := []explain.Conflict{}
	for _, g := range e.request.groups {
		if g.inTree == "" || e.Find(g.inTree) != nil {
			continue
		}
		isSame := func(c explain.Conflict) bool { return c.Name == g.inTree }
		if at := slices.IndexFunc(shown, isSame); at >= 0 {
			shown[at].Groups = append(shown[at].Groups, g.suffix)
		} else {
			shown = append(shown, explain.Conflict{Conflict: "in_tree_unknown", Groups: []string{g.suffix}, Name: g.inTree})
		}
	}
	for _, thing := range e.wanted {
		shown = append(shown, e.conflictsOf(thing)...)
	}
	return append(shown, e.isolationConflicts()...)
}

func (e *explainer) conflictsOf(thing *wantedThing) []explain.Conflict {
	fact, made := e.fact(thing), explain.Conflict{Groups: thing.groups, Name: thing.name}
	isUnavailable := fact.Providers == 0
	switch {
	case thing.kind == factClass && isUnavailable:
		made.Conflict, made.Similar = "class_not_offered", Similar([]string{thing.name}, e.offeredClasses())
	case thing.kind == factClass && fact.Largest != nil && *fact.Largest < thing.needed:
		made.Conflict, made.Amount, made.Largest = "amount_too_large", thing.amount, fact.Largest
	case thing.kind == factTrait && isUnavailable:
		made.Conflict, made.Similar = "trait_unused", Similar(thing.anyOf, e.usedTraits())
	case thing.kind == factRootTrait && isUnavailable:
		made.Conflict, made.Similar = "root_trait_unused", Similar(thing.anyOf, e.usedTraits())
	case thing.kind == factAggregate && isUnavailable:
		made.Conflict = "aggregate_empty"
	case thing.kind == factRootAggregate:
		return e.rootAggregateConflicts(thing, made, isUnavailable)
	default:
		return nil
	}
	return []explain.Conflict{made}
}

func (e *explainer) rootAggregateConflicts(thing *wantedThing, made explain.Conflict, isEmpty bool) []explain.Conflict {
	var found []explain.Conflict
	if isEmpty {
		made.Conflict = "root_aggregate_empty"
		found = append(found, made)
	}
	if isSubset(thing.anyOf, e.request.rootNotMemberOf) {
		made.Conflict = "root_aggregate_forbidden"
		found = append(found, made)
	}
	return found
}

func (e *explainer) offeredClasses() []string {
	var all []string
	for _, provider := range e.Providers {
		for class := range provider.Inventories {
			all = append(all, class)
		}
	}
	return sorted(all)
}

func (e *explainer) usedTraits() []string {
	var all []string
	for _, provider := range e.Providers {
		all = append(all, provider.Traits...)
	}
	return sorted(all)
}

// isolationConflicts returns the sets of equal groups that need more providers than any tree has for them.
func (e *explainer) isolationConflicts() []explain.Conflict {
	var found []explain.Conflict
	for _, part := range e.parts {
		sets := e.request.isolated
		if e.request.policy == "isolate" {
			sets = [][]string{part.suffixes()}
		}
		for _, set := range sets {
			apart := slices.DeleteFunc(part.suffixes(), func(suffix string) bool { return !slices.Contains(set, suffix) })
			isKnown := func(c explain.Conflict) bool { return slices.Equal(c.Groups, apart) }
			largest := 0
			for _, anchor := range e.anchors {
				largest = max(largest, len(e.servers(part, anchor)))
			}
			if amount := len(apart); amount > 1 && largest < amount && !slices.ContainsFunc(found, isKnown) {
				most := int64(largest)
				found = append(found, explain.Conflict{Conflict: "isolated_groups", Groups: apart, Amount: int64(amount), Largest: &most})
			}
		}
	}
	return found
}
