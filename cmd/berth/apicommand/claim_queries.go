package apicommand

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/querytext"
)

// ClaimQueries are the flags of the queries of a claim: those of a candidate query, and --else, which begins another one.
type ClaimQueries struct {
	*CandidateRequest
	// earlier are the queries before --else.
	earlier []CandidateRequest
}

// NewClaimQueries adds the flags to a command.
func NewClaimQueries(f *frame.Frame, c *cobra.Command) *ClaimQueries {
	queries := &ClaimQueries{CandidateRequest: candidateFlags(f, c, true)}
	c.Flags().BoolFunc("else", "whether the flags after it are another query, for the case that nothing fits; repeatable", queries.beginQuestion)
	return queries
}

// HideLimits hides the flags that a claim in one request does not use.
func (q *ClaimQueries) HideLimits(c *cobra.Command) {
	for _, d := range querytext.Definitions {
		if _, isNumber := d.Field(&q.Asked).(*int); isNumber {
			frame.Must(c.Flags().MarkHidden(d.Flag()))
		}
	}
}

// beginQuestion ends a query: later flags belong to the next one. The limits belong to all.
func (q *ClaimQueries) beginQuestion(string) error {
	q.earlier = append(q.earlier, *q.CandidateRequest)
	*q.CandidateRequest = CandidateRequest{Asked: q.limits(), names: q.names}
	return nil
}

// questions returns the queries in their order.
func (q *ClaimQueries) questions() []CandidateRequest {
	return append(slices.Clone(q.earlier), *q.CandidateRequest)
}

// IsEmpty reports whether the flags have no query.
func (q *ClaimQueries) IsEmpty() bool {
	return len(q.earlier) == 0 && q.Asked.Resources == "" && len(q.groups) == 0
}

// Check returns an error for each query without resources.
func (q *ClaimQueries) Check() error {
	var missing frame.InputErrors
	for _, asked := range q.questions() {
		if asked.Asked.Resources == "" && len(asked.groups) == 0 {
			missing = append(missing, frame.WrongFlag("resources", "", "is empty", "write --resources or --group"))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}

// Queries returns the queries in their order, with the UUIDs of the providers.
func (q *ClaimQueries) Queries(ctx context.Context, service *client.Client) (queries []client.CandidateQuery, err error) {
	for _, asked := range q.questions() {
		query, err := asked.query(ctx, service)
		if err != nil {
			return nil, err
		}
		queries = append(queries, query)
	}
	return queries, nil
}

// DocumentClaims returns the document of a claim that `berth claim --output json` prints. It requests the names of the providers.
func DocumentClaims(ctx context.Context, service *client.Client, queries []client.CandidateQuery, places *client.ClaimedPlaces) (*ClaimsDocument, error) {
	call := &claimCall{service: service}
	for i := range queries {
		call.classes = append(call.classes, classesOf(&queries[i])...)
	}
	return call.document(ctx, places)
}
