package candidates

import (
	"context"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
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
	// firstRoot and lastRoot are those between which a randomized search begins; 0: it begins with the first tree.
	firstRoot, lastRoot int64
}

// clone returns a copy that shares no memory with the query.
func (p *predicate) clone() *predicate {
	if p == nil {
		return nil
	}
	result := *p
	result.Traits, result.Aggregates = slices.Clone(p.Traits), slices.Clone(p.Aggregates)
	if p.Class != nil {
		result.Class = new(int32)
		*result.Class = *p.Class
	}
	return &result
}

// predicates returns the distinct conditions of the query: groups with equal conditions are no more selective together.
func (s *candidateSearch) predicates() []predicate {
	var all []predicate
	known := map[string]bool{}
	add := func(item predicate) {
		if key := string(encoded(item)); !known[key] {
			known[key] = true
			all = append(all, item)
		}
	}
	for i := range s.ids.rootRequired {
		add(predicate{Traits: s.ids.rootRequired[i : i+1], ofRoot: true})
	}
	for i := range s.ids.rootMemberOf {
		add(predicate{Aggregates: s.ids.rootMemberOf[i], ofRoot: true})
	}
	for i := range s.ids.groups {
		group := &s.ids.groups[i]
		for j := range group.classes {
			amount := group.Resources[j].Amount
			if group.Suffix == "" && slices.Contains(s.query.CanSplit, group.Resources[j].Class) {
				amount = leastPart(amount)
			}
			if s.query.isFreed {
				amount = anyFree
			}
			add(predicate{Class: &group.classes[j], Amount: amount})
		}
		for _, set := range group.required {
			add(predicate{Traits: set})
		}
		for _, set := range group.memberOf {
			add(predicate{Aggregates: set})
		}
	}
	for _, count := range s.isolatedCounts() {
		add(count)
	}
	return all
}

// isolatedCounts returns how many providers of a class a tree needs at least: each group of an isolated set takes a
// provider of its own. A tree can also use sharing providers of other trees, so they are not counted if there are any.
func (s *candidateSearch) isolatedCounts() (counts []predicate) {
	if s.ids.sharing {
		return nil
	}
	for _, set := range s.query.isolatedSets() {
		inSet := map[int32]int64{}
		for _, place := range set {
			group := &s.ids.groups[place]
			for j, class := range group.classes {
				if inSet[class]++; inSet[class] >= 2 {
					counts = append(counts, predicate{Class: &group.classes[j], Count: inSet[class]})
				}
			}
		}
	}
	return slices.DeleteFunc(counts, func(p predicate) bool {
		return slices.ContainsFunc(counts, func(o predicate) bool { return *o.Class == *p.Class && o.Count > p.Count })
	})
}

// orderRareTrees finds and sorts the trees of an ordered query if few providers meet one of its conditions, because many
// others would come before them. fits is false if no provider meets it.
func (s *candidateSearch) orderRareTrees() (fits bool, err error) {
	roots := s.leads.given
	if !s.leads.named {
		ordered := s.leads
		if fits, err = s.restartFromRarest(); !fits || err != nil {
			return fits, err
		}
		if s.chosen == nil {
			s.leads = ordered
			return true, nil
		}
		if roots, err = s.allLeads(); err != nil {
			return false, err
		}
		s.chosen = nil
	}
	if !s.query.isByCapacity() {
		slices.Sort(roots)
		s.leads = leads{given: slices.Compact(roots), named: true}
		return true, nil
	}
	sorted, err := s.treesByFree(roots)
	s.leads = leads{given: sorted, named: true}
	return true, err
}

// treesByFree returns those of some trees that have enough free capacity of the class of the order, in that order.
func (s *candidateSearch) treesByFree(roots []int64) ([]int64, error) {
	return postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return s.of.queries.CandidateTreesByFree(ctx, to, db.CandidateTreesByFreeParams{
			Roots: roots, Sharing: s.ids.sharing, ClassID: s.orderedClass(), Amount: s.leastOrdered, Most: s.query.Order.By == OrderSpread,
		})
	})
}

// allLeads returns the roots of all trees to which a rare predicate leads.
func (s *candidateSearch) allLeads() (roots []int64, err error) {
	for {
		sent, err := s.sent, error(nil)
		if sent == nil {
			sent, err = s.send(s.of.thresholds.Count)
		}
		if sent == nil || err != nil {
			return roots, err
		}
		p, err := s.receive(sent)
		if err != nil {
			return nil, err
		}
		for i := range p.leads {
			roots = append(roots, p.leads[i].root)
		}
		p.release()
	}
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
			Sharing: s.ids.sharing, MaxRows: int32(limit), Sample: sample, Predicates: encoded(all), MaxIds: maxHintIDs,
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
	isRare := rarest.Found < limit || len(sample) > 0 && 4*int(rarest.Sampled) <= len(sample) && s.query.Limit > 0
	if !isRare {
		return true, nil
	}
	s.chosen = &all[rarest.Position-1]
	s.chosen.firstRoot, s.chosen.lastRoot = rarest.FirstRoot, rarest.LastRoot
	s.before.leads, s.before.candidates = s.foundLeads, s.tally.Candidates
	s.leads.leave(s.treesOf(s.chosen))
	return rarest.Found > 0, nil
}
