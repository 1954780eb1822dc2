package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// wordBits is how many conditions one word has.
const wordBits = 62

// resolvedQuery is a query with ids instead of names.
type resolvedQuery struct {
	*parsedQuery
	classes, traits map[string]int32
	aggregates      map[uuid.UUID]int32
	trees           map[uuid.UUID]int64
	sharing         bool
	encoded         json.RawMessage
	classIDs        []int32
}

// resolve looks up all names of a query.
func (q *parsedQuery) resolve(ctx context.Context, queries *db.Queries, in *postgres.Snapshot) (*resolvedQuery, error) {
	r := &resolvedQuery{parsedQuery: q, classes: map[string]int32{}, traits: map[string]int32{}, aggregates: map[uuid.UUID]int32{}, trees: map[uuid.UUID]int64{}}
	asked := db.CandidateNamesParams{Classes: []string{}, Traits: []string{}, Aggregates: []uuid.UUID{}, Trees: slices.Concat([]uuid.UUID{}, q.query.NotInTree)}
	for i := range q.parts {
		for _, amount := range q.parts[i].amounts {
			asked.Classes = append(asked.Classes, amount.Class)
		}
		if q.parts[i].inTree != nil {
			asked.Trees = append(asked.Trees, *q.parts[i].inTree)
		}
	}
	for _, condition := range q.conditions {
		asked.Traits = append(append(asked.Traits, slices.Concat(condition.traits...)...), condition.forbiddenTrait)
		asked.Aggregates = append(append(asked.Aggregates, slices.Concat(condition.aggregates...)...), condition.forbiddenAggregates...)
	}
	found, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, to db.DBTX) (db.CandidateNamesRow, error) {
		return queries.CandidateNames(ctx, to, asked)
	})
	if err != nil {
		return nil, err
	}
	fill(r.classes, asked.Classes, found.ClassIds)
	fill(r.traits, asked.Traits, found.TraitIds)
	fill(r.aggregates, asked.Aggregates, found.AggregateIds)
	fill(r.trees, asked.Trees, found.TreeIds)
	r.sharing = found.Sharing
	for _, id := range r.classes {
		r.classIDs = append(r.classIDs, id)
	}
	r.encoded = r.encode()
	return r, nil
}

func fill[K comparable, V any](to map[K]V, names []K, ids []V) {
	for i, name := range names {
		to[name] = ids[i]
	}
}

// encodedCondition is a condition in the format of ExplainPage.
type encodedCondition struct {
	Word        int    `json:"word"`
	Bit         int64  `json:"bit"`
	RequiredAny string `json:"required_any,omitempty"`
	Forbidden   string `json:"forbidden,omitempty"`
	MemberOfToo string `json:"member_of_too,omitempty"`
	NotMemberOf string `json:"not_member_of,omitempty"`
}

func (r *resolvedQuery) encode() json.RawMessage {
	all := []encodedCondition{}
	for i, condition := range r.conditions {
		result := encodedCondition{Word: i / wordBits, Bit: 1 << (i % wordBits)}
		if len(condition.traits) > 0 {
			result.RequiredAny = sets(condition.traits, r.traits)
		}
		if condition.forbiddenTrait != "" {
			result.Forbidden = list([]string{condition.forbiddenTrait}, r.traits)
		}
		if len(condition.aggregates) > 0 {
			result.MemberOfToo = sets(condition.aggregates, r.aggregates)
		}
		if len(condition.forbiddenAggregates) > 0 {
			result.NotMemberOf = list(condition.forbiddenAggregates, r.aggregates)
		}
		all = append(all, result)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(fmt.Sprintf("encode conditions: %v", err)) // numbers and strings
	}
	return text
}

// list returns the ids of some names as an int[] of PostgreSQL.
func list[K comparable](names []K, ids map[K]int32) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = strconv.Itoa(int(ids[name]))
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// sets returns a text[] of such lists.
func sets[K comparable](all [][]K, ids map[K]int32) string {
	texts := make([]string, len(all))
	for i, set := range all {
		texts[i] = `"` + list(set, ids) + `"`
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// page is some trees with the providers that they can use.
type page struct {
	nodes map[int64]*node
	// own are the providers of each root, reached the sharing ones that it can use.
	own     map[int64][]*node
	reached map[int64][]int64
}

// read reads a page of trees.
func (r *resolvedQuery) read(ctx context.Context, queries *db.Queries, in *postgres.Snapshot, roots []int64) (*page, error) {
	rows, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, to db.DBTX) ([]db.ExplainPageRow, error) {
		return queries.ExplainPage(ctx, to, db.ExplainPageParams{
			Conditions: r.encoded, Roots: roots, Sharing: r.sharing, Classes: append([]int32{}, r.classIDs...),
		})
	})
	if err != nil {
		return nil, err
	}
	p := &page{nodes: map[int64]*node{}, own: map[int64][]*node{}, reached: map[int64][]int64{}}
	for i := range rows {
		if row := &rows[i]; row.Uuid != nil {
			result := &node{id: *row.ID, root: *row.RootID, name: Provider{*row.Uuid, *row.Name}, met: row.Met, stock: map[int32]*db.ExplainPageRow{}}
			p.nodes[result.id] = result
			p.own[result.root] = append(p.own[result.root], result)
		}
	}
	for i := range rows {
		switch row := &rows[i]; {
		case row.ClassID != nil:
			p.nodes[*row.ID].stock[*row.ClassID] = row
		case row.ID == nil:
			for pairs := row.Reached; len(pairs) > 0; pairs = pairs[2:] {
				p.reached[pairs[0]] = append(p.reached[pairs[0]], pairs[1])
			}
		}
	}
	return p, nil
}

// usable returns the providers that a root can use, in the order of their ids.
func (p *page) usable(root int64) []*node {
	all := slices.Clone(p.own[root])
	for _, id := range p.reached[root] {
		if node := p.nodes[id]; node != nil && node.root != root {
			all = append(all, node)
		}
	}
	slices.SortFunc(all, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	return all
}

// KindNames is the kind of explanations of names that do not exist.
const KindNames = "names"

// Names is the explanation of a query with names that do not exist.
type Names struct {
	Kind      string     `json:"kind"`
	Conflicts []Conflict `json:"conflicts"`
	// Incomplete reports that some conflicts have no similar names.
	Incomplete bool `json:"incomplete,omitempty"`
}

// The conflicts of names that do not exist.
const (
	ClassUnknown = "class_unknown"
	TraitUnknown = "trait_unknown"
)

// AddSimilar adds the names to each conflict that exist and are similar to its name. It returns the error of the context if
// that ends before; the rest of the conflicts has no similar names then.
func AddSimilar(ctx context.Context, conflicts []Conflict, existing []string) error {
	for i := range conflicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		conflicts[i].Similar = similarToAny([]string{conflicts[i].Name}, existing)
	}
	return nil
}
