package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// claimReasons are the rules whose violation by a claim is recorded and explained.
var claimReasons = map[store.Rule]explain.Reason{
	store.AllocationNoInventory:     explain.NoInventory,
	store.AllocationViolatesUnits:   explain.Units,
	store.AllocationExceedsCapacity: explain.Capacity,
}

// explainsFurther is the rule of explanations in errors, in addition to that of the operation.
var explainsFurther = []string{policy.ExplanationsMake}

// claimError returns the error of a write of allocations. It records a claim that does not fit, and explains it to clients
// of the extension.
func (o *operations) claimError(ctx context.Context, asked explain.Claim, err error, faults route.RuleFaults) error {
	translated := faults.Translate(err)
	violation := store.AsRuleViolation(err)
	if violation == nil || claimReasons[violation.Rule] == "" {
		return translated
	}
	asked.Reason = claimReasons[violation.Rule]
	o.recordConflict(ctx, &asked)
	if found := fault.As(translated); found != nil && explainsErrors(ctx) {
		return found.WithExplanation(o.explainConflict(ctx, &asked))
	}
	return translated
}

// explainsErrors reports whether the errors of a request have explanations: the client knows them, and the policy permits
// them.
func explainsErrors(ctx context.Context) bool {
	return microversion.From(ctx) >= berth12 && route.MayCaller(ctx, policy.ExplanationsMake) == nil
}

// recordConflict records a claim that does not fit, for the metric and for explanations. It waits for nothing.
func (o *operations) recordConflict(ctx context.Context, asked *explain.Claim) {
	info := request.From(ctx)
	if info.DryRun {
		return
	}
	info.ConflictReason = string(asked.Reason)
	if o.explanations.Keeps() == 0 {
		return
	}
	o.addRecord(info, explainlog.Record{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Claim,
		Version: microversion.From(ctx), Text: claimText(asked), Options: o.candidates.recorded(), Reason: asked.Reason,
	})
}

// recorded returns the settings that take part in a search.
func (c *CandidateOptions) recorded() explainlog.SearchOptions {
	return explainlog.SearchOptions{Max: c.Max, Strategy: c.Strategy, Randomize: c.Randomize}
}

// explainConflict explains a claim with the state after its transaction. Without a place for the computation, or after an
// error, the explanation has the short form.
func (o *operations) explainConflict(ctx context.Context, asked *explain.Claim) *explain.Explanation {
	leaveSlot(ctx)
	explanation, err := o.explanations.Maker().Make(ctx, explainlog.OnRequest, func(ctx context.Context) (explanation *explain.Explanation, err error) {
		ctx, cancel := context.WithTimeout(ctx, o.explanations.Timeout)
		defer cancel()
		err = o.store.InSnapshot(ctx, func(in *postgres.Snapshot) (err error) {
			explanation, err = o.explainer.Claim(ctx, in, asked)
			return err
		})
		return explanation, err
	})
	if err != nil {
		logUnexplained(ctx, err)
		return explain.Short(explainlog.Claim, asked.Reason)
	}
	return explanation
}

// logUnexplained logs why an error has no complete explanation, unless the server was busy.
func logUnexplained(ctx context.Context, err error) {
	if info := request.From(ctx); !errors.Is(err, explainlog.ErrBusy) && ctx.Err() == nil {
		info.Log.WarnContext(ctx, "cannot explain an error", "request_id", info.ID, "error", err.Error())
	}
}

// claimRefusal is why a claim found nothing: the index of a query without candidates, and its explanation.
type claimRefusal struct {
	query       int
	explanation *explain.Explanation
}

// claimFound searches candidates and claims one of them.
func (o *operations) claimFound(ctx context.Context, asked *claimCreateRequest) (*ClaimsMade, error) {
	var refusal claimRefusal
	claimed, err := o.claims.Create(ctx, &claims.Request{
		Consumer: asked.consumers[0], Heir: asked.heir, Queries: asked.queries,
		Key: route.IdempotencyKey(ctx),
		Refuse: func(ctx context.Context, in *postgres.Snapshot, found *candidates.ClaimSearch) error {
			refusal = claimRefusal{found.Query, o.explainUnplaced(ctx, in, asked, found.Query, found.Reason)}
			return nil
		},
	})
	if errors.Is(err, claims.ErrNothingFits) {
		return nil, o.unplacedError(ctx, asked, &refusal)
	}
	if err != nil {
		return nil, o.foundError(ctx, asked, err)
	}
	result := claimsMade(ctx, &claimed.Claimed, claimed.Searches)
	result.Query = &claimed.Query
	result.Claims[0].choose(&claimed.Chosen)
	return result, nil
}

// choose adds what the response says about the candidate.
func (m *ClaimMade) choose(of *candidates.ClaimCandidate) {
	encoded, _ := json.Marshal(of.Mappings) // it has strings only
	m.Mappings, m.Root = encoded, &of.Root
}

// foundError returns the error of a claim of queries that did not find out that nothing fits.
func (o *operations) foundError(ctx context.Context, asked *claimCreateRequest, err error) error {
	var failed *candidates.QueryError
	switch {
	case errors.Is(err, claims.ErrContended):
		return contendedClaim()
	case errors.As(err, &failed):
		return inQuery(o.candidateError(ctx, failed.Err), failed.Query, len(asked.queries))
	}
	return claimFaults(nil, "").Translate(err)
}

// explainUnplaced explains a search without candidates in its snapshot. It waits for no place, because it holds a
// connection. Without a place, or if the policy denies explanations, the explanation has the short form.
func (o *operations) explainUnplaced(
	ctx context.Context, in *postgres.Snapshot, asked *claimCreateRequest, place int, reason candidates.EmptyReason,
) *explain.Explanation {
	short := explain.Short(explainlog.Candidates, explain.Reason(reason))
	if !explainsErrors(ctx) {
		return short
	}
	leave, entered := o.explanations.Maker().TryEnter()
	if !entered {
		return short
	}
	defer leave()
	leaveSlot(ctx)
	begun := time.Now()
	explained := explainedQuery(asked.values[place], asked.queries[place])
	explained.Reason = explain.Reason(reason)
	// A consumer that exists gives its allocations back, so that it need not go.
	explained.FreesConsumers = maySeeFreed(ctx) && asked.consumers[0].Generation == nil
	var explanation *explain.Explanation
	err := explainlog.Guard(func() (err error) {
		explanation, err = o.explainer.Explain(ctx, in, explained, o.explanations.Timeout)
		return err
	})
	if err != nil {
		logUnexplained(ctx, err)
	}
	o.explanations.Maker().Count(explainlog.OnRequest, time.Since(begun))
	if explanation == nil {
		return short
	}
	return explanation
}

// unplacedError returns the error of a claim that found nothing.
func (o *operations) unplacedError(ctx context.Context, asked *claimCreateRequest, refusal *claimRefusal) error {
	o.recordUnplaced(ctx, asked, refusal)
	unfit := claimNothingFits.Of(refusal.explanation.Summary)
	if explainsErrors(ctx) {
		unfit = unfit.WithExplanation(refusal.explanation)
	}
	return unfit
}

// recordUnplaced records a query of a claim like one without candidates.
func (o *operations) recordUnplaced(ctx context.Context, asked *claimCreateRequest, refusal *claimRefusal) {
	explanation, info := refusal.explanation, request.From(ctx)
	info.EmptyReason = string(explanation.Reason)
	if asked.consumers[0].Generation != nil {
		return // the recorded query does not say what counts as free
	}
	record := explainlog.Record{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Candidates,
		Version: microversion.From(ctx), Values: asked.values[refusal.query], Options: o.candidates.recorded(),
		Reason: explanation.Reason,
	}
	if !explanation.Incomplete {
		record.Content, _ = json.Marshal(explanation) // it has strings and finite numbers only
	}
	o.addRecord(info, record)
}

// recordedClaims are the amounts of a recorded claim, by consumer, provider and class, in the order of the request.
type recordedClaims = jsonbody.Ordered[jsonbody.Ordered[jsonbody.Ordered[int64]]]

// recordedReshape is a recorded reshape: new inventories by provider, and claims.
type recordedReshape struct {
	Inventories jsonbody.Ordered[[]store.Inventory] `json:"inventories"`
	Allocations recordedClaims                      `json:"allocations"`
}

// reshapePrefix begins the text of a reshape. That of other claims begins with the UUID of a consumer.
const reshapePrefix = `{"inventories":`

// claimText returns a claim as JSON, without projects, users, types and generations.
func claimText(asked *explain.Claim) string {
	allocations := recordedClaims{}
	for i := range asked.Claims {
		allocations = append(allocations, jsonbody.Entry[jsonbody.Ordered[jsonbody.Ordered[int64]]]{
			Key: asked.Claims[i].Consumer.String(), Value: amountsByProvider(asked.Claims[i].Allocations),
		})
	}
	var encoded []byte
	if asked.Shapes == nil {
		encoded, _ = json.Marshal(allocations) // it has strings and integers only
		return string(encoded)
	}
	result := recordedReshape{Allocations: allocations}
	for i := range asked.Shapes {
		result.Inventories = append(result.Inventories, jsonbody.Entry[[]store.Inventory]{
			Key: asked.Shapes[i].Provider.String(), Value: asked.Shapes[i].Records,
		})
	}
	encoded, _ = json.Marshal(result) // PostgreSQL has accepted its numbers
	return string(encoded)
}

// amountsByProvider groups allocations. Those on one provider are next to each other.
func amountsByProvider(of []store.Allocation) (ordered jsonbody.Ordered[jsonbody.Ordered[int64]]) {
	for _, allocation := range of {
		provider := allocation.Provider.String()
		if len(ordered) == 0 || ordered[len(ordered)-1].Key != provider {
			ordered = append(ordered, jsonbody.Entry[jsonbody.Ordered[int64]]{Key: provider})
		}
		amounts := &ordered[len(ordered)-1].Value
		*amounts = append(*amounts, jsonbody.Entry[int64]{Key: allocation.Class, Value: allocation.Amount})
	}
	return ordered
}

// parseClaim is the inverse of claimText.
func parseClaim(text string, reason explain.Reason) (*explain.Claim, error) {
	result := &explain.Claim{Reason: reason}
	var recorded recordedReshape
	var err error
	if strings.HasPrefix(text, reshapePrefix) {
		err = json.Unmarshal([]byte(text), &recorded)
	} else {
		err = json.Unmarshal([]byte(text), &recorded.Allocations)
	}
	if err != nil {
		return nil, fmt.Errorf("invalid recorded claim: %w", err)
	}
	for _, shape := range recorded.Inventories {
		provider, err := uuid.Parse(shape.Key)
		if err != nil {
			return nil, fmt.Errorf("invalid provider of a recorded claim: %w", err)
		}
		result.Shapes = append(result.Shapes, store.ReshapedProvider{Provider: provider, Records: shape.Value})
	}
	for _, consumer := range recorded.Allocations {
		claim, err := recordedClaim(consumer.Key, consumer.Value)
		if err != nil {
			return nil, err
		}
		result.Claims = append(result.Claims, claim)
	}
	return result, nil
}

// recordedClaim returns the claim of one consumer.
func recordedClaim(consumer string, amounts jsonbody.Ordered[jsonbody.Ordered[int64]]) (claim store.Claim, err error) {
	if claim.Consumer, err = uuid.Parse(consumer); err != nil {
		return claim, fmt.Errorf("invalid consumer of a recorded claim: %w", err)
	}
	for _, entry := range amounts {
		provider, err := uuid.Parse(entry.Key)
		if err != nil {
			return claim, fmt.Errorf("invalid provider of a recorded claim: %w", err)
		}
		for _, item := range entry.Value {
			claim.Allocations = append(claim.Allocations, store.Allocation{Provider: provider, Class: item.Key, Amount: item.Value})
		}
	}
	return claim, nil
}
