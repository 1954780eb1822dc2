package candidates

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fault"
)

// spending is the work of all searches for one query, which its budget limits. It counts combinations.
type spending struct {
	// spent is all of it, lost the part in trees that were given up.
	spent, lost int64
	// givenUp are the anchors of these trees.
	givenUp map[int64]bool
}

// maxShares is the largest number of trees among which a search divides what trees without a candidate may spend.
const maxShares = 16

// errTreeGivenUp ends the search of a tree that has spent its share without a candidate.
var errTreeGivenUp = errors.New("the tree has spent its share of the budget")

// chargeBudget is called by package combine, at the latest after combine.StopInterval steps in one tree. It returns an
// error if the request is canceled or the search exceeds its budget. Trees that take fewer steps cost nothing, so that
// a query may search all trees: the budget limits combinations that multiply.
func (s *candidateSearch) chargeBudget() error {
	if s.turn.Charge(combine.StopInterval) {
		return errRestart
	}
	if s.charge != nil {
		if err := s.charge(); err != nil {
			return err
		}
	} else if s.query.Budget > 0 {
		if err := s.chargeTree(s.walking); err != nil {
			return err
		}
	}
	if err := s.checkTime(); err != nil {
		return err
	}
	return s.ctx.Err()
}

// chargeTree counts an interval of combinations in a tree. A tree with candidates may spend all that is left of the budget,
// and the error then ends the query. A tree without any may spend its share, so that it does not end the search in others.
func (s *candidateSearch) chargeTree(of *treeWalk) error {
	if of.hasCandidate {
		if s.spending.spent += combine.StopInterval; s.spending.spent > s.query.Budget {
			return s.budgetFault("more than %d combinations of providers would have to be tried, which is the setting " +
				"allocation-candidates-max-combinations. Add a limit, use fewer groups, or use")
		}
		return nil
	}
	if of.spent == 0 {
		of.share = s.shareOfTree()
	}
	if of.spent+combine.StopInterval > of.share {
		s.spending.lost += of.spent
		return errTreeGivenUp
	}
	of.spent += combine.StopInterval
	s.spending.spent += combine.StopInterval
	return nil
}

// shareOfTree returns what the next tree may spend without a candidate. The last one may spend all that is left. Together the
// trees before it may spend half of the budget, so that they leave the other half to trees with candidates; each at most an
// equal share for the trees that can follow.
func (s *candidateSearch) shareOfTree() int64 {
	left, later := s.query.Budget-s.spending.spent, int64(maxShares-1)
	if s.leads.areOver() && len(s.query.freed) == 0 { // other trees follow those of freed amounts
		later = min(later, int64(s.unused))
	}
	if later == 0 {
		return left
	}
	return min(left, s.query.Budget/2-s.spending.lost) / (later + 1)
}

// isBudgetSpent reports whether nothing is left of the budget.
func (s *candidateSearch) isBudgetSpent() bool {
	return s.query.Budget > 0 && s.spending.spent+combine.StopInterval > s.query.Budget
}

// giveUp ends the search of a tree. Further searches for the query skip it.
func (s *candidateSearch) giveUp(of *treeWalk) {
	if s.spending.givenUp == nil {
		s.spending.givenUp = map[int64]bool{}
	}
	s.spending.givenUp[of.tree.Anchor] = true
	s.of.givenUp.add(s.ctx, of.tree.page.tree(of.tree.Anchor).uuid)
}

// checkGivenUp returns an error for a search that has found nothing and has given up a tree: it does not know whether there is
// a candidate.
func (s *candidateSearch) checkGivenUp(found int) error {
	if found > 0 || len(s.spending.givenUp) == 0 {
		return nil
	}
	return s.budgetFault("it has found none, and would have to try more combinations of providers than the setting " +
		"allocation-candidates-max-combinations permits, which is %d. Use fewer groups, or use")
}

// budgetFault returns the error of a search that exceeds its budget. The reason formats the budget and leads to what fewer
// providers meet.
func (s *candidateSearch) budgetFault(reason string) error {
	return fault.New(fault.Invalid, "The search for allocation candidates was canceled: "+reason+
		" traits, aggregates or in_tree that fewer providers meet.", s.query.Budget).WithOwn(fault.CodeLimitCombinations)
}

// errRestart is searchpool.ErrRestart. No replica or primary has to repeat the search because of it.
var errRestart = fmt.Errorf("%w (%w)", searchpool.ErrRestart, postgres.ErrFinal)

// checkTime returns an error if the time of the search is over.
func (s *candidateSearch) checkTime() error {
	if !s.until.IsZero() && time.Now().After(s.until) {
		return errOutOfTime
	}
	return nil
}

// enforceBudgetBeforeOutput searches the first trees of a query with a very large limit or none, if there may be more
// combinations than the budget permits. So such a query is rejected before the first byte of the response, and not
// aborted after some megabytes.
func (c *Result) enforceBudgetBeforeOutput() error {
	query := c.search.query
	large := query.Budget / 8
	if query.Budget == 0 || query.Limit > 0 && int64(query.Limit) <= large || c.combinations() <= float64(large) {
		return nil
	}
	count, before := 0, *c.search.spending
	walk := c.search.newWalk()
	for i := range c.found.leads {
		c.search.unused = len(c.found.leads) - i - 1
		tree := c.builder.build(c.found, c.found.leads[i].root)
		if tree == nil {
			continue
		}
		walk.reset(tree)
		for first := count; !c.isLastOfTree(count-first) && (query.Limit == 0 || count < query.Limit) && walk.next(); {
			count++
		}
		if walk.err != nil {
			return walk.err
		}
		c.builder.forget()
	}
	of := c.search.spending
	of.spent, c.search.unused = before.spent+of.lost-before.lost, len(c.found.leads)
	return nil
}

// combinations returns an upper bound of the combinations in the first trees.
func (c *Result) combinations() (most float64) {
	if c.found == nil {
		return 0
	}
	for i := range c.found.leads {
		if tree := c.builder.build(c.found, c.found.leads[i].root); tree != nil {
			each := 1.0
			for _, want := range c.search.asked.Requirements {
				each *= float64(len(tree.Options[want.Slot]))
			}
			most += each
		}
		c.builder.forget()
	}
	c.search.tally.Trees = 0
	return most
}

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
