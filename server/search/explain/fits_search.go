package explain

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

const (
	// boundedTrees is how many trees one statement bounds, and how many are bounded before the time counts.
	boundedTrees = 250
	// firstFitsTrees and maxFitsTrees are how many trees are tried together: the first time, and at most.
	firstFitsTrees, maxFitsTrees = 8, 32
	// maxEnds is how many allocations of these trees are read, those that end first.
	maxEnds = 20_000
	// minFitsTries is how many trees are tried before the time counts, each once for each statement: what it takes for one of 60
	// times in the first trees.
	minFitsTries = 64
	// maxFitsCandidates is how many candidates are compared for the consumers that they wait for.
	maxFitsCandidates = 64
	// maxFitsConsumers is how many consumers an explanation shows.
	maxFitsConsumers = 20
)

// fitsSearch finds the first time at which the query fits.
type fitsSearch struct {
	*explanationBuilder
	// tries is how many trees the statements had, after the first bounds of all trees. After minFitsTries of them the search ends at
	// slow, and in any case at end. At late it bounds no further trees.
	tries           int
	late, slow, end time.Time
	// isOver is true if the time was over before all trees and times were compared.
	isOver bool
	// isInexact is true if there can be an earlier time.
	isInexact bool
	best      fitsTree
}

// fitsTree is the first time at which some tree has a candidate, and what the consumers of it hold that end.
type fitsTree struct {
	at    moment
	root  int64
	page  *page
	ended []db.ExplainEndingAllocationsRow
}

// addFitsAt finds the first time at which the query has a candidate, if each consumer is gone at its until. It takes at most
// three quarters of the time that the explanation has taken since it began, and the last statement, unless a few are enough; and half of the time
// that is left.
func (e *explanationBuilder) addFitsAt(ctx context.Context, begun time.Time) error {
	now := time.Now()
	f := &fitsSearch{explanationBuilder: e, slow: now.Add(cmp.Or(e.maxFits, now.Sub(begun)*3/4)), end: now.Add(e.end.Sub(now) / freedTime), best: fitsTree{at: never}}
	f.late = now.Add(min(f.slow.Sub(now), f.end.Sub(now)) * 3 / 4)
	if err := f.find(ctx, slices.DeleteFunc(e.tally.full, e.tally.neverFits)); err != nil {
		return err
	}
	isExact := !f.isInexact && !e.tally.isFullCut && e.explanation.Sample.Exact && len(e.givenUp) == 0
	switch {
	case f.best.at != never:
		fit, err := f.shown(ctx)
		if err != nil {
			return err
		}
		fit.Exact = isExact
		e.explanation.FitsAt = FitsAt{fit, true}
	case isExact:
		e.explanation.FitsAt.IsKnown = true
	}
	return nil
}

// find finds the best time of some trees. It tries them in the order of the first times at which they lack nothing, of which it
// finds a part for all trees, and all of it for those that come first.
func (f *fitsSearch) find(ctx context.Context, trees []fullTree) error {
	for begin, page := 0, min(boundedTrees, f.search.PageSize()); begin < len(trees); begin += page {
		if begin >= boundedTrees && time.Now().After(f.late) {
			f.isInexact, trees = true, trees[:begin]
			break
		}
		if err := f.bound(ctx, trees[begin:min(begin+page, len(trees))], false); err != nil {
			return err
		}
	}
	for size := min(firstFitsTrees, f.search.PageSize()); ; {
		trees = slices.DeleteFunc(trees, func(t fullTree) bool { return t.from >= f.best.at })
		if slices.SortFunc(trees, compareFull); len(trees) == 0 {
			return nil
		}
		bounded := slices.IndexFunc(trees, func(t fullTree) bool { return t.bounded < len(t.lacks) })
		if bounded < 0 {
			bounded = len(trees)
		}
		if bounded == 0 {
			page := trees[:min(maxFitsTrees, len(trees), f.search.PageSize())]
			if f.isSpent(0) {
				return nil
			}
			if err := f.bound(ctx, page, true); err != nil {
				return err
			}
			continue
		}
		bounded = min(bounded, size)
		if err := f.try(ctx, trees[:bounded]); err != nil || f.isOver {
			return err
		}
		trees, size = trees[bounded:], min(2*size, maxFitsTrees, f.search.PageSize())
	}
}

// isSpent counts the trees of a statement, and reports whether there is no time for it.
func (f *fitsSearch) isSpent(trees int) bool {
	now := time.Now()
	if f.tries += trees; now.After(f.end) || f.tries > minFitsTries && now.After(f.slow) {
		f.isOver, f.isInexact = true, true
	}
	return f.isOver
}

// try finds the first time before the best one at which one of some trees has a candidate. The trees are in the order of their
// first times.
func (f *fitsSearch) try(ctx context.Context, trees []fullTree) error {
	roots := make([]int64, len(trees))
	for i := range trees {
		roots[i] = trees[i].root
	}
	p, err := f.r.read(ctx, f.queries, f.in, roots)
	if err != nil {
		return err
	}
	ended, isCut, err := f.readEnds(ctx, slices.Collect(maps.Keys(p.nodes)))
	if err != nil {
		return err
	}
	times := f.timesOf(ended, trees[0].from)
	// The query fits from a time on: it has no candidate at times[first-1], and one of the roots has one at times[last].
	first, last := 0, len(times)
	for _, at := range []int{0, len(times) - 1} {
		if first <= at && at < last {
			found, err := f.fits(ctx, trees, roots, ended, times[at])
			if err != nil || f.isOver {
				return err
			}
			if len(found) == 0 {
				first = at + 1
				continue
			}
			last, roots = at, found
			f.best = fitsTree{times[at], found[0], p, ended}
		}
	}
	for first < last && last < len(times) {
		middle := (first + last) / 2
		found, err := f.fits(ctx, trees, roots, ended, times[middle])
		if err != nil || f.isOver {
			return err
		}
		if len(found) == 0 {
			first = middle + 1
			continue
		}
		last, roots = middle, found
		f.best = fitsTree{times[middle], found[0], p, ended}
	}
	f.isInexact = f.isInexact || isCut && last == len(times)
	return nil
}

// readEnds reads what the consumers with an end hold on some providers of the classes of the query, those first that end first.
// isCut is true if it has not read those that end last.
func (f *fitsSearch) readEnds(ctx context.Context, providers []int64) (ended []db.ExplainEndingAllocationsRow, isCut bool, err error) {
	ended, err = postgres.QueryOnce(ctx, f.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainEndingAllocationsRow, error) {
		return f.queries.ExplainEndingAllocations(ctx, to, providers, append([]int32{}, f.r.classIDs...), maxEnds)
	})
	if err != nil || len(ended) < maxEnds {
		return ended, false, err
	}
	last := ended[len(ended)-1].Until // perhaps some of those that end then are missing
	return slices.DeleteFunc(ended, func(r db.ExplainEndingAllocationsRow) bool { return r.Until.Equal(last) }), true, nil
}

// timesOf returns the times from a first one on at which consumers end, before the best one, each once.
func (f *fitsSearch) timesOf(ended []db.ExplainEndingAllocationsRow, first moment) (times []moment) {
	for i := range ended {
		at := momentOf(ended[i].Until)
		if at >= first && at < f.best.at && (len(times) == 0 || times[len(times)-1] != at) {
			times = append(times, at)
		}
	}
	return times
}

// fits returns those of some roots that have a candidate at a time, in the order of trees.
func (f *fitsSearch) fits(
	ctx context.Context, trees []fullTree, roots []int64, ended []db.ExplainEndingAllocationsRow, at moment,
) ([]int64, error) {
	tried := []int64{}
	for i := range trees {
		if trees[i].from <= at && slices.Contains(roots, trees[i].root) {
			tried = append(tried, trees[i].root)
		}
	}
	if f.isSpent(len(tried)) {
		return nil, nil
	}
	found, isAll, err := f.search.TreesWithFreed(ctx, f.in, ofOneTree(&f.Query), slices.Clone(tried), freedBy(ended, at), f.end)
	f.isInexact = f.isInexact || !isAll
	return slices.DeleteFunc(tried, func(root int64) bool { return !slices.Contains(found, root) }), err
}

// freedBy returns what is free at a time and not now.
func freedBy(ended []db.ExplainEndingAllocationsRow, at moment) []candidates.FreedAmount {
	sums := map[stockKey]int64{}
	for i := range ended {
		if momentOf(ended[i].Until) <= at {
			sums[stockKey{ended[i].ProviderID, ended[i].ClassID}] += ended[i].Used
		}
	}
	freed := make([]candidates.FreedAmount, 0, len(sums))
	for key, amount := range sums {
		freed = append(freed, candidates.FreedAmount{ProviderID: key.provider, ClassID: key.class, Amount: amount})
	}
	return freed
}

// shown returns the best time in the format of an explanation, with the fewest consumers that a candidate waits for.
func (f *fitsSearch) shown(ctx context.Context) (*Fit, error) {
	nodes := map[int64]*node{}
	for _, node := range f.best.page.usable(f.best.root) {
		nodes[node.id] = node
	}
	freed := slices.DeleteFunc(freedBy(f.best.ended, f.best.at), func(a candidates.FreedAmount) bool { return nodes[a.ProviderID] == nil })
	found, _, err := f.search.ListFreed(ctx, f.in, ofOneTree(&f.Query), f.best.root, freed, maxFitsCandidates, f.end)
	if err != nil {
		return nil, err
	}
	waitsFor, ends := f.waitsFor(found, nodes)
	fit := &Fit{At: f.best.at.time(), Tree: f.best.page.nodes[f.best.root].name, Consumers: []FitConsumer{}}
	fit.More = max(0, len(waitsFor)-maxFitsConsumers)
	for i := range waitsFor[:len(waitsFor)-fit.More] {
		each := &waitsFor[i]
		fit.Consumers = append(fit.Consumers, FitConsumer{each.consumer, ends[each.consumer].time(), f.heldBy(each, nodes)})
	}
	return fit, nil
}

// waitsFor returns the fewest consumers that end until the best time and hold what one of some candidates lacks, with what they hold
// of this, and the ends of consumers. Those that end last come first.
func (f *fitsSearch) waitsFor(found []candidates.ClaimCandidate, nodes map[int64]*node) (set []holder, ends map[uuid.UUID]moment) {
	lacked := map[stockKey]bool{}
	all := make([][]deficit, len(found))
	for i := range found {
		all[i] = deficitsOf(&found[i], nodes)
		for _, deficit := range all[i] {
			lacked[deficit.of] = true
		}
	}
	holders, ends := f.endedHolders(lacked)
	sets, chosen := newCover(holders, f.end), -1
	for i := range all {
		before := len(sets.best)
		total := sets.bestTotal
		if sets.add(all[i]); sets.best != nil && (chosen < 0 || len(sets.best) < before || sets.bestTotal != total) {
			chosen = i
		}
	}
	if chosen < 0 {
		return nil, ends // the time is over
	}
	clear(lacked)
	for _, deficit := range all[chosen] {
		lacked[deficit.of] = true
	}
	for _, at := range sets.best {
		item := sets.holders[at]
		maps.DeleteFunc(item.held, func(key stockKey, _ int64) bool { return !lacked[key] })
		set = append(set, item)
	}
	slices.SortFunc(set, func(a, b holder) int {
		return cmp.Or(cmp.Compare(ends[b.consumer], ends[a.consumer]), cmp.Compare(b.total, a.total), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	return set, ends
}

// endedHolders returns the consumers that end until the best time, with what they hold of some inventories, and when they end.
func (f *fitsSearch) endedHolders(of map[stockKey]bool) (holders []holder, ends map[uuid.UUID]moment) {
	places := map[uuid.UUID]int{}
	ends = map[uuid.UUID]moment{}
	for i := range f.best.ended {
		row := &f.best.ended[i]
		key := stockKey{row.ProviderID, row.ClassID}
		if !of[key] || momentOf(row.Until) > f.best.at {
			continue
		}
		place, known := places[row.Consumer]
		if !known {
			place = len(holders)
			places[row.Consumer], ends[row.Consumer] = place, momentOf(row.Until)
			holders = append(holders, holder{consumer: row.Consumer, held: map[stockKey]int64{}})
		}
		holders[place].held[key] = row.Used
		holders[place].total += row.Used
	}
	return holders, ends
}
