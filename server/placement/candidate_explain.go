package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/querystring"
)

// explainExtension is the version of Berth's extensions that adds explanations.
var explainExtension = microversion.Berth(2)

// explainParam selects explanations.
const explainParam = "explain"

// defaultExplainTimeout is the longest time for one explanation.
const defaultExplainTimeout = time.Second

// explainedCandidates searches in a snapshot, after an explanation in the same snapshot if the query asks for one.
func (o *operations) explainedCandidates(
	ctx context.Context, values querystring.Values, asked candidates.Query, when string,
) (found *candidates.Result, explanation json.RawMessage, err error) {
	explanation = json.RawMessage("null")
	found, err = o.search.ListIn(ctx, asked, func(in *postgres.Snapshot) error {
		if when == "empty" {
			one := asked
			one.Limit = 1
			if count, err := o.search.CountIn(ctx, in, one); count > 0 || err != nil {
				return err
			}
		}
		made, err := o.explainer.Explain(ctx, in, explainedQuestion(values, asked, microversion.From(ctx)), defaultExplainTimeout)
		if err != nil {
			return err
		}
		if explanation, err = json.Marshal(made); err != nil {
			return fmt.Errorf("encode an explanation: %w", err)
		}
		return nil
	})
	return found, explanation, err
}

// explainedQuestion returns the question of a query string that was parsed at a version.
func explainedQuestion(values querystring.Values, asked candidates.Query, at microversion.Version) *explain.Question {
	question := &explain.Question{Query: asked}
	for _, pair := range values.Pairs() {
		if pair.Name != explainParam {
			question.Params = append(question.Params, explain.Param(pair))
		}
	}
	question.Parse = func(params []explain.Param, extended bool) (candidates.Query, error) {
		pairs := make([]querystring.Pair, len(params))
		for i, one := range params {
			pairs[i] = querystring.Pair(one)
		}
		if extended {
			at = max(at, searchExtension)
		}
		changed, err := candidateQuery(querystring.Of(pairs...), at)
		changed.Budget = asked.Budget
		return changed, err
	}
	return question
}
