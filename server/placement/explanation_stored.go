package placement

import (
	"context"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/explainlog"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/store"
)

// StoredExplainer returns the function that explains recorded queries, each in at most the given time. It uses the
// connection for explanations, and takes none from requests.
func StoredExplainer(
	on *store.Store, settings CandidateOptions, limit time.Duration,
) func(context.Context, explainlog.Question) (*explain.Explanation, error) {
	explainer := explain.New(candidates.New(on.Pool()))
	return func(ctx context.Context, recorded explainlog.Question) (made *explain.Explanation, err error) {
		values, err := querystring.Parse(recorded.Text)
		if err != nil {
			return nil, err
		}
		asked, err := candidateQuery(values, recorded.Version)
		if err != nil {
			return nil, err
		}
		options := CandidateOptions{
			Max: recorded.Options.Max, Strategy: recorded.Options.Strategy, Randomize: recorded.Options.Randomize, Budget: settings.Budget,
		}
		options.apply(&asked)
		question := explainedQuestion(values, asked, recorded.Version)
		err = on.InExplanationSnapshot(ctx, func(ctx context.Context, in *postgres.Snapshot) (err error) {
			made, err = explainer.Explain(ctx, in, question, limit)
			return err
		})
		return made, err
	}
}
