package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// maxCounted is how many providers a fact counts.
const maxCounted = 10_000

// thing is a single thing that the query asks for, in the format of ExplainFacts.
type thing struct {
	Class      *int32 `json:"class,omitempty"`
	Least      int64  `json:"least,omitempty"`
	Traits     string `json:"traits,omitempty"`
	Aggregates string `json:"aggregates,omitempty"`

	fact   Fact
	groups []int
	// anyOf are the traits of one, of which a provider needs one.
	anyOf []string
	// isForbidden is true for root aggregates all of which are forbidden too.
	ofRoot, isForbidden bool
}

// things returns all single things, each once, in the order of the query.
func (r *resolvedQuery) things() (all []thing) {
	add := func(item thing) {
		at := slices.IndexFunc(all, func(t thing) bool {
			return t.fact.Kind == item.fact.Kind && t.fact.Name == item.fact.Name && t.fact.Amount == item.fact.Amount && t.Least == item.Least
		})
		if at < 0 {
			all = append(all, item)
			return
		}
		for _, place := range item.groups { // a group can repeat a parameter
			if !slices.Contains(all[at].groups, place) {
				all[at].groups = append(all[at].groups, place)
			}
		}
	}
	for _, trait := range r.query.RootRequired {
		thing := r.traitThing([]string{trait}, "root_trait")
		thing.ofRoot = true
		add(thing)
	}
	for _, set := range r.query.RootMemberOf {
		isForbidden := func(id uuid.UUID) bool { return slices.Contains(r.query.RootNotMemberOf, id) }
		add(thing{
			Aggregates: list(set, r.aggregates), ofRoot: true, fact: Fact{Kind: "root_aggregate", Name: joined(set)},
			isForbidden: !slices.ContainsFunc(set, func(id uuid.UUID) bool { return !isForbidden(id) }),
		})
	}
	for place := range r.query.Groups {
		r.addThings(place, add)
	}
	return all
}

// addThings adds those of a group.
func (r *resolvedQuery) addThings(place int, add func(thing)) {
	group, groups := &r.query.Groups[place], []int{place}
	for _, resource := range group.Resources {
		id, least := r.classes[resource.Class], resource.Amount
		if group.Suffix == "" && slices.Contains(r.query.CanSplit, resource.Class) {
			least = (least + 15) / 16
		}
		add(thing{Class: &id, Least: least, groups: groups, fact: Fact{Kind: "class", Name: resource.Class, Amount: resource.Amount}})
	}
	for _, set := range group.Required {
		thing := r.traitThing(set, "trait")
		thing.groups = groups
		add(thing)
	}
	for _, set := range group.MemberOf {
		add(thing{Aggregates: list(set, r.aggregates), groups: groups, fact: Fact{Kind: "aggregate", Name: joined(set)}})
	}
}

func (r *resolvedQuery) traitThing(set []string, kind string) thing {
	return thing{Traits: list(set, r.traits), anyOf: set, fact: Fact{Kind: kind, Name: strings.Join(set, ",")}}
}

// encodedThings returns things in the format of ExplainFacts.
func encodedThings(all []thing) json.RawMessage {
	text, err := json.Marshal(all)
	if err != nil {
		panic(fmt.Sprintf("encode facts: %v", err)) // numbers and strings
	}
	return text
}

// addFacts counts single things, and adds what cannot be met whatever is free.
func (e *explanationBuilder) addFacts(ctx context.Context) error {
	all := e.r.things()
	rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainFactsRow, error) {
		return e.queries.ExplainFacts(ctx, to, encodedThings(all))
	})
	if err != nil {
		return err
	}
	facts := []Fact{}
	conflicts := e.treeConflicts()
	for i, row := range rows {
		thing := &all[i]
		thing.fact.Providers, thing.fact.More = min(row.Providers, maxCounted), row.Providers > maxCounted
		if thing.ofRoot {
			thing.fact.Providers = row.Roots
		}
		if thing.Class != nil {
			if err := e.classFact(ctx, thing, &row); err != nil {
				return err
			}
		}
		if e.missing == "" {
			if e.missing = reasonOf(thing, &row); e.missing != "" {
				e.unavailable = thing
			}
		}
		found, err := e.conflictsOf(ctx, thing)
		if err != nil {
			return err
		}
		facts, conflicts = append(facts, thing.fact), append(conflicts, found...)
	}
	e.explanation.Facts, e.explanation.Conflicts = facts, conflicts
	return nil
}

// classFact fills the fact of a class.
func (e *explanationBuilder) classFact(ctx context.Context, item *thing, row *db.ExplainFactsRow) error {
	withRoom, most := min(row.WithRoom, maxCounted), max(0, row.MostRoom)
	item.fact.WithRoom, item.fact.MostRoom = &withRoom, &most
	item.fact.More = item.fact.More || row.WithRoom > maxCounted
	if withRoom > 0 {
		return nil
	}
	largest, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (float64, error) {
		return e.queries.ExplainLargest(ctx, to, *item.Class)
	})
	whole := max(0, int64(largest))
	item.fact.Largest = &whole
	return err
}

// reasonOf returns the reason if no provider has a thing, wherever it is; empty otherwise.
func reasonOf(item *thing, row *db.ExplainFactsRow) Reason {
	switch {
	case item.Class != nil && row.WithRoom == 0:
		return Amount
	case item.Class != nil || row.Providers > 0:
		return ""
	case item.ofRoot:
		return Root
	case item.Traits != "":
		return Trait
	}
	return Aggregate
}

// treeConflicts returns the trees of in_tree that do not exist.
func (e *explanationBuilder) treeConflicts() []Conflict {
	conflicts := []Conflict{}
	for place := range e.r.query.Groups {
		group := &e.r.query.Groups[place]
		if group.InTree == nil || e.r.trees[*group.InTree] >= 0 {
			continue
		}
		name := group.InTree.String()
		at := slices.IndexFunc(conflicts, func(c Conflict) bool { return c.Name == name })
		if at < 0 {
			at, conflicts = len(conflicts), append(conflicts, Conflict{Conflict: "in_tree_unknown", Name: name})
		}
		conflicts[at].Groups = append(conflicts[at].Groups, group.Suffix)
	}
	return conflicts
}

// conflictsOf returns the conflicts of a thing.
func (e *explanationBuilder) conflictsOf(ctx context.Context, item *thing) (conflicts []Conflict, err error) {
	fact := &item.fact
	conflict := Conflict{Groups: e.r.suffixes(item.groups), Name: fact.Name}
	switch {
	case item.Class != nil && fact.Providers == 0:
		conflict.Conflict = "class_not_offered"
	case fact.Largest != nil && *fact.Largest < item.Least:
		conflict.Conflict, conflict.Amount, conflict.Largest = "amount_too_large", fact.Amount, fact.Largest
	case item.Class == nil && fact.Providers == 0 && item.Traits != "":
		conflict.Conflict = fact.Kind + "_unused"
	case item.Class == nil && fact.Providers == 0:
		conflict.Conflict = fact.Kind + "_empty"
	}
	if conflict.Conflict == "class_not_offered" || item.Traits != "" && conflict.Conflict != "" {
		inUse, err := e.namesInUse(ctx)
		if err != nil {
			return nil, err
		}
		conflict.Similar = similarToAny(item.anyOf, inUse.Traits)
		if item.Class != nil {
			conflict.Similar = similarToAny([]string{fact.Name}, inUse.Classes)
		}
	}
	if conflict.Conflict != "" {
		conflicts = append(conflicts, conflict)
	}
	if item.isForbidden {
		conflict.Conflict = "root_aggregate_forbidden"
		conflicts = append(conflicts, conflict)
	}
	return conflicts, nil
}

// namesInUse returns the names of offered classes and of traits that a provider has.
func (e *explanationBuilder) namesInUse(ctx context.Context) (*db.ExplainNamesInUseRow, error) {
	if e.inUse != nil {
		return e.inUse, nil
	}
	found, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (db.ExplainNamesInUseRow, error) {
		return e.queries.ExplainNamesInUse(ctx, to)
	})
	e.inUse = &found
	return e.inUse, err
}
