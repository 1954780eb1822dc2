package candidates

import (
	"time"

	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/fault"
)

// chargeBudget is called by package combine, at the latest after combine.StopInterval steps in one tree. It returns an
// error if the request is canceled or the search exceeds its budget. Trees that take fewer steps cost nothing, so that
// a query may search all trees: the budget limits combinations that multiply.
func (s *candidateSearch) chargeBudget() error {
	if s.charge != nil {
		if err := s.charge(); err != nil {
			return err
		}
	} else if s.query.Budget > 0 {
		if s.spent += combine.StopInterval; s.spent > s.query.Budget {
			return fault.New(fault.Invalid, "The search for allocation candidates was canceled: more than %d combinations of providers "+
				"would have to be tried, which is the setting allocation-candidates-max-combinations. Add a limit, use fewer groups, or use "+
				"traits, aggregates or in_tree that fewer providers meet.", s.query.Budget).WithOwn(fault.CodeLimitCombinations)
		}
	}
	if err := s.checkTime(); err != nil {
		return err
	}
	return s.ctx.Err()
}

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
	count := 0
	walk := c.search.newWalk()
	for i := range c.found.leads {
		tree := c.builder.build(c.found, c.found.leads[i].root)
		if tree == nil {
			continue
		}
		walk.reset(tree)
		for walk.next() {
			if count++; count == query.Limit {
				break
			}
		}
		if walk.err != nil {
			return walk.err
		}
		c.builder.forget()
	}
	c.search.spent = 0
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
