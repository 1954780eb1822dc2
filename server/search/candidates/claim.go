package candidates

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
)

// ClaimOptions are the options of FindForClaim.
type ClaimOptions struct {
	// Limit is how many candidates to find, at least 1.
	Limit int
	// MayUseReplica permits a replica for the search. Without it, the search runs on the primary.
	MayUseReplica bool
	// Freed counts as free: what the consumer gives back when it gets a candidate, each provider and class once. The trees of
	// its providers come first.
	Freed []FreedAmount
	// Look, unless nil, runs in the snapshot of the search before the questions. Its error ends the search. It does not run if
	// a single statement outside of a transaction found candidates.
	Look func(ctx context.Context, in *postgres.Snapshot) error
	// Refuse, unless nil, runs in the snapshot of a search that found nothing, after its turn. Its error is the error of FindForClaim. It must
	// not acquire another connection.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *ClaimSearch) error
}

// FreedAmount is an allocation that counts as free.
type FreedAmount struct {
	ProviderID int64 `json:"provider"`
	ClassID    int32 `json:"class"`
	Amount     int64 `json:"amount"`
}

// ClaimSearch is what FindForClaim found: candidates of one question, or none of any.
type ClaimSearch struct {
	// Question is the index of the question that has the candidates; that of the last one if there are none.
	Question int
	// Candidates are in the order in which to try them. Without any, nothing fitted at the moment of the snapshot.
	Candidates []ClaimCandidate
	// Reason is why the last question found nothing; empty if there are candidates.
	Reason EmptyReason
}

// ClaimCandidate is a candidate with all that a claim compares under locks.
type ClaimCandidate struct {
	// RootID and Root are the anchor.
	RootID int64
	Root   uuid.UUID
	// Uses are the amounts: each provider and class once, in the order of their ids.
	Uses []ClaimUse
	// Mappings are the providers that serve each group, by suffix.
	Mappings map[string][]uuid.UUID
	// Guards are the rows that the candidate rests on: every provider of Mappings, the anchor, and the providers of in_tree. In
	// the order of ids.
	Guards []ClaimGuard
	// Links are the providers of other trees: each shares with the tree of the anchor through an aggregate. In the order of
	// ids.
	Links []ClaimLink
}

// ClaimUse is an amount of a class on a provider.
type ClaimUse struct {
	ProviderID int64
	Provider   uuid.UUID
	ClassID    int32
	Class      string
	Amount     int64
}

// ClaimGuard is a provider and the revision that it had in the snapshot.
type ClaimGuard struct{ ProviderID, Revision int64 }

// ClaimLink is a sharing provider that the tree of an anchor can use.
type ClaimLink struct{ RootID, ProviderID int64 }

// QueryError is the error of one of several questions: a *store.RuleViolation with TraitNotFound or ClassNotFound for an
// unknown name, or a fault if the search exceeds its budget.
type QueryError struct {
	Question int
	Err      error
}

func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the index of the question.
func (e *QueryError) Unwrap() error { return e.Err }
