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
	// firstFitsTrees and maxFitsTrees are how many trees are tried together: the first time, and at most.
	firstFitsTrees, maxFitsTrees = 8, 64
	// maxEnds is how many allocations of these trees are read, those that end first.
	maxEnds = 20_000
	// minFitsTries is how many searches are made before their time counts: those for one of 100,000 times in one tree.
	minFitsTries = 24
	// maxFitsCandidates is how many candidates are compared for the consumers that they wait for.
	maxFitsCandidates = 16
	// maxFitsConsumers is how many consumers an explanation shows.
	maxFitsConsumers = 20
)

// fitsSearch finds the first time at which the query fits.
type fitsSearch struct {
	*explanationBuilder
	// tries is how many searches were made. After minFitsTries of them the search ends at slow, and in any case at end.
	tries     int
	slow, end time.Time
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

// addFitsAt finds the first time at which the query has a candidate, if each consumer is gone at its until. Before begun, it
// takes at most as long as the explanation has taken, unless a few searches are enough.
func (e *explanationBuilder) addFitsAt(ctx context.Context, begun time.Time) error {
	now := time.Now()
	f := &fitsSearch{explanationBuilder: e, slow: now.Add(now.Sub(begun)), end: now.Add(time.Until(e.end) / freedTime), best: fitsTree{at: never}}
	trees, err := e.boundFull(ctx)
	if err != nil {
		return err
	}
	trees = slices.DeleteFunc(trees, e.tally.neverFits)
	for size := firstFitsTrees; len(trees) > 0 && trees[0].from < f.best.at && !f.isOver; size = min(2*size, maxFitsTrees) {
		size = min(size, len(trees))
		if err := f.try(ctx, trees[:size]); err != nil {
			return err
		}
		trees = trees[size:]
	}
	isExact := !f.isOver && !f.isInexact && !e.tally.isFullCut && e.explanation.Sample.Exact && len(e.givenUp) == 0
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

// neverFits reports whether a tree is known to have no candidate even when it is empty.
func (t *tally) neverFits(of fullTree) bool {
	return slices.ContainsFunc(t.nearest, func(r treeResult) bool {
		return r.root.id == of.root && r.freedBy.IsKnown && r.freedBy.FreedSet == nil
	})
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
	ended, err := f.readEnds(ctx, slices.Collect(maps.Keys(p.nodes)))
	if err != nil {
		return err
	}
	times := f.timesOf(ended, trees[0].from)
	if len(times) == 0 {
		return nil
	}
	// The query fits from a time on: it has no candidate at times[first-1], and one of the roots has one at times[last].
	first, last := 0, len(times)
	for _, at := range []int{0, len(times) - 1} {
		if first <= at && last > at {
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
	return nil
}

// readEnds reads what the consumers with an end hold on some providers of the classes of the query, those first that end first.
func (f *fitsSearch) readEnds(ctx context.Context, providers []int64) ([]db.ExplainEndingAllocationsRow, error) {
	rows, err := postgres.QueryOnce(ctx, f.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainEndingAllocationsRow, error) {
		return f.queries.ExplainEndingAllocations(ctx, to, providers, append([]int32{}, f.r.classIDs...), maxEnds)
	})
	if err != nil || len(rows) < maxEnds {
		return rows, err
	}
	f.isInexact = true // some are missing: perhaps some of those that end at the last time
	last := rows[len(rows)-1].Until
	return slices.DeleteFunc(rows, func(r db.ExplainEndingAllocationsRow) bool { return r.Until.Equal(last) }), nil
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
	now := time.Now()
	if f.tries++; now.After(f.end) || f.tries > minFitsTries && now.After(f.slow) {
		f.isOver = true
		return nil, nil
	}
	tried := []int64{}
	for i := range trees {
		if trees[i].from <= at && slices.Contains(roots, trees[i].root) {
			tried = append(tried, trees[i].root)
		}
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

// endingHolder is a consumer with an end, and what it holds of what a candidate lacks.
type endingHolder struct {
	holder
	until moment
}

// shown returns the best time in the format of an explanation, with the consumers of the candidate that waits for the fewest.
func (f *fitsSearch) shown(ctx context.Context) (*Fit, error) {
	nodes := map[int64]*node{}
	for _, node := range f.best.page.usable(f.best.root) {
		nodes[node.id] = node
	}
	found, _, err := f.search.ListFreed(ctx, f.in, ofOneTree(&f.Query), f.best.root, f.freedIn(nodes), maxFitsCandidates, f.end)
	if err != nil {
		return nil, err
	}
	var waitsFor []endingHolder
	for i := range found {
		if set := f.waitsFor(deficitsOf(&found[i], nodes)); i == 0 || len(set) < len(waitsFor) {
			waitsFor = set
		}
	}
	fit := &Fit{At: f.best.at.time(), Tree: f.best.page.nodes[f.best.root].name, Consumers: []FitConsumer{}}
	fit.More = max(0, len(waitsFor)-maxFitsConsumers)
	for _, each := range waitsFor[:len(waitsFor)-fit.More] {
		fit.Consumers = append(fit.Consumers, FitConsumer{each.consumer, each.until.time(), f.heldBy(&each.holder, nodes)})
	}
	return fit, nil
}

// freedIn returns what is free on some providers at the best time and not now.
func (f *fitsSearch) freedIn(nodes map[int64]*node) []candidates.FreedAmount {
	return slices.DeleteFunc(freedBy(f.best.ended, f.best.at), func(a candidates.FreedAmount) bool { return nodes[a.ProviderID] == nil })
}

// waitsFor returns consumers that end until the best time and together hold some deficits, those first that end last. None of
// them can stay.
func (f *fitsSearch) waitsFor(deficits []deficit) []endingHolder {
	lacked := map[stockKey]int64{}
	for _, deficit := range deficits {
		lacked[deficit.of] = -deficit.need
	}
	byConsumer := map[uuid.UUID]*endingHolder{}
	for i := range f.best.ended {
		row := &f.best.ended[i]
		key := stockKey{row.ProviderID, row.ClassID}
		if _, isLacked := lacked[key]; !isLacked || momentOf(row.Until) > f.best.at {
			continue
		}
		if byConsumer[row.Consumer] == nil {
			byConsumer[row.Consumer] = &endingHolder{holder{consumer: row.Consumer, held: map[stockKey]int64{}}, momentOf(row.Until)}
		}
		byConsumer[row.Consumer].held[key] = row.Used
		byConsumer[row.Consumer].total += row.Used
		lacked[key] += row.Used // what is more than enough
	}
	set := slices.SortedFunc(maps.Values(byConsumer), func(a, b *endingHolder) int {
		return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.total, b.total), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	var needed []endingHolder
	for _, each := range set {
		isNeeded := false
		for key, amount := range each.held {
			isNeeded = isNeeded || lacked[key] < amount
		}
		if isNeeded {
			needed = append(needed, *each)
			continue
		}
		for key, amount := range each.held {
			lacked[key] -= amount
		}
	}
	slices.Reverse(needed)
	return needed
}
