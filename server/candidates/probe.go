package candidates

import (
	"context"
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// probeLimit is how many providers that meet the rarest predicate are fetched at once; the search then visits only
// their trees.
const probeLimit = 128

// predicate is a condition that one provider of every candidate meets, so that the search may skip all trees without
// such a provider.
type predicate struct {
	Class      *int32 `json:"class,omitempty"`
	Amount     int64  `json:"amount,omitempty"`
	Traits     idList `json:"traits,omitempty"`
	Aggregates idList `json:"aggregates,omitempty"`
	// ofRoot is true if the anchor meets the condition.
	ofRoot bool
}

// predicates returns the distinct conditions of the query: groups with equal conditions are no more selective together.
func (s *candidateSearch) predicates() []predicate {
	var all []predicate
	known := map[string]bool{}
	add := func(one predicate) {
		if key := string(encoded(one)); !known[key] {
			known[key] = true
			all = append(all, one)
		}
	}
	for i := range s.ids.rootRequired {
		add(predicate{Traits: s.ids.rootRequired[i : i+1], ofRoot: true})
	}
	for i := range s.ids.groups {
		group := &s.ids.groups[i]
		for j := range group.classes {
			add(predicate{Class: &group.classes[j], Amount: group.Resources[j].Amount})
		}
		for _, set := range group.required {
			add(predicate{Traits: set})
		}
		for _, set := range group.memberOf {
			add(predicate{Aggregates: set})
		}
	}
	return all
}

// shouldProbe reports whether the searched trees yielded so few candidates that the search should query the selectivity
// of its predicates.
func (s *candidateSearch) shouldProbe() bool {
	return !s.roots.given && !s.roots.probed && 8*s.tally.Candidates < s.tally.Roots
}

// restartFromRarest queries the selectivity of every predicate, and continues with the trees of the rarest one. fits is
// false if no provider meets one of them.
func (s *candidateSearch) restartFromRarest() (fits bool, err error) {
	s.roots.probed = true
	all := s.predicates()
	if len(all) == 0 {
		return true, nil
	}
	sample := s.roots.sample()
	rows, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]db.CandidateSelectivityRow, error) {
		return s.queries.CandidateSelectivity(ctx, to, db.CandidateSelectivityParams{
			Sharing: s.ids.sharing, MaxRows: probeLimit, Sample: sample, Predicates: encoded(all),
		})
	})
	if err != nil {
		return false, err
	}
	rarest := slices.MinFunc(rows, func(a, b db.CandidateSelectivityRow) int {
		if a.Found >= probeLimit && b.Found >= probeLimit {
			return int(a.Sampled - b.Sampled)
		}
		return int(a.Found - b.Found)
	})
	chosen := all[rarest.Position-1]
	switch {
	case rarest.Found == 0:
		return false, nil
	case rarest.Found < probeLimit:
		s.roots.leave(s.fetchRootsOf(chosen))
		err = s.roots.refill(probeLimit)
		s.roots.fetch = nil
		return true, err
	case 4*int(rarest.Sampled) <= len(sample) && s.query.Limit > 0:
		s.roots.leave(s.fetchRootsOf(chosen))
	default:
		s.roots.history = nil
	}
	return true, nil
}

// minRarePage is the minimum number of providers to fetch; several may be in one tree.
const minRarePage = 64

// fetchRootsOf returns a rootFetch of the trees whose providers meet a predicate, page by page.
func (s *candidateSearch) fetchRootsOf(wanted predicate) rootFetch {
	switch {
	case wanted.Class != nil:
		return s.rootsByFreeCapacity(*wanted.Class, wanted.Amount)
	case wanted.Traits != nil:
		return s.rootsByTrait(wanted)
	default:
		return s.rootsByAggregate(wanted.Aggregates)
	}
}

// rarePageSize returns how many providers to fetch: more if the search shuffles them.
func (s *candidateSearch) rarePageSize(most int) int32 {
	if s.rng != nil {
		return probeLimit
	}
	return int32(max(most, minRarePage))
}

func (s *candidateSearch) rootsByFreeCapacity(class int32, amount int64) rootFetch {
	free, id := int64(math.MaxInt64), int64(math.MaxInt64)
	return func(b *postgres.Batch, most int) func(context.Context) (rootPage, error) {
		answer := postgres.Enqueue(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByFreeCapacityRow, error) {
			return s.queries.CandidateRootsByFreeCapacity(ctx, to, db.CandidateRootsByFreeCapacityParams{
				ClassID: class, Amount: amount, BeforeFree: free, BeforeID: id, MaxRows: s.rarePageSize(most),
			})
		})
		return func(ctx context.Context) (found rootPage, err error) {
			rows, err := answer(ctx)
			for _, row := range rows {
				found.roots, found.providers = append(found.roots, row.RootID), append(found.providers, row.ProviderID)
				free, id = row.Free, row.ProviderID
			}
			return found, err
		}
	}
}

func (s *candidateSearch) rootsByTrait(wanted predicate) rootFetch {
	after := int64(0)
	return func(b *postgres.Batch, most int) func(context.Context) (rootPage, error) {
		answer := postgres.Enqueue(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByTraitRow, error) {
			return s.queries.CandidateRootsByTrait(ctx, to, wanted.Traits, after, s.rarePageSize(most))
		})
		return func(ctx context.Context) (found rootPage, err error) {
			rows, err := answer(ctx)
			for _, row := range rows {
				found.roots = append(found.roots, row.RootID)
				if !wanted.ofRoot {
					found.providers = append(found.providers, row.ProviderID)
				}
				after = row.ProviderID
			}
			return found, err
		}
	}
}

func (s *candidateSearch) rootsByAggregate(aggregates []int32) rootFetch {
	after := int64(0)
	return func(b *postgres.Batch, most int) func(context.Context) (rootPage, error) {
		answer := postgres.Enqueue(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByAggregateRow, error) {
			return s.queries.CandidateRootsByAggregate(ctx, to, aggregates, after, s.rarePageSize(most))
		})
		return func(ctx context.Context) (found rootPage, err error) {
			rows, err := answer(ctx)
			for _, row := range rows {
				found.roots, found.providers = append(found.roots, row.RootID), append(found.providers, row.ProviderID)
				after = row.ProviderID
			}
			return found, err
		}
	}
}
