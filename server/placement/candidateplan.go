package placement

import (
	"context"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/store"
)

// CandidatePlan shows how the database answers a query string of
// GET /allocation_candidates at a microversion. What clients would be refused, it
// refuses with the same words.
func CandidatePlan(
	ctx context.Context, from *store.Store, rawQuery string, at microversion.Version, options CandidateOptions,
) (*store.CandidatePlan, error) {
	values, err := querystring.Parse(rawQuery)
	if err == nil {
		err = querystring.Check(candidateListSchema(at), values)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "Invalid query string parameters: %s", err)
	}
	asked, err := candidateQuery(values, at)
	if err != nil {
		return nil, err
	}
	options.apply(&asked)
	plan, err := from.CandidatePlan(ctx, asked)
	return plan, candidateListWords.say(err)
}
