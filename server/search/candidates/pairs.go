package candidates

import (
	"context"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// pair is two predicates that every candidate meets, each of them a trait or an aggregate. If together is true, one
// provider meets both. Other trees need not be searched.
type pair struct {
	first, second predicate
	together      bool
	// after is the last returned root; isOver is true after the last page.
	after  int64
	isOver bool
}

// maxPairConditions limits the conditions of which pairs are compared: the number of bits of a sampled provider.
const maxPairConditions = 62

// pairCondition is a trait or an aggregate that every candidate needs.
type pairCondition struct {
	Bit int64 `json:"bit"`
	predicate
	// provider is the number of the provider that must meet the condition; anyProvider is for any of the tree.
	provider int
}

const anyProvider = -1

// pairConditions returns the conditions of the query with one trait or aggregate each. Those with the same number are
// conditions of one provider: a suffixed group, the unsuffixed group if it has one class that is not split, and the root. A tree can be in
// an aggregate of the unsuffixed group by its root.
func (s *candidateSearch) pairConditions() (all []pairCondition) {
	bits := map[string]int64{}
	add := func(item predicate, provider int) {
		if len(item.Traits)+len(item.Aggregates) != 1 || len(all) == maxPairConditions {
			return
		}
		key := string(encoded(item))
		if bits[key] == 0 {
			bits[key] = bit(len(bits))
		}
		all = append(all, pairCondition{Bit: bits[key], predicate: item, provider: provider})
	}
	for i := range s.ids.rootRequired {
		add(predicate{Traits: s.ids.rootRequired[i : i+1]}, len(s.ids.groups))
	}
	for _, set := range s.ids.rootMemberOf {
		add(predicate{Aggregates: set}, len(s.ids.groups))
	}
	for i := range s.ids.groups {
		group, member, holder := &s.ids.groups[i], i, i
		if group.Suffix == "" {
			member = anyProvider
			if len(group.classes)+len(s.splits) > 1 {
				holder = anyProvider
			}
		}
		for _, set := range group.required {
			add(predicate{Traits: set}, holder)
		}
		for _, set := range group.memberOf {
			add(predicate{Aggregates: set}, member)
		}
	}
	return all
}

// shouldFindPair reports whether the trees of the chosen lead yielded so few candidates that two predicates may be common,
// but rare together.
func (s *candidateSearch) shouldFindPair() bool {
	limits := &s.of.thresholds
	return s.leads.probed && !s.leads.paired && !s.leads.named &&
		s.tally.Roots > limits.PairTrees && limits.PairYield*s.tally.Candidates < s.tally.Roots
}

// pairSampleSize is the number of trees from which the search estimates how rare pairs are.
const pairSampleSize = 64

// findPair samples the last trees, and continues with those of the rarest pair of conditions, if it is rare.
func (s *candidateSearch) findPair() error {
	s.leads.paired = true
	defer func() { s.leads.history = nil }()
	all, sample := s.pairConditions(), s.leads.history
	sample = append([]int64{}, sample[max(0, len(sample)-pairSampleSize):]...)
	if len(all) < 2 {
		return nil
	}
	rows, shared, err := s.sample(all, sample)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c pairCondition) bool { return c.Bit&shared != 0 })
	within, yield := indexOfLead(all, s.chosen), s.of.thresholds.PairYield
	found, count := rarestPair(all, within, rows)
	if found == nil || yield*count > len(sample) {
		return nil
	}
	return s.tryPair(found, s.chosen == nil || within >= 0 || yield == 0)
}

// sample returns the conditions that the providers of some trees meet, and those that any sharing provider meets: a tree can
// use sharing providers of other trees, so that its own ones need not meet them.
func (s *candidateSearch) sample(all []pairCondition, roots []int64) (rows []db.CandidateSampleRow, shared int64, err error) {
	rows, err = postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]db.CandidateSampleRow, error) {
		return s.of.queries.CandidateSample(ctx, to, roots, s.ids.sharing, encoded(all))
	})
	if len(rows) > 0 && rows[0].RootID == 0 {
		shared, rows = rows[0].Met, rows[1:]
	}
	return rows, shared, err
}

// isOfTree reports whether no sharing provider meets a condition of a pair.
func (s *candidateSearch) isOfTree(of *pair) (bool, error) {
	if !s.ids.sharing {
		return true, nil
	}
	_, shared, err := s.sample([]pairCondition{{Bit: 1, predicate: of.first}, {Bit: 2, predicate: of.second}}, []int64{})
	return shared == 0, err
}

// tryPair continues with the trees of a pair if they are a part of the trees that the search has now, and else only if one
// page has all of them: the sample is of trees of the current lead, and does not estimate how many others have the pair.
// Most hosts can have both conditions, but no free capacity.
func (s *candidateSearch) tryPair(found *pair, isPart bool) (err error) {
	var roots []int64
	if !isPart {
		if roots, err = s.nextOfPair(found); err != nil || !found.isOver {
			return err
		}
	}
	s.startPair(found)
	s.give(roots)
	return nil
}

// indexOfLead returns the index of the condition that leads to the trees, -1 if it is none of them.
func indexOfLead(all []pairCondition, chosen *predicate) int {
	return slices.IndexFunc(all, func(c pairCondition) bool {
		return chosen != nil && slices.Equal(c.Traits, chosen.Traits) && slices.Equal(c.Aggregates, chosen.Aggregates)
	})
}

// rarestPair returns the pair that the fewest sampled trees meet, and their number; nil if there is no pair. within is the
// condition that must be in the pair, -1 for any pair.
func rarestPair(all []pairCondition, within int, rows []db.CandidateSampleRow) (found *pair, fewest int) {
	for i := range all {
		for j := range all[:i] {
			isWithin := within < 0 || all[i].Bit == all[within].Bit || all[j].Bit == all[within].Bit
			if all[i].Bit == all[j].Bit || !isWithin {
				continue
			}
			together := all[i].provider == all[j].provider && all[i].provider != anyProvider
			if count := countPair(rows, all[i].Bit|all[j].Bit, together); found == nil || count < fewest {
				found, fewest = &pair{first: all[j].predicate, second: all[i].predicate, together: together}, count
			}
		}
	}
	if found != nil && len(found.first.Aggregates) > 0 { // a trait comes first
		found.first, found.second = found.second, found.first
	}
	return found, fewest
}

// countPair returns in how many trees one provider, or several, have all bits. Rows are in the order of trees.
func countPair(rows []db.CandidateSampleRow, wanted int64, together bool) (count int) {
	met, counted := int64(0), false
	for i, row := range rows {
		if i == 0 || row.RootID != rows[i-1].RootID {
			met, counted = 0, false
		}
		if met |= row.Met; together {
			met = row.Met
		}
		if !counted && met&wanted == wanted {
			count, counted = count+1, true
		}
	}
	return count
}

// startPair continues with the trees of a pair, and skips the trees that were searched already.
func (s *candidateSearch) startPair(found *pair) {
	s.pair, s.chosen = found, nil
	s.before.leads, s.before.candidates = s.foundLeads, s.tally.Candidates
	s.leads.leave(leads{kind: leadNone, isOver: true})
	s.leads.paired = true
}

// loadPair queries the next trees of the pair, if the search has one and has searched all trees before.
func (s *candidateSearch) loadPair() error {
	for s.pair != nil && !s.pair.isOver && len(s.leads.given) == 0 {
		roots, err := s.nextOfPair(s.pair)
		if err != nil {
			return err
		}
		s.give(roots)
	}
	return nil
}

// nextOfPair returns the roots of the next trees of a pair.
func (s *candidateSearch) nextOfPair(of *pair) ([]int64, error) {
	args := db.CandidateRootsByPairParams{
		Aggregates: int32(len(of.first.Aggregates) + len(of.second.Aggregates)),
		First:      of.first.id(), Second: of.second.id(), Together: of.together,
		After: of.after, MaxRows: int32(s.of.thresholds.PageSize),
	}
	roots, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return s.of.queries.CandidateRootsByPair(ctx, to, args)
	})
	if of.isOver = len(roots) < s.of.thresholds.PageSize; len(roots) > 0 {
		of.after = roots[len(roots)-1]
	}
	return roots, err
}

// give continues with the roots that no earlier page had.
func (s *candidateSearch) give(roots []int64) {
	for _, root := range roots {
		if !s.leads.known[root] {
			s.leads.given = append(s.leads.given, root)
		}
	}
	if given := s.leads.given; s.rng != nil {
		s.rng.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
	}
}

// fromStart returns the pair before its first page; nil without one.
func (p *pair) fromStart() *pair {
	if p == nil {
		return nil
	}
	return &pair{first: *p.first.clone(), second: *p.second.clone(), together: p.together}
}

// id returns the only trait or aggregate of a predicate.
func (p *predicate) id() int32 {
	return append(p.Traits[:len(p.Traits):len(p.Traits)], p.Aggregates...)[0]
}
