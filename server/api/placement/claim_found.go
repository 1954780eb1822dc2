package placement

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// claimRefusal is why a claim found nothing: the index of a query without candidates, and its explanation.
type claimRefusal struct {
	question    int
	explanation *explain.Explanation
}

// claimFound searches candidates and claims one of them.
func (o *operations) claimFound(ctx context.Context, asked *claimCreateRequest) (*ClaimsMade, error) {
	var refusal claimRefusal
	claimed, err := o.claims.Create(ctx, &claims.Request{
		Consumer: asked.consumers[0], Heir: asked.heir, Questions: asked.questions,
		Key: route.IdempotencyKey(ctx),
		Refuse: func(ctx context.Context, in *postgres.Snapshot, found *candidates.ClaimSearch) error {
			refusal = claimRefusal{found.Question, o.explainUnplaced(ctx, in, asked, found.Question, found.Reason)}
			return nil
		},
	})
	if errors.Is(err, claims.ErrNothingFits) {
		return nil, o.unplacedError(ctx, asked, &refusal)
	}
	if err != nil {
		return nil, o.foundError(ctx, asked, err)
	}
	result := claimsMade(&claimed.Claimed, claimed.Searches)
	result.Query = &claimed.Question
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
		return inQuery(o.candidateError(ctx, failed.Err), failed.Question, len(asked.questions))
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
	question := explainedQuestion(asked.values[place], asked.questions[place])
	question.Reason = explain.Reason(reason)
	// A consumer that exists gives its allocations back, so that it need not go.
	question.FreesConsumers = maySeeFreed(ctx) && asked.consumers[0].Generation == nil
	var explanation *explain.Explanation
	err := explainlog.Guard(func() (err error) {
		explanation, err = o.explainer.Explain(ctx, in, question, o.explanations.Timeout)
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
		Version: microversion.From(ctx), Values: asked.values[refusal.question], Options: o.candidates.recorded(),
		Reason: explanation.Reason,
	}
	if !explanation.Incomplete {
		record.Content, _ = json.Marshal(explanation) // it has strings and finite numbers only
	}
	o.addRecord(info, record)
}
