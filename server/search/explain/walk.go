package explain

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

const (
	// maxPageTrees is how many trees one statement reads, firstPageTrees how many the first one reads.
	maxPageTrees, firstPageTrees = 500, 100
	// pagesPerWalk is a divisor: a page takes about this part of the time of the walk.
	pagesPerWalk = 8
	// maxRareProviders is how many providers must have a thing, so that the trees of all of them are judged.
	maxRareProviders = 512
	// maxRareTrees bounds the trees that are judged because of rare things.
	maxRareTrees = 2048
)

// walk judges the trees that not_in_tree leaves: those of in_tree, or those with something rare and then the others, from a
// random place of an order without meaning, until its time is over.
func (e *explanationBuilder) walk(ctx context.Context) (err error) {
	if e.tally.roots, err = postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (int64, error) {
		return e.queries.ExplainRootCount(ctx, to)
	}); err != nil {
		return err
	}
	named, isNamed, err := e.namedRoots(ctx)
	if err != nil {
		return err
	}
	excluded := e.excludedRoots()
	e.tally.rest = e.tally.roots - int64(len(excluded))
	if isNamed {
		e.inTree = int64(len(named))
		named = slices.DeleteFunc(named, func(root int64) bool { return excluded[root] })
		e.tally.rest = int64(len(named))
	}
	if len(e.Query.NotInTree) > 0 {
		e.notInTree = e.tally.rest
	}
	if isNamed {
		err = e.walkNamed(ctx, named)
	} else {
		err = e.walkRoots(ctx, excluded)
	}
	if err != nil {
		return err
	}
	return e.addTreeForEachGroup(ctx)
}

// excludedRoots returns the roots of the trees of not_in_tree.
func (e *explanationBuilder) excludedRoots() map[int64]bool {
	excluded := map[int64]bool{}
	for _, id := range e.Query.NotInTree {
		if root := e.r.trees[id]; root >= 0 {
			excluded[root] = true
		}
	}
	return excluded
}

// addTreeForEachGroup judges a tree in which each group finds a provider, if there is one and the sample has none: the reason
// must not depend on the sample.
func (e *explanationBuilder) addTreeForEachGroup(ctx context.Context) error {
	t := e.tally
	if t.rest == t.strata[sampled].all || t.met() > 0 || e.missing != "" && !e.r.namesTrees() {
		return nil
	}
	root, found, err := e.search.TreeForEachGroup(ctx, e.in, e.Query, e.walkEnd.Add(time.Until(e.end)/2))
	if !found || err != nil {
		return err
	}
	t.rest--
	return e.judgePage(ctx, []int64{root}, counted)
}

// walkNamed judges the trees of in_tree, in random order if they are many.
func (e *explanationBuilder) walkNamed(ctx context.Context, roots []int64) error {
	if len(roots) > maxPageTrees {
		rand.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
	}
	for page := range slices.Chunk(roots, maxPageTrees) {
		if err := e.judgePage(ctx, page, sampled); err != nil || time.Now().After(e.walkEnd) {
			return err
		}
	}
	return nil
}

// judgeAll judges trees, as far as the time permits, and returns those that it judged. They count as they are.
func (e *explanationBuilder) judgeAll(ctx context.Context, roots []int64) (judged map[int64]bool, err error) {
	judged = map[int64]bool{}
	for page := range slices.Chunk(roots, maxPageTrees) {
		if err := e.judgePage(ctx, page, counted); err != nil {
			return nil, err
		}
		for _, root := range page {
			judged[root] = true
		}
		if time.Now().After(e.walkEnd) {
			break
		}
	}
	return judged, nil
}

// walkRoots judges all roots but the excluded ones, as far as the time permits.
func (e *explanationBuilder) walkRoots(ctx context.Context, excluded map[int64]bool) error {
	if e.tally.roots > firstPageTrees {
		roots, err := e.rareRoots(ctx)
		if err != nil {
			return err
		}
		rare, err := e.judgeAll(ctx, slices.DeleteFunc(roots, func(root int64) bool { return excluded[root] }))
		if err != nil {
			return err
		}
		e.tally.rest -= int64(len(rare))
		maps.Copy(excluded, rare)
	}
	start := position{math.MinInt64, 0}
	if e.tally.rest > firstPageTrees {
		start.place = int64(rand.Uint64())
	}
	return e.walkFrom(ctx, start, excluded)
}

// walkFrom judges the roots from a place on, and then those up to it, without some.
func (e *explanationBuilder) walkFrom(ctx context.Context, start position, without map[int64]bool) error {
	at, until, size := start, position{math.MaxInt64, math.MaxInt64}, firstPageTrees
	for isOver := false; !isOver && e.tally.strata[sampled].all < e.tally.rest; {
		begun := time.Now()
		if e.tally.strata[sampled].all > 0 && begun.After(e.walkEnd) {
			return nil
		}
		page, err := e.nextRoots(ctx, &at, until, size)
		if err != nil {
			return err
		}
		if len(page) < size {
			isOver = until == start
			at, until = position{math.MinInt64, 0}, start
		}
		page = slices.DeleteFunc(page, func(root int64) bool { return without[root] })
		if err := e.judgePage(ctx, page, sampled); err != nil {
			return err
		}
		size = e.nextSize(size, time.Since(begun))
	}
	return nil
}

// position is a place in the order of hashed ids.
type position struct{ place, id int64 }

// nextRoots returns the next roots of the order, and moves behind them.
func (e *explanationBuilder) nextRoots(ctx context.Context, at *position, until position, size int) (roots []int64, err error) {
	rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainRootsRow, error) {
		return e.queries.ExplainRoots(ctx, to, db.ExplainRootsParams{
			AfterPlace: at.place, AfterID: at.id, UntilPlace: until.place, UntilID: until.id, MaxRows: int32(size),
		})
	})
	for _, row := range rows {
		roots = append(roots, row.ID)
		*at = position{row.Place, row.ID}
	}
	return roots, err
}

// nextSize returns the size of the next page: small enough that the walk ends in time.
func (e *explanationBuilder) nextSize(size int, took time.Duration) int {
	page := time.Until(e.end) / pagesPerWalk
	if took <= 0 {
		return maxPageTrees
	}
	return int(max(10, min(maxPageTrees, int64(size)*int64(page)/int64(took), 4*int64(size))))
}

// addSample says how many trees were judged.
func (e *explanationBuilder) addSample() {
	t := e.tally
	looked := &t.strata[sampled]
	e.explanation.Sample = &Sample{Exact: t.rest == looked.all, Trees: t.roots, LookedAt: t.looked()}
	if !e.explanation.Sample.Exact && looked.all > 0 {
		margin := math.Round(9800/math.Sqrt(float64(looked.all))) / 100
		atMost := (3*t.rest + looked.all - 1) / looked.all
		e.explanation.Sample.Margin, e.explanation.Sample.ZeroAtMost = &margin, &atMost
	}
}

// judgePage judges some trees: each condition by itself, and for the trees that meet all, the conditions for several groups
// together. After an error, none of them counts.
func (e *explanationBuilder) judgePage(ctx context.Context, roots []int64, in stratum) error {
	if len(roots) == 0 {
		return nil
	}
	p, err := e.r.read(ctx, e.queries, e.in, append([]int64{}, roots...))
	if err != nil {
		return err
	}
	found := newCounts(e.r, len(e.stages))
	if err := e.combine(ctx, e.tally.add(p, roots, found), found); err != nil {
		return err
	}
	e.tally.strata[in].add(found)
	return nil
}

// namedRoots returns the anchors that can serve every group with in_tree; named is false if no group has it.
func (e *explanationBuilder) namedRoots(ctx context.Context) (roots []int64, named bool, err error) {
	for _, part := range e.r.parts {
		if part.inTree == nil {
			continue
		}
		tree := e.r.trees[*part.inTree]
		anchors := []int64{tree}
		if tree < 0 {
			return nil, true, nil
		}
		if part.suffixed && e.r.sharing {
			found, err := e.anchors(ctx, nil, tree)
			if err != nil {
				return nil, true, err
			}
			anchors = append(anchors, found...)
		}
		slices.Sort(anchors)
		anchors = slices.Compact(anchors)
		if !named {
			roots, named = anchors, true
			continue
		}
		roots = slices.DeleteFunc(roots, func(root int64) bool { return !slices.Contains(anchors, root) })
	}
	return roots, named, nil
}

// anchors returns the roots of the trees that can use the sharing ones of some providers, and of a tree.
func (e *explanationBuilder) anchors(ctx context.Context, providers []int64, tree int64) ([]int64, error) {
	return postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return e.queries.CandidateAnchors(ctx, to, append([]int64{}, providers...), tree)
	})
}

// rareRoots returns the roots of the trees that have, or can use, something that few providers have.
func (e *explanationBuilder) rareRoots(ctx context.Context) ([]int64, error) {
	var all []thing
	for i, thing := range e.r.things() {
		fact := &e.explanation.Facts[i]
		isRare := !fact.More && fact.Providers < maxRareProviders
		if isRare && thing.Class != nil {
			thing.Least = math.MinInt64 // all providers of the class
		}
		if isRare || thing.Class != nil && *fact.WithRoom < maxRareProviders {
			all = append(all, thing)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainRareProvidersRow, error) {
		return e.queries.ExplainRareProviders(ctx, to, encodedThings(all), maxRareTrees)
	})
	if err != nil {
		return nil, err
	}
	var roots, sharing []int64
	for _, row := range rows {
		roots = append(roots, row.RootID)
		if row.Shares {
			sharing = append(sharing, row.ProviderID)
		}
	}
	if len(sharing) > 0 {
		anchors, err := e.anchors(ctx, sharing, 0)
		if err != nil {
			return nil, err
		}
		if len(anchors) <= maxRareTrees {
			roots = append(roots, anchors...)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}
