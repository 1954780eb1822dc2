package candidates

import (
	"context"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// predicate is a condition that one provider of every candidate meets, so that the search may skip all trees without
// such a provider. If Count is set, it is that the tree has so many providers of the class.
type predicate struct {
	Class      *int32 `json:"class,omitempty"`
	Amount     int64  `json:"amount,omitempty"`
	Count      int64  `json:"count,omitempty"`
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
	for _, one := range s.isolatedCounts() {
		add(one)
	}
	return all
}

// isolatedCounts returns how many providers of a class a tree needs at least: with isolation, each suffixed group takes a
// provider of its own. A tree can also use sharing providers of other trees, so they are not counted if there are any.
func (s *candidateSearch) isolatedCounts() (counts []predicate) {
	if !s.query.Isolate || s.ids.sharing {
		return nil
	}
	for i := range s.ids.groups {
		group := &s.ids.groups[i]
		for j := range group.classes {
			if group.Suffix == "" {
				continue
			}
			at := slices.IndexFunc(counts, func(p predicate) bool { return *p.Class == group.classes[j] })
			if at < 0 {
				at = len(counts)
				counts = append(counts, predicate{Class: &group.classes[j]})
			}
			counts[at].Count++
		}
	}
	return slices.DeleteFunc(counts, func(p predicate) bool { return p.Count < 2 })
}

// shouldProbe reports whether the searched trees yielded so few candidates that the search should query the selectivity
// of its predicates.
func (s *candidateSearch) shouldProbe() bool {
	return !s.leads.named && !s.leads.probed && 8*s.tally.Candidates < s.tally.Roots
}

// restartFromRarest queries the selectivity of every predicate, and continues with the trees of the rarest one. fits is
// false if no provider meets one of them.
func (s *candidateSearch) restartFromRarest() (fits bool, err error) {
	s.leads.probed = true
	all := s.predicates()
	if len(all) == 0 {
		return true, nil
	}
	sample, limit := s.leads.sample(), int64(s.of.thresholds.Count)
	rows, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]db.CandidateSelectivityRow, error) {
		return s.of.queries.CandidateSelectivity(ctx, to, db.CandidateSelectivityParams{
			Sharing: s.ids.sharing, MaxRows: int32(limit), Sample: sample, Predicates: encoded(all),
		})
	})
	if err != nil {
		return false, err
	}
	rarest := slices.MinFunc(rows, func(a, b db.CandidateSelectivityRow) int {
		if a.Found >= limit && b.Found >= limit {
			return int(a.Sampled - b.Sampled)
		}
		return int(a.Found - b.Found)
	})
	isRare := rarest.Found < limit || 4*int(rarest.Sampled) <= len(sample) && s.query.Limit > 0
	if !isRare {
		return true, nil
	}
	s.chosen = &all[rarest.Position-1]
	s.before.leads, s.before.candidates = s.foundLeads, s.tally.Candidates
	s.leads.leave(treesOf(s.chosen))
	return rarest.Found > 0, nil
}
