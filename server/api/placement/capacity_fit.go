package placement

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
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

// defaultFitCount is the number of members of a query without one.
const defaultFitCount = 100

func (o *operations) capacityFit(ctx context.Context, _ *none, body *CapacityFitQuery) (*cached[CapacityFit], error) {
	fit, err := o.fitQuery(ctx, body)
	if err != nil {
		return nil, err
	}
	leave, entered := o.fits.enter(route.CallerOf(ctx))
	if !entered {
		return nil, capacityBusy.Of(maxFitsOfCaller).WithRetryAfter(time.Second)
	}
	defer leave()
	found, err := o.search.CapacityFit(ctx, *fit)
	var refused *candidates.ChangeError
	switch {
	case errors.As(err, &refused):
		return nil, fitChangeError(body.Changes, refused)
	case err != nil:
		return nil, o.candidateError(ctx, err)
	}
	return answer(ctx, capacityFitOf(found), now()), nil
}

// fitQuery checks a request. The order of its checks is the order of errors.
func (o *operations) fitQuery(ctx context.Context, body *CapacityFitQuery) (*candidates.FitQuery, error) {
	query, err := candidateQuery(querystring.Of(body.Query.params(body.Query.Order)...), microversion.From(ctx))
	if err != nil {
		return nil, err
	}
	query.Budget = o.candidates.Budget
	if body.Relation.isConflict() {
		return nil, claimRelationConflict.Of()
	}
	fit := &candidates.FitQuery{
		Query: query, Count: defaultFitCount, Relation: body.Relation.relation(), Changes: fitChanges(body.Changes), Until: fitUntil(ctx),
	}
	if body.Count != nil {
		fit.Count = int(body.Count.Int)
	}
	return fit, nil
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

// capacityFitCount is a number of members.
type capacityFitCount struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (capacityFitCount) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(1e6), Examples: []any{1000}}
}

// capacityFitCopies is a number of copies of a tree.
type capacityFitCopies struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (capacityFitCopies) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(1e4), Examples: []any{2}}
}

// CapacityFitCopies is a change that adds trees.
type CapacityFitCopies struct {
	Like  string            `json:"like" format:"uuid" doc:"A provider of the tree that the new trees are like: the same inventories, traits and aggregates, with nothing used." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Count capacityFitCopies `json:"count" doc:"Number of new trees."`
}

// CapacityFitSettings is a change of inventories.
type CapacityFitSettings struct {
	Class    string       `json:"resource_class" pattern:"^[A-Z0-9_]+$" maxLength:"255" doc:"The resource class of the inventories." example:"MEMORY_MB"`
	Ratio    *float64     `json:"allocation_ratio,omitempty" nullable:"false" maximum:"3.40282e+38" doc:"Their new overcommit factor." example:"1.5"`
	Reserved *reservedNew `json:"reserved,omitempty" nullable:"false" doc:"Their new reserved amount, at most the total of each."`
	InTree   string       `json:"in_tree,omitempty" format:"uuid" doc:"A provider of the only tree whose inventories change."`
	MemberOf string       `json:"member_of,omitempty" format:"uuid" doc:"An aggregate: only the inventories of providers change that are in it, or whose root is."`
}

// reservedNew is an amount of an inventory that consumers cannot allocate.
type reservedNew struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (reservedNew) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(0.0), Maximum: new(2147483647.0), Examples: []any{512}}
}

// TransformSchema implements huma.SchemaTransformer: a setting changes, and at most one condition applies.
func (CapacityFitSettings) TransformSchema(_ huma.Registry, schema *huma.Schema) *huma.Schema {
	schema.AnyOf = []*huma.Schema{{Required: []string{"allocation_ratio"}}, {Required: []string{"reserved"}}}
	schema.Not = &huma.Schema{Required: []string{"in_tree", "member_of"}}
	return schema
}

// CapacityFitChange is a change of the hardware.
type CapacityFitChange struct {
	copies   *CapacityFitCopies
	settings *CapacityFitSettings
}

// UnmarshalJSON implements json.Unmarshaler. The schema has validated the value.
func (c *CapacityFitChange) UnmarshalJSON(raw []byte) error {
	var kind struct {
		Like *string `json:"like"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	if kind.Like != nil {
		c.copies = &CapacityFitCopies{}
		return json.Unmarshal(raw, c.copies)
	}
	c.settings = &CapacityFitSettings{}
	return json.Unmarshal(raw, c.settings)
}

// Schema implements huma.SchemaProvider.
func (CapacityFitChange) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[CapacityFitCopies](r), schemaOf[CapacityFitSettings](r)}}
}

// fitChanges converts the changes of a request.
func fitChanges(asked []CapacityFitChange) (changes []candidates.FitChange) {
	parse := func(text string) *uuid.UUID {
		id, ok := uuidlike.Parse(text) // the schema has validated it
		if !ok {
			return nil
		}
		return &id
	}
	for _, capacityFitChange := range asked {
		if capacityFitChange.copies != nil {
			changes = append(changes, candidates.FitChange{Like: parse(capacityFitChange.copies.Like), Copies: int(capacityFitChange.copies.Count.Int)})
			continue
		}
		of := capacityFitChange.settings
		change := candidates.FitChange{Class: of.Class, InTree: parse(of.InTree), MemberOf: parse(of.MemberOf)}
		if of.Ratio != nil {
			change.Ratio = new(max(*of.Ratio, leastRatio))
		}
		if of.Reserved != nil {
			change.Reserved = new(int64(of.Reserved.Int))
		}
		changes = append(changes, change)
	}
	return changes
}

var (
	capacityChangeUnknown = badClaim("change-unknown-name", "A change names a provider, a resource class or an aggregate that does not exist.",
		"'changes[%d]': there is no %s %s.", 0, "resource provider", unknownUUID)
	capacityChangeShares = badClaim("change-of-sharing-tree", "A change copies a tree of which a provider shares its inventory with other trees.",
		"'changes[%d]': %s shares with other trees, so a copy of its tree cannot be reckoned.", 0, "pool-1")
	capacityBusy = route.Fails(fault.Unavailable, "capacity-busy", "The caller has as many questions about capacity running as it may have on a server. "+
		"The header `Retry-After` has the delay after which to retry.",
		"%d of your questions about capacity are still running. Try again later.", maxFitsOfCaller).WithCode(fault.CodeCapacityBusy)

	// The documents have the 503 of all operations.
	capacityFitFailures = with(candidateSearchFailures, claimRelationConflict, capacityChangeUnknown, capacityChangeShares)
)

// fitChangeError returns the error of a change.
func fitChangeError(asked []CapacityFitChange, refused *candidates.ChangeError) error {
	change, place := asked[refused.Change], refused.Change
	switch {
	case refused.Sharer != "":
		return capacityChangeShares.Of(place, refused.Sharer)
	case change.copies != nil:
		return capacityChangeUnknown.Of(place, "resource provider", change.copies.Like)
	}
	switch refused.Unknown {
	case candidates.UnknownTree:
		return capacityChangeUnknown.Of(place, "resource provider", change.settings.InTree)
	case candidates.UnknownAggregate:
		return capacityChangeUnknown.Of(place, "aggregate", change.settings.MemberOf)
	}
	return capacityChangeUnknown.Of(place, "resource class", change.settings.Class)
}

// maxFitsOfCaller is how many queries about capacity one caller may have running on a server.
const maxFitsOfCaller = 2

// runningFits counts the queries about capacity that run, by caller. It is safe for concurrent use.
type runningFits struct {
	mu       sync.Mutex
	byCaller map[string]int
}

// enter counts a query, unless the caller has the maximum number running. leave ends it.
func (r *runningFits) enter(caller string) (leave func(), entered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byCaller[caller] >= maxFitsOfCaller {
		return nil, false
	}
	if r.byCaller == nil {
		r.byCaller = map[string]int{}
	}
	r.byCaller[caller]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.byCaller[caller]--; r.byCaller[caller] == 0 {
			delete(r.byCaller, caller)
		}
	}, true
}
