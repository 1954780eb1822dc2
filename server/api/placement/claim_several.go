package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/wire/fault"
)

// relation returns the relation of the search; that of nil is none.
func (r *ClaimRelation) relation() candidates.Relation {
	switch {
	case r == nil:
		return candidates.RelationNone
	case r.Apart != "":
		return candidates.RelationApart
	case r.Together != "":
		return candidates.RelationTogether
	}
	return candidates.RelationNone
}

// isConflict reports whether a relation has both members. nil has none.
func (r *ClaimRelation) isConflict() bool { return r != nil && r.Apart != "" && r.Together != "" }

// claimSeveral searches candidates for several consumers and claims them, all or none.
func (o *operations) claimSeveral(ctx context.Context, asked *claimCreateRequest) (*ClaimsMade, error) {
	var found *candidates.PlacementSearch
	var refusal *claimRefusal
	claimed, err := o.claims.CreateSeveral(ctx, &claims.SeveralRequest{
		Consumers: asked.consumers, Relation: asked.relation, Questions: asked.questions,
		Key: route.IdempotencyKey(ctx),
		Refuse: func(ctx context.Context, in *postgres.Snapshot, of *candidates.PlacementSearch) error {
			found, refusal = of, nil
			if of.Reason != "" {
				refusal = &claimRefusal{of.Question, o.explainUnplaced(ctx, in, asked, of.Question, of.Reason)}
			}
			return nil
		},
	})
	if errors.Is(err, claims.ErrNothingFits) || errors.Is(err, claims.ErrUndecided) {
		return nil, o.unplacedSeveralError(ctx, asked, found, refusal)
	}
	if err != nil {
		return nil, o.foundError(ctx, asked, err)
	}
	result := claimsMade(&claimed.Claimed, claimed.Searches)
	result.Query = &claimed.Question
	for i := range result.Claims {
		result.Claims[i].choose(&claimed.Members[i])
	}
	return result, nil
}

// The relations in the texts of refusals.
var textsOfRelations = map[candidates.Relation]string{
	candidates.RelationApart: " that are apart by root", candidates.RelationTogether: " that are together by root",
}

// unplacedSeveralError returns the error of a claim that found no place for all consumers. It has an explanation if the last
// query has no candidate even for one of them: refusal is nil if it has.
func (o *operations) unplacedSeveralError(
	ctx context.Context, asked *claimCreateRequest, found *candidates.PlacementSearch, refusal *claimRefusal,
) error {
	summary := fmt.Sprintf("%d of %d consumers%s can be placed.", found.Fit, len(asked.consumers), textsOfRelations[asked.relation])
	failure := &claimNothingFits
	if !found.IsExact {
		failure = &claimUndecided
	}
	unfit := failure.Of(summary).WithUnfit(&fault.Unfit{Fit: &found.Fit, Exact: &found.IsExact})
	if refusal == nil {
		return unfit
	}
	o.recordUnplaced(ctx, asked, refusal)
	if explainsErrors(ctx) {
		unfit = unfit.WithExplanation(refusal.explanation)
	}
	return unfit
}
