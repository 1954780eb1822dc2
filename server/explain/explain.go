package explain

import (
	"context"
	"slices"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/postgres"
)

// Explainer explains candidate queries.
type Explainer struct {
	search  *candidates.Search
	queries *db.Queries
}

// New returns an explainer that tries changed queries with a search.
func New(search *candidates.Search) *Explainer { return &Explainer{search: search, queries: db.New()} }

// explaining is an explanation while it is made.
type explaining struct {
	*Explainer
	asked *Question
	r     *resolved
	in    *postgres.Snapshot
	tally *tally
	inUse *db.ExplainNamesInUseRow
	// roots is the number of all roots.
	roots int64
	// inTree is how many anchors in_tree leaves, -1 without it.
	inTree int64
	// pages may be read until then.
	until time.Time
	// failedAt is the first combination stage at which a tree has no candidate.
	failedAt map[int64]string
	// base is how many candidates the question has.
	base int
	made Explanation
}

// pageTrees is how many trees one statement reads.
const pageTrees = 500

// Explain explains a query in the snapshot in which it was searched. found is how many candidates the search found. It takes
// at most the given time; what is not done by then is missing, and the explanation says so.
func (x *Explainer) Explain(ctx context.Context, in *postgres.Snapshot, asked *Question, limit time.Duration) (*Explanation, error) {
	begun := time.Now()
	e := &explaining{Explainer: x, asked: asked, in: in, until: begun.Add(limit / 2), inTree: -1}
	e.made = Explanation{Kind: "candidates"}
	if err := e.explain(ctx, begun.Add(limit)); err != nil {
		return nil, err
	}
	took := time.Since(begun).Milliseconds()
	now := time.Now().UTC()
	e.made.MadeAt, e.made.TookMS = &now, &took
	return &e.made, nil
}

func (e *explaining) explain(ctx context.Context, end time.Time) (err error) {
	if e.r, err = newQuestion(&e.asked.Query).resolve(ctx, e.queries, e.in); err != nil {
		return err
	}
	facts, conflicts, reason, err := e.facts(ctx)
	if err != nil {
		return err
	}
	e.made.Facts, e.made.Conflicts = facts, conflicts
	e.tally = newTally(e.r)
	if err := e.walk(ctx); err != nil {
		return err
	}
	e.tally.finish()
	stages, err := e.combinations(ctx)
	if err != nil {
		return err
	}
	e.made.Funnel = append(e.funnel(), stages...)
	e.made.Parts = e.parts()
	e.isolatedConflicts()
	e.made.Nearest = e.nearest()
	e.made.Reason = e.reason(reason)
	if err := e.relax(ctx, end); err != nil {
		return err
	}
	e.made.Summary = e.summary()
	return nil
}

// walk judges the trees: those of in_tree, or all, in an order that makes those judged so far a sample.
func (e *explaining) walk(ctx context.Context) (err error) {
	if e.roots, err = postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) (int64, error) {
		return e.queries.ExplainRootCount(ctx, to)
	}); err != nil {
		return err
	}
	e.made.Sample = &Sample{Exact: true, Trees: e.roots}
	if roots, named, err := e.namedRoots(ctx); named || err != nil {
		e.inTree = int64(len(roots))
		for page := range slices.Chunk(roots, pageTrees) {
			if err := e.judge(ctx, page); err != nil {
				return err
			}
		}
		e.made.Sample.LookedAt = e.roots
		return err
	}
	place, id := int64(-1<<63), int64(0)
	for {
		rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainRootsRow, error) {
			return e.queries.ExplainRoots(ctx, to, place, id, pageTrees)
		})
		if err != nil {
			return err
		}
		var page []int64
		for _, row := range rows {
			page = append(page, row.ID)
			place, id = row.Place, row.ID
		}
		if err := e.judge(ctx, page); err != nil {
			return err
		}
		if len(rows) < pageTrees {
			break
		}
		if time.Now().After(e.until) {
			e.made.Sample.Exact = false
			break
		}
	}
	e.made.Sample.LookedAt = e.tally.all
	return nil
}

func (e *explaining) judge(ctx context.Context, roots []int64) error {
	p, err := e.r.read(ctx, e.queries, e.in, append([]int64{}, roots...))
	if err != nil {
		return err
	}
	e.tally.add(p, roots)
	return nil
}

// namedRoots returns the anchors that can serve every group with in_tree; named is false if no group has it.
func (e *explaining) namedRoots(ctx context.Context) (roots []int64, named bool, err error) {
	for _, one := range e.r.parts {
		if one.inTree == nil {
			continue
		}
		tree := e.r.trees[*one.inTree]
		anchors := []int64{tree}
		if tree < 0 {
			return nil, true, nil
		}
		if one.suffixed && e.r.sharing {
			found, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]int64, error) {
				return e.queries.CandidateAnchors(ctx, to, []int64{}, tree)
			})
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

// reason returns the reason of the explanation. empty is that of the first single thing that nothing has.
func (e *explaining) reason(empty Reason) Reason {
	switch last := e.made.Funnel[len(e.made.Funnel)-1]; {
	case last.Trees > 0:
		return Fits
	case e.inTree >= 0:
		if slices.ContainsFunc(e.made.Conflicts, func(c Conflict) bool { return c.Conflict == "in_tree_unknown" }) {
			return InTree
		}
	case empty != "":
		return empty
	}
	if len(e.tally.met) > 0 {
		return Together
	}
	return NoTree
}
