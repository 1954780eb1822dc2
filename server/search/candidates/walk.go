package candidates

import (
	"errors"
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/search/candidates/split"
)

// treeWalk iterates over the candidates of one tree after the other: first those in which one provider has each amount.
// Only if there are none, several providers share the amounts that the query can split: then for each choice of
// everything else, each smallest set of providers is a candidate.
type treeWalk struct {
	search *candidateSearch
	tree   *candidateTree
	whole  *combine.Search
	// unsplit chooses everything else; nil if nothing can be split, or if there is nothing else.
	unsplit *combine.Search
	sets    *split.Search
	// found is true after the first candidate, splitting after the last without a split amount, chosenAll after the last
	// choice of everything else.
	found, splitting, chosenAll bool
	// chosen are the providers by requirement, -1 for shared amounts; parts are those.
	chosen []int
	parts  []part
	steps  int
	err    error
	// hasCandidate is true after the first candidate. spent is the work in the tree before it, share what that may be.
	hasCandidate bool
	spent, share int64
	// isGivenUp is true after the search has given up the tree.
	isGivenUp bool
}

// part is what a provider gives of a split amount.
type part struct {
	row    int32
	split  int
	amount int64
}

func (s *candidateSearch) newWalk() *treeWalk {
	walk := &treeWalk{search: s, whole: s.plan.NewSearch()}
	if s.unsplitPlan != nil {
		walk.unsplit = s.unsplitPlan.NewSearch()
	}
	return walk
}

// reset begins with another tree.
func (w *treeWalk) reset(tree *candidateTree) {
	w.tree, w.found, w.splitting, w.chosenAll, w.sets, w.parts, w.steps, w.err = tree, false, false, false, nil, w.parts[:0], 0, nil
	w.hasCandidate, w.spent, w.isGivenUp = false, 0, w.search.spending.givenUp[tree.Anchor]
	w.whole.Reset(&tree.Tree)
}

// next finds the next candidate. It returns false after the last one, when the search gives up the tree, and with err when it
// ran out of its budget.
func (w *treeWalk) next() bool {
	if w.isGivenUp {
		return false
	}
	w.search.walking = w
	if w.findNext() {
		w.hasCandidate = true
		return true
	}
	if errors.Is(w.err, errTreeGivenUp) {
		w.err, w.isGivenUp = nil, true
		w.search.giveUp(w)
	}
	return false
}

// isLast reports whether it is known that no candidate follows the one that next found.
func (w *treeWalk) isLast() bool { return !w.splitting && w.whole.IsLast() }

// findNext is next without the end of a tree that is given up.
func (w *treeWalk) findNext() bool {
	if !w.splitting {
		if w.whole.Next() {
			w.found, w.chosen = true, w.whole.Chosen()
			return true
		}
		if w.err = w.whole.Err(); w.err != nil || w.found || len(w.search.splits) == 0 || !w.canSplit() {
			return false
		}
		w.splitting, w.chosen = true, make([]int, len(w.search.wants))
		if w.unsplit != nil {
			w.unsplit.Reset(&w.tree.Tree)
		}
	}
	for {
		if w.sets == nil && !w.chooseOthers() {
			return false
		}
		for w.sets.Next() {
			if w.takeSet(w.sets.Set()) {
				return true
			}
		}
		if w.err = w.sets.Err(); w.err != nil {
			return false
		}
		w.sets = nil
	}
}

// canSplit reports whether there is any set of providers if nothing else uses them.
func (w *treeWalk) canSplit() bool {
	sets := w.newSets(nil)
	can := sets.Next()
	w.err = sets.Err()
	return can
}

// chooseOthers makes the next choice of everything but the split amounts.
func (w *treeWalk) chooseOthers() bool {
	if w.chosenAll {
		return false
	}
	var chosen []int
	if w.unsplit == nil {
		w.chosenAll = true
	} else {
		if !w.unsplit.Next() {
			w.err = w.unsplit.Err()
			return false
		}
		chosen = w.unsplit.Chosen()
	}
	for i := range w.chosen {
		w.chosen[i] = -1
	}
	for i, want := range w.search.others {
		w.chosen[want] = chosen[i]
	}
	w.sets = w.newSets(chosen)
	return true
}

// newSets enumerates the sets of providers beside a choice of everything else.
func (w *treeWalk) newSets(chosen []int) *split.Search {
	s := w.search
	needs := make([]int64, len(s.splits))
	for i := range s.splits {
		needs[i] = s.splits[i].amount.Amount
	}
	providers := make([]split.Provider, len(w.tree.shares))
	for i, share := range w.tree.shares {
		providers[i] = split.Provider{Rank: i, Parts: make([]split.Range, len(needs))}
		for j, of := range share.inventories {
			if of != nil {
				free := of.free - w.usedOf(share.provider, of.class, chosen)
				providers[i].Parts[j] = split.RangeOf(free, of.minUnit, of.stepSize)
			} else {
				providers[i].Parts[j] = split.RangeOf(0, 1, 1)
			}
		}
	}
	return split.NewSearch(needs, providers, w.charge)
}

// usedOf returns what the other requirements use of a class on a provider.
func (w *treeWalk) usedOf(provider int, class int32, chosen []int) (used int64) {
	for i, place := range chosen {
		if place != provider {
			continue
		}
		for _, use := range w.search.unsplit.Requirements[i].Uses {
			if use.Class == class {
				used += use.Amount
			}
		}
	}
	return used
}

// charge counts the sets that are tried, or the equivalent other work, like steps of package combine.
func (w *treeWalk) charge(steps int) error {
	for w.steps += steps; w.steps >= combine.StopInterval; w.steps -= combine.StopInterval {
		if err := w.search.chargeBudget(); err != nil {
			return err
		}
	}
	return nil
}

// takeSet makes a set the found candidate, unless the unsuffixed group lacks a trait.
func (w *treeWalk) takeSet(set *split.Set) bool {
	rows := make([]int32, 0, len(set.Members)+len(w.chosen))
	for _, member := range set.Members {
		rows = append(rows, w.tree.rows[w.tree.shares[member].provider])
	}
	for i, place := range w.chosen {
		if place >= 0 && !w.search.asked.Requirements[i].Suffixed {
			rows = append(rows, w.tree.rows[place])
		}
	}
	for i := range w.search.sets {
		if !slices.ContainsFunc(rows, func(row int32) bool { return w.tree.page.meets(row, &w.search.sets[i]) }) {
			return false
		}
	}
	w.parts = w.parts[:0]
	for i, parts := range set.Parts {
		for member, amount := range parts {
			if amount > 0 {
				w.parts = append(w.parts, part{row: rows[member], split: i, amount: amount})
			}
		}
	}
	return true
}
