package placement

import (
	"context"
	"errors"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
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
