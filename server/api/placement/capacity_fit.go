package placement

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// CapacityFitQuery asks how many more of something fit.
type CapacityFitQuery struct {
	Query    ClaimQuery          `json:"query" doc:"What each member asks for. Its order has no effect."`
	Count    *capacityFitCount   `json:"count,omitempty" nullable:"false" doc:"Number of members at which the search ends. Default: 100."`
	Relation *ClaimRelation      `json:"relation,omitempty" nullable:"false" doc:"How the places of the members relate."`
	Changes  []CapacityFitChange `json:"changes,omitempty" nullable:"false" minItems:"1" maxItems:"32" doc:"Changes of the hardware, in their order. They are made in memory and never written."`
}

// CapacityFit is how many members fit.
type CapacityFit struct {
	CapacityFitCount
	Trees     CapacityFitTrees                   `json:"trees" doc:"The searched trees."`
	EndsFirst *string                            `json:"ends_first" nullable:"true" doc:"The resource class with the smallest limit; null unless all trees were searched." example:"MEMORY_MB"`
	Resources jsonbody.Ordered[CapacityFitClass] `json:"resources" doc:"What the members use, by resource class."`
	Before    *CapacityFitBefore                 `json:"before,omitempty" nullable:"false" doc:"The answer without the changes; only with changes."`
}

// CapacityFitCount is the number of members that fit.
type CapacityFitCount struct {
	Fit     int64  `json:"fit" doc:"Number of members for which the search has found places: a claim for so many would have succeeded." example:"21"`
	AtMost  *int64 `json:"at_most" nullable:"true" doc:"Upper bound of the number of members; null unless all trees were searched." example:"21"`
	Exact   bool   `json:"exact" doc:"Whether fit equals at_most."`
	Stopped string `json:"stopped" enum:"all,count,budget,time" doc:"Why the search ended: it has searched all trees that can have a place, found as many places as requested, tried the maximum number of combinations, or reached the time limit."`
}

// CapacityFitBefore is the answer without the changes.
type CapacityFitBefore struct {
	CapacityFitCount
	EndsFirst *string `json:"ends_first" nullable:"true" doc:"The resource class with the smallest limit; null unless all trees were searched." example:"MEMORY_MB"`
}

// CapacityFitTrees counts trees.
type CapacityFitTrees struct {
	Looked    int64 `json:"looked_at" doc:"Number of searched trees whose root the query accepts." example:"3"`
	WithRoom  int64 `json:"with_room" doc:"Number of those with a place for a member." example:"2"`
	MostInOne int64 `json:"most_in_one" doc:"Largest number of members in one tree." example:"11"`
}

// CapacityFitClass is what the members use of a resource class, and what is free.
type CapacityFitClass struct {
	Amount   int64  `json:"amount" doc:"Amount of one member." example:"4"`
	Limit    *int64 `json:"limit" nullable:"true" doc:"Number of members that would fit if no other class mattered; null unless all trees were searched." example:"24"`
	Free     *int64 `json:"free" nullable:"true" doc:"Free capacity of all providers that can serve a member; null unless all trees were searched." example:"98"`
	Usable   int64  `json:"usable" doc:"Amount of all members." example:"84"`
	Stranded *int64 `json:"stranded" nullable:"true" doc:"Free capacity that no member can use; null unless the number is exact." example:"14"`
}

// capacityFitOperations returns the row of the table.
func (o *operations) capacityFitOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "capacity-fit", Method: http.MethodPost, Path: "/capacity", Tag: tagCandidates, Rule: policy.CapacityShow,
		Further: explainsFurther, Checks: searches, ReadOnly: true,
		Summary: "Count how many more of something fit",
		Description: "Counts for how many members, which all ask the same query, there are places that hold together, as things are " +
			"or with other hardware. The request changes nothing. A caller may have two of these requests running on a server; a third " +
			"is 503 with the code `berth.capacity.busy`.",
		Fails: capacityFitFailures,
		Variants: []route.Variant{route.Write(berth14, route.Body[none]{Example: map[string]any{
			"query": map[string]any{"groups": map[string]any{"": map[string]any{"resources": exampleRequest()}}},
			"count": 1000,
			"changes": []any{
				map[string]any{"like": exampleHost, "count": 2},
				map[string]any{"resource_class": "MEMORY_MB", "allocation_ratio": 1.5},
			},
		}}, o.capacityFit, route.Example(showing(exampleCapacityFit())))},
	}}
}

// exampleCapacityFit returns the response of the documents.
func exampleCapacityFit() CapacityFit {
	count := CapacityFitCount{Fit: 24, AtMost: new(int64(24)), Exact: true, Stopped: "all"}
	before := count
	before.Fit, before.AtMost = 21, new(int64(21))
	return CapacityFit{
		CapacityFitCount: count, Trees: CapacityFitTrees{Looked: 3, WithRoom: 2, MostInOne: 13}, EndsFirst: new("VCPU"),
		Resources: jsonbody.Ordered[CapacityFitClass]{
			{Key: "VCPU", Value: CapacityFitClass{Amount: 4, Limit: new(int64(24)), Free: new(int64(98)), Usable: 96, Stranded: new(int64(2))}},
		},
		Before: &CapacityFitBefore{CapacityFitCount: before, EndsFirst: new("MEMORY_MB")},
	}
}

// defaultFitCount is the number of members of a question without one.
const defaultFitCount = 100

func (o *operations) capacityFit(ctx context.Context, _ *none, body *CapacityFitQuery) (*cached[CapacityFit], error) {
	question, err := o.fitQuestion(ctx, body)
	if err != nil {
		return nil, err
	}
	leave, entered := o.fits.enter(route.CallerOf(ctx))
	if !entered {
		return nil, capacityBusy.Of(maxFitsOfCaller).WithRetryAfter(time.Second)
	}
	defer leave()
	found, err := o.search.CapacityFit(ctx, *question)
	var refused *candidates.ChangeError
	switch {
	case errors.As(err, &refused):
		return nil, fitChangeError(body.Changes, refused)
	case err != nil:
		return nil, o.candidateError(ctx, err)
	}
	return answer(ctx, capacityFitOf(found), now()), nil
}

// fitQuestion checks a request. The order of its checks is the order of errors.
func (o *operations) fitQuestion(ctx context.Context, body *CapacityFitQuery) (*candidates.FitQuery, error) {
	query, err := candidateQuery(querystring.Of(body.Query.params(body.Query.Order)...), microversion.From(ctx))
	if err != nil {
		return nil, err
	}
	query.Budget = o.candidates.Budget
	if body.Relation.isConflict() {
		return nil, claimRelationConflict.Of()
	}
	question := &candidates.FitQuery{
		Query: query, Count: defaultFitCount, Relation: body.Relation.relation(), Changes: fitChanges(body.Changes), Until: fitUntil(ctx),
	}
	if body.Count != nil {
		question.Count = int(body.Count.Int)
	}
	return question, nil
}

// fitReserve is how long before the end of a request the search ends.
const fitReserve = time.Second

// fitUntil returns when the search ends: a second before the request, or halfway if it has less than two; zero without a
// limit.
func fitUntil(ctx context.Context) time.Time {
	deadline, has := ctx.Deadline()
	if !has {
		return time.Time{}
	}
	return deadline.Add(-min(fitReserve, time.Until(deadline)/2))
}

// capacityFitOf converts the result of a search.
func capacityFitOf(found *candidates.FitResult) CapacityFit {
	capacityFit := CapacityFit{
		CapacityFitCount: fitCountOf(&found.FitSearch), EndsFirst: endsFirst(&found.FitSearch),
		Trees:     CapacityFitTrees{Looked: found.Looked, WithRoom: found.WithRoom, MostInOne: found.MostInOne},
		Resources: jsonbody.Ordered[CapacityFitClass]{},
	}
	for i := range found.Classes {
		of := &found.Classes[i]
		class := CapacityFitClass{Amount: of.Amount, Usable: found.Fit * of.Amount}
		if found.Stopped == candidates.StoppedAtEnd {
			class.Limit, class.Free = &of.Limit, &of.Free
			if capacityFit.Exact {
				class.Stranded = new(of.Free - class.Usable)
			}
		}
		capacityFit.Resources = append(capacityFit.Resources, jsonbody.Entry[CapacityFitClass]{Key: of.Class, Value: class})
	}
	if found.Before != nil {
		capacityFit.Before = &CapacityFitBefore{CapacityFitCount: fitCountOf(found.Before), EndsFirst: endsFirst(found.Before)}
	}
	return capacityFit
}

var fitStops = map[candidates.FitStop]string{
	candidates.StoppedAtEnd: "all", candidates.StoppedByCount: "count", candidates.StoppedByBudget: "budget", candidates.StoppedByTime: "time",
}

func fitCountOf(found *candidates.FitSearch) CapacityFitCount {
	count := CapacityFitCount{Fit: found.Fit, Stopped: fitStops[found.Stopped]}
	if found.Stopped == candidates.StoppedAtEnd {
		count.AtMost, count.Exact = &found.AtMost, found.AtMost == found.Fit
	}
	return count
}

// endsFirst returns the class with the smallest limit; of several the first one of the query.
func endsFirst(found *candidates.FitSearch) *string {
	if found.Stopped != candidates.StoppedAtEnd || len(found.Classes) == 0 {
		return nil
	}
	first := &found.Classes[0]
	for i := range found.Classes {
		if found.Classes[i].Limit < first.Limit {
			first = &found.Classes[i]
		}
	}
	return &first.Class
}
