package candidates

import (
	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/fault"
)

// chargeBudget is called by package combine, at the latest after combine.StopInterval steps in one tree. It returns an
// error if the request is canceled or the search exceeds its budget. Trees that take fewer steps cost nothing, so that
// a query may search all trees: the budget limits combinations that multiply.
func (s *candidateSearch) chargeBudget() error {
	if s.query.Budget > 0 {
		if s.spent += combine.StopInterval; s.spent > s.query.Budget {
			return fault.New(fault.Invalid, "The search for allocation candidates was canceled: more than %d combinations of providers "+
				"would have to be tried, which is the setting allocation-candidates-max-combinations. Add a limit, use fewer groups, or use "+
				"traits, aggregates or in_tree that fewer providers meet.", s.query.Budget)
		}
	}
	return s.ctx.Err()
}

// enforceBudgetBeforeOutput searches the first trees of a query with a very large limit or none, if there may be more
// combinations than the budget permits. So such a query is rejected before the first byte of the response, and not
// aborted after some megabytes.
func (c *Result) enforceBudgetBeforeOutput() error {
	query := c.search.query
	large := query.Budget / 8
	if query.Budget == 0 || query.Limit > 0 && int64(query.Limit) <= large || c.search.combinations(c.found) <= float64(large) {
		return nil
	}
	count := 0
	walk := c.search.plan.NewSearch()
	for _, tree := range c.found {
		walk.Reset(&tree.Tree)
		for walk.Next() {
			if count++; count == query.Limit {
				break
			}
		}
		if err := walk.Err(); err != nil {
			return err
		}
	}
	c.search.spent = 0
	return nil
}

// combinations returns an upper bound of the combinations in the trees.
func (s *candidateSearch) combinations(trees []*candidateTree) (most float64) {
	for _, tree := range trees {
		each := 1.0
		for i := range s.asked.Requirements {
			each *= float64(len(tree.Options[s.asked.Requirements[i].Slot]))
		}
		most += each
	}
	return most
}
