package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

// Explainer explains candidate queries.
type Explainer struct {
	search  *candidates.Search
	queries *db.Queries
	// maxWalk is the time in which trees are judged; 0: half of that of the explanation. Tests set it.
	maxWalk time.Duration
	// maxFits is the time for fits_at; 0: a part of that of the explanation before, negative: it is left out. Tests set it.
	maxFits time.Duration
}

// New returns an explainer that tries changed queries with a search.
func New(search *candidates.Search) *Explainer { return &Explainer{search: search, queries: db.New()} }

// ExplainedQuery is a query that is explained, with what its search found.
type ExplainedQuery struct {
	Query candidates.Query
	// Isolate and SameSubtree are the values of these parameters, as the client wrote them: one for each set of the query.
	Isolate, SameSubtree []string
	// HasPolicy is true if the query has a group_policy.
	HasPolicy bool
	// Found is how many candidates the search found in the snapshot of the explanation.
	Found int
	// FreesConsumers adds which consumers must go so that the query fits in the nearest trees, and sorts these by it, and when it
	// fits because of the ends of consumers: berth 1.6.
	FreesConsumers bool
	// Reason is why it found none, if that is known. An explanation that cannot find out has it.
	Reason Reason
}

// explanationBuilder is an explanation while it is made.
type explanationBuilder struct {
	*Explainer
	*ExplainedQuery
	r     *resolvedQuery
	in    *postgres.Snapshot
	tally *tally
	inUse *db.ExplainNamesInUseRow
	// missing is the reason of the first single thing that no provider has, and unavailable that thing.
	missing     Reason
	unavailable *thing
	// inTree is how many anchors in_tree leaves, notInTree how many of these not_in_tree leaves; -1 without them.
	inTree, notInTree int64
	stages            []combination
	// givenUp are the trees whose search for a candidate was given up at some stage.
	givenUp map[int64]bool
	// walkEnd and end are the times at which the walk and the whole explanation end.
	walkEnd, end time.Time
	explanation  Explanation
}

// An explanation may take a tenth of its time longer, and at least leastGrace, before its statement is canceled.
const (
	graceDivisor = 10
	leastGrace   = 50 * time.Millisecond
)

// Explain explains a query in the snapshot of its search, in at most the given time. What is not complete by then is
// missing, and the explanation says so. After an error of the database, the explanation has what was complete before, at
// least its short form; the error is for the log.
func (x *Explainer) Explain(ctx context.Context, in *postgres.Snapshot, query *ExplainedQuery, limit time.Duration) (*Explanation, error) {
	begun := time.Now()
	e := &explanationBuilder{Explainer: x, ExplainedQuery: query, in: in, walkEnd: begun.Add(cmp.Or(x.maxWalk, limit/2)), end: begun.Add(limit), inTree: -1, notInTree: -1, givenUp: map[int64]bool{}}
	e.explanation.Kind = "candidates"
	bounded, cancel := context.WithDeadline(ctx, e.end.Add(max(limit/graceDivisor, leastGrace)))
	defer cancel()
	err := e.explain(bounded, begun)
	if err != nil || len(e.givenUp) > 0 {
		e.explanation.Incomplete = true
	}
	if e.explanation.Reason == "" {
		e.explanation.Reason = e.reason()
	}
	e.explanation.Summary = e.summary()
	took, now := time.Since(begun).Milliseconds(), time.Now().UTC()
	e.explanation.MadeAt, e.explanation.TookMS = &now, &took
	return &e.explanation, err
}

// explain fills the explanation, which has begun at a time, member by member.
func (e *explanationBuilder) explain(ctx context.Context, begun time.Time) (err error) {
	if e.r, err = newParsedQuery(&e.Query).resolve(ctx, e.queries, e.in); err != nil {
		return err
	}
	if err := e.addFacts(ctx); err != nil {
		return err
	}
	e.stages = e.r.combinationStages()
	e.tally = newTally(e.r, len(e.stages))
	e.tally.sortsEmptied = e.FreesConsumers
	if e.FreesConsumers && e.Found == 0 && e.maxFits >= 0 {
		e.tally.keepsFull, e.tally.shared = true, e.r.sharedAmounts()
	}
	walked := e.walk(ctx)
	if walked != nil && e.tally.strata[sampled].all == 0 {
		return walked // the judged trees, if any, stand for no others
	}
	e.addSample()
	e.explanation.Funnel, e.explanation.Parts = e.funnel(), e.parts()
	e.addIsolatedConflicts()
	if e.FreesConsumers && walked == nil && e.Found == 0 {
		if walked = e.addFreedBy(ctx); walked == nil && e.maxFits >= 0 {
			walked = e.addFitsAt(ctx, begun)
		}
	}
	e.tally.nearest = e.tally.nearest[:min(len(e.tally.nearest), nearestTrees)]
	e.explanation.Nearest = e.nearest()
	e.explanation.Reason = e.reason()
	if walked != nil {
		return walked
	}
	return e.relax(ctx)
}

// reason returns the reason of the explanation.
func (e *explanationBuilder) reason() Reason {
	switch {
	case e.Found > 0:
		return Fits
	case e.explanation.Facts != nil && slices.ContainsFunc(e.explanation.Conflicts, isUnknownTree):
		return InTree
	case e.missing != "" && !e.r.namesTrees():
		return e.missing
	case e.explanation.Funnel == nil:
		return cmp.Or(e.Reason, NoTree)
	case e.tally.met() > 0:
		return Together
	}
	return NoTree
}

// isUnknownTree reports whether a conflict is about a tree that does not exist.
func isUnknownTree(c Conflict) bool { return c.Conflict == "in_tree_unknown" }

// FreedBy is which consumers must go so that the whole query fits in a tree; null: it does not fit even if all go.
type FreedBy struct {
	*FreedSet
	// IsKnown is false if the member is missing.
	IsKnown bool
}

// FreedSet is consumers without which the whole query fits in a tree.
type FreedSet struct {
	Consumers []FreedConsumer `json:"consumers" doc:"The consumers, with the largest amounts first."`
	Exact     bool            `json:"exact" doc:"Whether no smaller set is enough, and no set of so many consumers with a smaller sum of amounts. False if the server has not compared all sets."`
}

// FreedConsumer is a consumer, and what it holds of what the query lacks.
type FreedConsumer struct {
	Consumer    uuid.UUID         `json:"consumer" format:"uuid" doc:"UUID of the consumer."`
	Allocations []FreedAllocation `json:"allocations" doc:"What the consumer holds of the amounts that the query lacks in the tree."`
}

// FreedAllocation is an amount that a consumer holds.
type FreedAllocation struct {
	Provider Provider `json:"provider" doc:"The provider of the allocation."`
	Class    string   `json:"class" doc:"Resource class of the allocation."`
	Amount   int64    `json:"amount" doc:"Allocated amount."`
}

// FitsAt is when the query fits; null: it does not fit even when all consumers with an end are gone.
type FitsAt struct {
	*Fit
	// IsKnown is false if the member is missing.
	IsKnown bool
}

// Fit is the first time at which the query has a candidate.
type Fit struct {
	At        time.Time     `json:"at" doc:"Time at which the last of the consumers ends."`
	Exact     bool          `json:"exact" doc:"Whether the query fits at no earlier time. False if the server has not compared all trees and times."`
	Tree      Provider      `json:"tree" doc:"The root of a tree in which the query fits then."`
	Consumers []FitConsumer `json:"consumers" doc:"At most 20 consumers that must end before, those first that end last."`
	More      int           `json:"more,omitempty" doc:"How many further consumers must end before; missing if there are none."`
}

// FitConsumer is a consumer with an end, and what it holds of what the query lacks.
type FitConsumer struct {
	Consumer    uuid.UUID         `json:"consumer" format:"uuid" doc:"UUID of the consumer."`
	Until       time.Time         `json:"until" doc:"Time at which the consumer is removed."`
	Allocations []FreedAllocation `json:"allocations" doc:"What the consumer holds of the amounts that the query lacks in the tree."`
}

// MarshalJSON returns the time, or null.
func (f FitsAt) MarshalJSON() ([]byte, error) { return json.Marshal(f.Fit) }

// UnmarshalJSON reads a time, or null.
func (f *FitsAt) UnmarshalJSON(text []byte) error {
	f.IsKnown = true
	return json.Unmarshal(text, &f.Fit)
}

// IsZero reports whether the member is missing.
func (f FitsAt) IsZero() bool { return !f.IsKnown }

// Schema implements huma.SchemaProvider.
func (FitsAt) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[Fit](), true, ""), {Type: "null"}}}
}

// MarshalJSON returns the set, or null.
func (f FreedBy) MarshalJSON() ([]byte, error) { return json.Marshal(f.FreedSet) }

// UnmarshalJSON reads a set, or null.
func (f *FreedBy) UnmarshalJSON(text []byte) error {
	f.IsKnown = true
	return json.Unmarshal(text, &f.FreedSet)
}

// IsZero reports whether the member is missing.
func (f FreedBy) IsZero() bool { return !f.IsKnown }

// Schema implements huma.SchemaProvider.
func (FreedBy) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[FreedSet](), true, ""), {Type: "null"}}}
}
