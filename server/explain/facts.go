package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// maxCounted is how many providers a fact counts.
const maxCounted = 10_000

// thing is a single thing that the query asks for, in the format of ExplainFacts.
type thing struct {
	Class      *int32 `json:"class,omitempty"`
	Least      int64  `json:"least,omitempty"`
	Traits     string `json:"traits,omitempty"`
	Aggregates string `json:"aggregates,omitempty"`
	Roots      bool   `json:"roots,omitempty"`

	fact   Fact
	groups []int
	set    []string
}

// things returns all single things, each once, in the order of the question.
func (r *resolved) things() (all []thing) {
	add := func(one thing) {
		at := slices.IndexFunc(all, func(t thing) bool {
			return t.fact.Kind == one.fact.Kind && t.fact.Name == one.fact.Name && t.fact.Amount == one.fact.Amount
		})
		if at < 0 {
			all = append(all, one)
		}
	}
	for _, trait := range r.query.RootRequired {
		add(thing{Traits: list([]string{trait}, r.traits), Roots: true, set: []string{trait}, fact: Fact{Kind: "root_trait", Name: trait}})
	}
	for _, set := range r.query.RootMemberOf {
		add(thing{Aggregates: list(set, r.aggregates), Roots: true, fact: Fact{Kind: "root_aggregate", Name: nameOf(set)}})
	}
	for place := range r.query.Groups {
		group := &r.query.Groups[place]
		groups := r.equalGroups(place)
		for _, one := range group.Resources {
			id, least := r.classes[one.Class], one.Amount
			if group.Suffix == "" && slices.Contains(r.query.CanSplit, one.Class) {
				least = (least + 15) / 16
			}
			add(thing{Class: &id, Least: least, groups: groups, fact: Fact{Kind: "class", Name: one.Class, Amount: one.Amount}})
		}
		for _, set := range group.Required {
			add(thing{Traits: list(set, r.traits), groups: groups, set: set, fact: Fact{Kind: "trait", Name: strings.Join(set, ",")}})
		}
		for _, set := range group.MemberOf {
			add(thing{Aggregates: list(set, r.aggregates), groups: groups, fact: Fact{Kind: "aggregate", Name: nameOf(set)}})
		}
	}
	return all
}

// equalGroups returns the groups that ask for the same as one.
func (r *resolved) equalGroups(place int) []int {
	for _, one := range r.parts {
		if slices.Contains(one.groups, place) {
			return one.groups
		}
	}
	return []int{place}
}

func nameOf(set []uuid.UUID) string { return joined(set) }

// facts counts single things, and returns what cannot be met whatever is free.
func (e *explaining) facts(ctx context.Context) ([]Fact, []Conflict, Reason, error) {
	all := e.r.things()
	text, err := json.Marshal(all)
	if err != nil {
		return nil, nil, "", fmt.Errorf("encode facts: %w", err)
	}
	rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainFactsRow, error) {
		return e.queries.ExplainFacts(ctx, to, text)
	})
	if err != nil {
		return nil, nil, "", err
	}
	facts, conflicts, reason := []Fact{}, e.treeConflicts(), Reason("")
	for i, row := range rows {
		one := &all[i]
		one.fact.Providers, one.fact.More = min(row.Providers, maxCounted), row.Providers > maxCounted
		if one.Class != nil {
			if err := e.classFact(ctx, one, &row); err != nil {
				return nil, nil, "", err
			}
		}
		if reason == "" {
			reason = reasonOf(&one.fact)
		}
		conflict, err := e.conflictOf(ctx, one)
		if err != nil {
			return nil, nil, "", err
		}
		facts = append(facts, one.fact)
		if conflict != nil {
			conflicts = append(conflicts, *conflict)
		}
	}
	return facts, conflicts, reason, nil
}

// classFact fills the fact of a class.
func (e *explaining) classFact(ctx context.Context, one *thing, row *db.ExplainFactsRow) error {
	withRoom, most := min(row.WithRoom, maxCounted), max(0, row.MostRoom)
	one.fact.WithRoom, one.fact.MostRoom = &withRoom, &most
	one.fact.More = one.fact.More || row.WithRoom > maxCounted
	if withRoom > 0 {
		return nil
	}
	largest, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (float64, error) {
		return e.queries.ExplainLargest(ctx, to, *one.Class)
	})
	whole := int64(largest)
	one.fact.Largest = &whole
	return err
}

// reasonOf returns the reason that a fact gives, empty for none.
func reasonOf(fact *Fact) Reason {
	switch {
	case fact.Kind == "class" && *fact.WithRoom == 0:
		return Amount
	case fact.Providers > 0 || fact.Kind == "class":
		return ""
	case fact.Kind == "trait":
		return Trait
	case fact.Kind == "aggregate":
		return Aggregate
	}
	return Root
}

// treeConflicts returns the trees of in_tree that do not exist, and root aggregates that are wanted and forbidden.
func (e *explaining) treeConflicts() []Conflict {
	conflicts := []Conflict{}
	for _, one := range e.r.parts {
		if one.inTree != nil && e.r.trees[*one.inTree] < 0 {
			conflicts = append(conflicts, Conflict{Conflict: "in_tree_unknown", Groups: e.r.suffixes(one.groups), Name: one.inTree.String()})
		}
	}
	return conflicts
}

// conflictOf returns the conflict of a thing, nil for none.
func (e *explaining) conflictOf(ctx context.Context, one *thing) (*Conflict, error) {
	made := &Conflict{Groups: e.r.suffixes(one.groups), Name: one.fact.Name}
	switch fact := &one.fact; {
	case fact.Kind == "class" && fact.Providers == 0:
		made.Conflict = "class_not_offered"
	case fact.Kind == "class" && fact.Largest != nil && *fact.Largest < one.Least:
		made.Conflict, made.Amount, made.Largest = "amount_too_large", fact.Amount, fact.Largest
		return made, nil
	case fact.Providers > 0 || fact.Kind == "class":
		return nil, nil
	case fact.Kind == "trait" || fact.Kind == "root_trait":
		made.Conflict = fact.Kind + "_unused"
	default:
		made.Conflict = fact.Kind + "_empty"
		return made, nil
	}
	inUse, err := e.namesInUse(ctx)
	if err != nil {
		return nil, err
	}
	known := inUse.Traits
	if one.Class != nil {
		known = inUse.Classes
	}
	made.Similar = similar(strings.Split(one.fact.Name, ",")[0], known)
	return made, nil
}

// namesInUse returns the names of offered classes and of traits that a provider has.
func (e *explaining) namesInUse(ctx context.Context) (*db.ExplainNamesInUseRow, error) {
	if e.inUse != nil {
		return e.inUse, nil
	}
	found, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (db.ExplainNamesInUseRow, error) {
		return e.queries.ExplainNamesInUse(ctx, to)
	})
	e.inUse = &found
	return e.inUse, err
}
