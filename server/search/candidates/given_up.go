package candidates

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"
)

// givenUpTrees counts the trees that searches give up.
type givenUpTrees struct {
	count  atomic.Int64
	report func(ctx context.Context, root uuid.UUID)
}

// add counts and reports a tree.
func (g *givenUpTrees) add(ctx context.Context, root uuid.UUID) {
	g.count.Add(1)
	if g.report != nil {
		g.report(ctx, root)
	}
}

// TreesGivenUp returns how many trees the searches have given up: they spent their share of a query's budget without a
// candidate. Each counts once for each query.
func (s *Search) TreesGivenUp() int64 { return s.givenUp.count.Load() }

// ReportGivenUp sets what is called for each such tree, with the root. It must be called before the first search.
func (s *Search) ReportGivenUp(report func(ctx context.Context, root uuid.UUID)) {
	s.givenUp.report = report
}
