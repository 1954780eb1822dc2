package store

import (
	"github.com/berthd/berth/server/combine"
	"github.com/berthd/berth/server/fault"
)

// spend is asked by package combine, at the latest after combine.Patience steps in one
// tree. It ends the search of a client that left, and one that is over its budget. What
// a tree takes less is not counted, so that a question may see as many trees as there
// are: the budget is for combinations that multiply.
func (s *candidateSearch) spend() error {
	if s.query.Budget > 0 {
		if s.spent += combine.Patience; s.spent > s.query.Budget {
			return fault.New(fault.Invalid, "The search for allocation candidates was ended: more than %d combinations of providers "+
				"would have to be tried, which is the setting candidate-budget. Ask with a limit, with fewer groups, or with "+
				"traits, aggregates or in_tree that fewer providers meet.", s.query.Budget)
		}
	}
	return s.ctx.Err()
}

// rehearse goes through the first trees of a question that wants very many candidates if
// there may be more combinations than the budget allows. An answer that can't be given as a whole is
// refused before its first byte, and not broken off after some megabytes.
func (c *Candidates) rehearse() error {
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

// combinations is how many there are at most.
func (s *candidateSearch) combinations(trees []*candidateTree) (most float64) {
	for _, tree := range trees {
		each := 1.0
		for i := range s.asked.Wants {
			each *= float64(len(tree.Fits[s.asked.Wants[i].Slot]))
		}
		most += each
	}
	return most
}
