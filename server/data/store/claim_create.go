package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// ClaimCandidate is a set of allocations that a claim may choose, by the ids of its rows. A search has found it.
type ClaimCandidate struct {
	Uses []ClaimUse
	// Guards are the providers that the candidate rests on, with the revisions that the search read.
	Guards []ClaimGuard
	// Links are the providers of other trees that the candidate uses or names.
	Links []ClaimLink
	// Context is what the response to a repetition needs of the candidate; nil without an idempotency key.
	Context json.RawMessage
}

// ClaimUse is an amount of a class on a provider. A candidate has at most one of the same provider and class.
type ClaimUse struct {
	Provider int64
	Class    int32
	Amount   int64
}

// ClaimGuard is a provider and its revision.
type ClaimGuard struct{ Provider, Revision int64 }

// ClaimLink is a provider that shares with the tree of an anchor.
type ClaimLink struct{ Anchor, Provider int64 }

// Claimed is the result of a claim of one of several candidates.
type Claimed struct {
	// Candidate is the index of the chosen one.
	Candidate int
	Effort    ClaimEffort
	// Consumers are all allocations of the consumers afterwards, in the order of the claim. Their rows have no times.
	Consumers []ConsumerAllocations
	// Context is that of the candidate, for several consumers a list. It is stored with the idempotency key.
	Context json.RawMessage
}

// claimResult is the result of the queries of claims.
type claimResult struct {
	Rows []claimRow `json:"rows"`
	// Leases are those of the consumers, if there can be any.
	Leases  []*Lease        `json:"leases"`
	Context json.RawMessage `json:"context"`
}

// claimRow is an allocation of a consumer after a claim, with the result of the claim.
type claimRow struct {
	Chosen             int       `json:"chosen"`
	Full               int       `json:"full_up"`
	Stale              int       `json:"stale"`
	Held               int       `json:"held"`
	Place              int       `json:"claimed_place"`
	ConsumerGeneration int64     `json:"claimed_generation"`
	Provider           uuid.UUID `json:"claimed_provider"`
	ProviderGeneration int64     `json:"claimed_provider_generation"`
	Class              string    `json:"claimed_class"`
	Used               int64     `json:"claimed_used"`
}

// ClaimEffort counts the candidates that a claim looked at under locks.
type ClaimEffort struct {
	// Full are those that no longer fit, Stale those whose providers had changed since the search, Held those that were
	// passed over because another transaction had locked a provider.
	Full  int `json:"full"`
	Stale int `json:"stale"`
	Held  int `json:"held"`
}

// Add adds what another round of the same claim counted.
func (e *ClaimEffort) Add(more ClaimEffort) {
	e.Full, e.Stale, e.Held = e.Full+more.Full, e.Stale+more.Stale, e.Held+more.Held
}

// RefusedCandidate is why a candidate does not fit: the first of its allocations that does not.
type RefusedCandidate struct {
	Candidate int    `json:"candidate"`
	Rule      Rule   `json:"rule"`
	Provider  string `json:"provider"`
	Class     string `json:"class"`
}

// ClaimCreate claims the first candidate that fits for a consumer, whose Allocations it ignores. A consumer with a
// generation exists: the candidate replaces its allocations, or heir gets them; nil: there is no heir. The rule
// ClaimNoneLeft is violated if every candidate was taken or changed since the search.
func (s *Store) ClaimCreate(ctx context.Context, consumer Claim, heir *Claim, found []ClaimCandidate) (Claimed, error) {
	who := consumersOf(consumer, heir)
	params := db.ClaimCreateParams{
		Consumers: who.Consumers, Projects: who.Projects, Users: who.Users, Types: who.Types, Generation: consumer.Generation,
		Leases: who.Leases,
		Ends:   []int32{}, Providers: []int64{}, Classes: []int32{}, Amounts: []int64{},
		GuardEnds: []int32{}, Guards: []int64{}, Revisions: []int64{}, LinkEnds: []int32{}, Anchors: []int64{}, Shared: []int64{},
	}
	for i := range found {
		for _, use := range found[i].Uses {
			params.Providers, params.Classes = append(params.Providers, use.Provider), append(params.Classes, use.Class)
			params.Amounts = append(params.Amounts, use.Amount)
		}
		for _, guard := range found[i].Guards {
			params.Guards, params.Revisions = append(params.Guards, guard.Provider), append(params.Revisions, guard.Revision)
		}
		for _, link := range found[i].Links {
			params.Anchors, params.Shared = append(params.Anchors, link.Anchor), append(params.Shared, link.Provider)
		}
		params.Ends = append(params.Ends, int32(len(params.Providers)))
		params.GuardEnds = append(params.GuardEnds, int32(len(params.Guards)))
		params.LinkEnds = append(params.LinkEnds, int32(len(params.Anchors)))
	}
	params.Contexts = s.contextsOf(found)
	asked := s.caller(ctx)
	if asked != "" {
		ctx = sendsCaller(ctx)
	}
	return s.claim(ctx, who, func(to db.DBTX, caller, key *string) (json.RawMessage, error) {
		params.Caller, params.Key = caller, key
		if asked != "" {
			return s.queries.ClaimCreateRecorded(ctx, to, recordedClaim(&params, asked))
		}
		return s.queries.ClaimCreate(ctx, to, params)
	})
}

// recordedClaim returns the parameters of a claim whose statement has the caller itself.
func recordedClaim(of *db.ClaimCreateParams, asked string) db.ClaimCreateRecordedParams {
	return db.ClaimCreateRecordedParams{
		Caller: of.Caller, Key: of.Key, Leases: of.Leases, Consumers: of.Consumers, Contexts: of.Contexts, Asked: asked,
		Projects: of.Projects, Users: of.Users, Types: of.Types, Generation: of.Generation,
		Ends: of.Ends, Providers: of.Providers, Classes: of.Classes, Amounts: of.Amounts,
		GuardEnds: of.GuardEnds, Guards: of.Guards, Revisions: of.Revisions, LinkEnds: of.LinkEnds, Anchors: of.Anchors, Shared: of.Shared,
	}
}

// claim runs the query of a claim and decodes its result.
func (s *Store) claim(
	ctx context.Context, who db.AllocationReplaceParams, run func(to db.DBTX, caller, key *string) (json.RawMessage, error),
) (Claimed, error) {
	text, err := s.writeResult(ctx, writeTargets{consumers: who.Consumers, brief: true}, run)
	if err != nil {
		return Claimed{}, err
	}
	var result claimResult
	if err := decodeResult(text, &result); err != nil {
		return Claimed{}, err
	}
	return claimedOf(&result, who), nil
}

// ReplayedClaim returns the stored result of ClaimCreate or ClaimCreateNamed for a key that is replayed.
func ReplayedClaim(key *IdempotencyKey, consumer Claim, heir *Claim) (Claimed, error) {
	return replayedClaim(key, consumersOf(consumer, heir))
}

// ReplayedClaims returns the stored result of ClaimCreateMany for a key that is replayed.
func ReplayedClaims(key *IdempotencyKey, consumers []Claim) (Claimed, error) {
	return replayedClaim(key, flatten(consumers, true))
}

func replayedClaim(key *IdempotencyKey, who db.AllocationReplaceParams) (Claimed, error) {
	var result claimResult
	if err := decodeResult(key.Answer, &result); err != nil {
		return Claimed{}, err
	}
	return claimedOf(&result, who), nil
}

// contextsOf returns the contexts of candidates as a JSON array; nil without an idempotency key.
func (s *Store) contextsOf(found []ClaimCandidate) json.RawMessage {
	if s.key == nil {
		return nil
	}
	contexts := make([]json.RawMessage, len(found))
	for i := range found {
		contexts[i] = found[i].Context
	}
	return encode(contexts)
}

// ClaimCreateNamed is ClaimCreate for candidates of the client. The rule ClaimNoneLeft is violated if none of them fits at
// one moment, with the reason of each; ClaimContended if others took what fitted 16 times.
func (s *Store) ClaimCreateNamed(ctx context.Context, consumer Claim, heir *Claim, listed [][]Allocation) (Claimed, error) {
	who := consumersOf(consumer, heir)
	params := db.ClaimCreateNamedParams{
		Consumers: who.Consumers, Projects: who.Projects, Users: who.Users, Types: who.Types, Generation: consumer.Generation,
		Leases: who.Leases,
		Ends:   []int32{}, Providers: []uuid.UUID{}, Classes: []string{}, Amounts: []int64{},
	}
	for _, candidate := range listed {
		for _, allocation := range candidate {
			params.Providers, params.Classes = append(params.Providers, allocation.Provider), append(params.Classes, allocation.Class)
			params.Amounts = append(params.Amounts, allocation.Amount)
		}
		params.Ends = append(params.Ends, int32(len(params.Providers)))
	}
	asked := s.caller(ctx)
	if asked != "" {
		ctx = sendsCaller(ctx)
	}
	return s.claim(ctx, who, func(to db.DBTX, caller, key *string) (json.RawMessage, error) {
		params.Caller, params.Key = caller, key
		if asked != "" {
			return s.queries.ClaimCreateNamedRecorded(ctx, to, db.ClaimCreateNamedRecordedParams{
				Caller: caller, Key: key, Leases: params.Leases, Consumers: params.Consumers, Asked: asked,
				Projects: params.Projects, Users: params.Users, Types: params.Types, Generation: params.Generation,
				Ends: params.Ends, Providers: params.Providers, Classes: params.Classes, Amounts: params.Amounts,
			})
		}
		return s.queries.ClaimCreateNamed(ctx, to, params)
	})
}

// ClaimCreateMany claims the allocations of several new consumers, or of none. placement has one candidate for each. The
// rule ClaimNoneLeft is violated if one of them was taken or changed since the search.
func (s *Store) ClaimCreateMany(ctx context.Context, consumers []Claim, placement []ClaimCandidate) (Claimed, error) {
	who := flatten(consumers, true)
	params := db.ClaimCreateManyParams{
		Consumers: who.Consumers, Projects: who.Projects, Users: who.Users, Types: who.Types,
		Leases: leasesOf(consumers, true),
		Owners: []int32{}, Providers: []int64{}, Classes: []int32{}, Amounts: []int64{},
		Guards: []int64{}, Revisions: []int64{}, Anchors: []int64{}, Shared: []int64{},
	}
	for i := range placement {
		for _, use := range placement[i].Uses {
			params.Owners, params.Providers = append(params.Owners, int32(i+1)), append(params.Providers, use.Provider)
			params.Classes, params.Amounts = append(params.Classes, use.Class), append(params.Amounts, use.Amount)
		}
		for _, guard := range placement[i].Guards {
			params.Guards, params.Revisions = append(params.Guards, guard.Provider), append(params.Revisions, guard.Revision)
		}
		for _, link := range placement[i].Links {
			params.Anchors, params.Shared = append(params.Anchors, link.Anchor), append(params.Shared, link.Provider)
		}
	}
	params.Contexts = s.contextsOf(placement)
	return s.claim(ctx, who, func(to db.DBTX, caller, key *string) (json.RawMessage, error) {
		params.Caller, params.Key = caller, key
		return s.queries.ClaimCreateMany(ctx, to, params)
	})
}

// consumersOf returns a consumer and its heir, if any, without allocations.
func consumersOf(consumer Claim, heir *Claim) db.AllocationReplaceParams {
	all := []Claim{consumer}
	if heir != nil {
		all = append(all, *heir)
	}
	for i := range all {
		all[i].Allocations = nil
	}
	who := flatten(all, true)
	who.Leases = leasesOf(all, true)
	return who
}

// claimedOf converts the rows of a claim. There is at least one for each consumer.
func claimedOf(result *claimResult, who db.AllocationReplaceParams) Claimed {
	first := result.Rows[0]
	claimed := Claimed{
		Candidate: max(first.Chosen, 1) - 1, // a claim of several consumers has one placement
		Effort:    ClaimEffort{Full: first.Full, Stale: first.Stale, Held: first.Held},
		Consumers: make([]ConsumerAllocations, len(who.Consumers)), Context: result.Context,
	}
	for i := range claimed.Consumers {
		claimed.Consumers[i] = ConsumerAllocations{ProjectID: who.Projects[i], UserID: who.Users[i], Type: &who.Types[i]}
		if result.Leases != nil {
			claimed.Consumers[i].Lease = result.Leases[i]
		}
	}
	for _, row := range result.Rows {
		of := &claimed.Consumers[row.Place-1]
		of.Generation = row.ConsumerGeneration
		of.Rows = append(of.Rows, AllocationRow{
			Allocation: Allocation{Provider: row.Provider, Class: row.Class, Amount: row.Used},
			Generation: row.ProviderGeneration, Consumer: who.Consumers[row.Place-1],
		})
	}
	return claimed
}
