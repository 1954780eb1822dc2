package placement

import (
	"context"
	"time"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/querystring"
)

// StoredExplainer returns the function that explains recorded queries and claims, each in at most the given time. It uses
// the connection for explanations, and takes none from requests.
func StoredExplainer(
	on *store.Store, settings CandidateOptions, limit time.Duration,
) func(context.Context, explainlog.Query) (*explain.Explanation, error) {
	explainer := explain.New(candidates.New(on.Pool()))
	return func(ctx context.Context, recorded explainlog.Query) (*explain.Explanation, error) {
		options := CandidateOptions{
			Max: recorded.Options.Max, Strategy: recorded.Options.Strategy, Randomize: recorded.Options.Randomize, Budget: settings.Budget,
		}
		var explainIn explainFunc
		var err error
		if recorded.Kind == explainlog.Claim {
			explainIn, err = storedClaim(explainer, &recorded, options)
		} else {
			explainIn, err = storedQuery(explainer, &recorded, options, limit)
		}
		if err != nil {
			return nil, err
		}
		var explanation *explain.Explanation
		err = on.InExplanationSnapshot(ctx, func(ctx context.Context, in *postgres.Snapshot) (err error) {
			explanation, err = explainIn(ctx, in)
			return err
		})
		return explanation, err
	}
}

// explainFunc explains in a snapshot.
type explainFunc func(context.Context, *postgres.Snapshot) (*explain.Explanation, error)

// storedQuery returns the function that explains a recorded candidate query.
func storedQuery(
	by *explain.Explainer, recorded *explainlog.Query, options CandidateOptions, limit time.Duration,
) (explainFunc, error) {
	values, err := querystring.Parse(recorded.Text)
	if err != nil {
		return nil, err
	}
	asked, err := candidateQuery(values, recorded.Version)
	if err != nil {
		return nil, err
	}
	options.apply(&asked)
	question := explainedQuestion(values, asked)
	question.Reason, question.FreesConsumers = recorded.Reason, true
	return func(ctx context.Context, in *postgres.Snapshot) (_ *explain.Explanation, err error) {
		if question.Found, err = by.CountFound(ctx, in, asked); err != nil {
			return nil, err
		}
		return by.Explain(ctx, in, question, limit)
	}, nil
}

// storedClaim returns the function that explains a recorded claim.
func storedClaim(by *explain.Explainer, recorded *explainlog.Query, options CandidateOptions) (explainFunc, error) {
	asked, err := parseClaim(recorded.Text, recorded.Reason)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, in *postgres.Snapshot) (*explain.Explanation, error) {
		explanation, err := by.Claim(ctx, in, asked)
		if err == nil {
			by.AddElsewhere(ctx, in, asked, explanation, options.apply)
		}
		return explanation, err
	}, nil
}
