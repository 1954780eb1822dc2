package placement

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/claims"
	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/explainlog"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/route"
)

// claimRefusal is why a claim found nothing.
type claimRefusal struct {
	found       *candidates.ClaimSearch
	explanation *explain.Explanation
}

// claimFound searches candidates and claims one of them.
func (o *operations) claimFound(ctx context.Context, asked *claimAsked) (*ClaimsMade, error) {
	var refusal claimRefusal
	claimed, err := o.claims.Create(ctx, &claims.Request{
		Consumer: asked.consumers[0], Heir: asked.heir, Questions: asked.questions,
		Key: route.IdempotencyKey(ctx),
		Refuse: func(ctx context.Context, in *postgres.Snapshot, found *candidates.ClaimSearch) error {
			refusal = claimRefusal{found, o.explainUnplaced(ctx, in, asked, found)}
			return nil
		},
	})
	var failed *candidates.QuestionError
	switch {
	case errors.Is(err, claims.ErrNothingFits):
		return nil, o.unplacedError(ctx, asked, &refusal)
	case errors.Is(err, claims.ErrContended):
		return nil, contendedClaim()
	case errors.As(err, &failed):
		return nil, inQuery(o.candidateError(ctx, failed.Err), failed.Question, len(asked.questions))
	case err != nil:
		return nil, claimFaults(nil, "").Translate(err)
	}
	made := claimsMade(&claimed.Claimed, claimed.Searches)
	made.Query = &claimed.Question
	encoded, _ := json.Marshal(claimed.Chosen.Mappings) // it has strings only
	made.Claims[0].Mappings, made.Claims[0].Root = encoded, &claimed.Chosen.Root
	return made, nil
}

// explainUnplaced explains a search without candidates in its snapshot. It waits for no place, because it holds a
// connection. Without a place, or if the policy denies explanations, the explanation has the short form.
func (o *operations) explainUnplaced(
	ctx context.Context, in *postgres.Snapshot, asked *claimAsked, found *candidates.ClaimSearch,
) *explain.Explanation {
	short := explain.Short(explainlog.Candidates, explain.Reason(found.Reason))
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
	question := explainedQuestion(asked.values[found.Question], asked.questions[found.Question])
	question.Reason = explain.Reason(found.Reason)
	var made *explain.Explanation
	err := explainlog.Guard(func() (err error) {
		made, err = o.explainer.Explain(ctx, in, question, o.explanations.Timeout)
		return err
	})
	if err != nil {
		logUnexplained(ctx, err)
	}
	o.explanations.Maker().Count(explainlog.OnRequest, time.Since(begun))
	if made == nil {
		return short
	}
	return made
}

// unplacedError returns the error of a claim that found nothing, and records its last query like one without candidates.
func (o *operations) unplacedError(ctx context.Context, asked *claimAsked, refusal *claimRefusal) error {
	explanation := refusal.explanation
	info := request.From(ctx)
	info.EmptyReason = string(explanation.Reason)
	if asked.consumers[0].Generation == nil { // the recorded query does not say what counts as free
		record := explainlog.Record{
			RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Candidates,
			Version: microversion.From(ctx), Values: asked.values[refusal.found.Question], Options: o.candidates.recorded(),
			Reason: explanation.Reason,
		}
		if !explanation.Incomplete {
			record.Content, _ = json.Marshal(explanation) // it has strings and finite numbers only
		}
		o.explanations.Add(record)
	}
	unfit := claimNothingFits.Of(explanation.Summary)
	if explainsErrors(ctx) {
		unfit = unfit.WithExplanation(explanation)
	}
	return unfit
}
