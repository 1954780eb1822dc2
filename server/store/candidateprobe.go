package store

import (
	"context"
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
)

// few is how many providers with something rare are fetched at once, to look at
// their trees only.
const few = 128

// predicate is something that every candidate has in one of its providers, so that
// the trees of those who have it are the only ones to look at.
type predicate struct {
	Class      *int32 `json:"class,omitempty"`
	Amount     int64  `json:"amount,omitempty"`
	Traits     idList `json:"traits,omitempty"`
	Aggregates idList `json:"aggregates,omitempty"`
	// ofRoot: it is the anchor that has it.
	ofRoot bool
}

// predicates are what the query asks for, each once: groups that ask for the same
// are no rarer together.
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

// disappointing tells whether the trees looked at gave so few candidates that it is
// time to ask what is rare.
func (s *candidateSearch) disappointing() bool {
	return !s.roots.given && !s.roots.probed && 8*s.tally.Candidates < s.tally.Roots
}

// startAtRarest asks how rare everything is that the query asks for, and goes on from
// what is the rarest. fits is false if nobody has it.
func (s *candidateSearch) startAtRarest() (fits bool, err error) {
	s.roots.probed = true
	all := s.predicates()
	if len(all) == 0 {
		return true, nil
	}
	sample := s.roots.sample()
	rows, err := once(s.ctx, s.reading, func(ctx context.Context, to db.DBTX) ([]db.CandidateProbeRow, error) {
		return s.queries.CandidateProbe(ctx, to, db.CandidateProbeParams{
			Sharing: s.ids.sharing, Most: few, Sample: sample, Predicates: encoded(all),
		})
	})
	if err != nil {
		return false, err
	}
	rarest := slices.MinFunc(rows, func(a, b db.CandidateProbeRow) int {
		if a.Found >= few && b.Found >= few {
			return int(a.Sampled - b.Sampled)
		}
		return int(a.Found - b.Found)
	})
	chosen := all[rarest.Place-1]
	switch {
	case rarest.Found == 0:
		return false, nil
	case rarest.Found < few:
		s.roots.leave(s.fetchOf(chosen))
		err = s.roots.refill(few)
		s.roots.fetch = nil
		return true, err
	case 4*int(rarest.Sampled) <= len(sample) && s.query.Limit > 0:
		s.roots.leave(s.fetchOf(chosen))
	default:
		s.roots.history = nil
	}
	return true, nil
}

// pace is how many providers with something rare are fetched at least; several may
// be in one tree.
const pace = 64

// fetchOf gives the trees of those that have something, page by page.
func (s *candidateSearch) fetchOf(wanted predicate) rootFetch {
	switch {
	case wanted.Class != nil:
		return s.rootsByRoom(*wanted.Class, wanted.Amount)
	case wanted.Traits != nil:
		return s.rootsByTrait(wanted)
	default:
		return s.rootsByAggregate(wanted.Aggregates)
	}
}

// paced is how many providers to fetch: more of them where they are shuffled.
func (s *candidateSearch) paced(most int) int32 {
	if s.dice != nil {
		return few
	}
	return int32(max(most, pace))
}

func (s *candidateSearch) rootsByRoom(class int32, amount int64) rootFetch {
	free, id := int64(math.MaxInt64), int64(math.MaxInt64)
	return func(b *batch, most int) func(context.Context) (foundRoots, error) {
		answer := later(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByRoomRow, error) {
			return s.queries.CandidateRootsByRoom(ctx, to, db.CandidateRootsByRoomParams{
				ClassID: class, Amount: amount, BeforeFree: free, BeforeID: id, Most: s.paced(most),
			})
		})
		return func(ctx context.Context) (found foundRoots, err error) {
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
	return func(b *batch, most int) func(context.Context) (foundRoots, error) {
		answer := later(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByTraitRow, error) {
			return s.queries.CandidateRootsByTrait(ctx, to, wanted.Traits, after, s.paced(most))
		})
		return func(ctx context.Context) (found foundRoots, err error) {
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
	return func(b *batch, most int) func(context.Context) (foundRoots, error) {
		answer := later(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsByAggregateRow, error) {
			return s.queries.CandidateRootsByAggregate(ctx, to, aggregates, after, s.paced(most))
		})
		return func(ctx context.Context) (found foundRoots, err error) {
			rows, err := answer(ctx)
			for _, row := range rows {
				found.roots, found.providers = append(found.roots, row.RootID), append(found.providers, row.ProviderID)
				after = row.ProviderID
			}
			return found, err
		}
	}
}
