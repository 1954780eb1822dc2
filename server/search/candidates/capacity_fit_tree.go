package candidates

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// isSeparable reports whether the choice for a requirement does not depend on those for others: then a tree has a place for as
// many members as the requirement with the fewest. Different requirements use different classes, as those of the unsuffixed
// group do.
func (s *candidateSearch) isSeparable() bool {
	if s.asked.Sets+len(s.asked.Subtrees)+len(s.asked.Isolated)+len(s.splits) > 0 || s.asked.OneOfATree {
		return false
	}
	return len(s.repeatedClasses()) == 0
}

// searchTree adds a tree, of which there are some copies, to the result. It returns the number of copies that it has
// searched: the search ends with the one that completes the count.
func (f *fit) searchTree(p *page, root, copies int64) (searched int64, err error) {
	if p.tree(root) == nil {
		return 0, nil // the query excludes the root
	}
	if err := f.checkEnd(); err != nil {
		return 0, err
	}
	f.addSums(p, root, copies)
	tree := f.builder.build(p, root)
	fitting, most := int64(0), int64(0)
	if tree != nil {
		fitting, most, err = f.countIn(tree, f.limitOf())
		if errors.Is(err, errOutOfTime) && fitting > 0 { // what it has found in the tree counts
			_, ended := f.add(fitting, most, 1)
			return 0, cmp.Or(ended, err)
		}
		if err != nil {
			return 0, err
		}
	}
	return f.add(fitting, most, copies)
}

// limitOf returns how many members the next tree may have.
func (f *fit) limitOf() int {
	switch f.relation {
	case RelationApart:
		return 1
	case RelationTogether:
		return f.query.Count
	}
	return f.query.Count - int(f.found.Fit)
}

// checkEnd returns an error if the search has no more time or budget.
func (f *fit) checkEnd() error {
	if f.spent >= f.placer.most || f.search.isBudgetSpent() {
		f.found.Stopped = StoppedByBudget
		return errFitStopped
	}
	if err := f.search.checkTime(); err != nil {
		return err
	}
	return f.search.ctx.Err()
}

// add adds copies of a tree that has a place for some members.
func (f *fit) add(fitting, most, copies int64) (searched int64, err error) {
	count := int64(f.query.Count)
	searched = copies
	if fitting > 0 {
		if f.relation == RelationTogether {
			if fitting >= count {
				searched = 1
			}
			f.found.Fit, f.most = max(f.found.Fit, fitting), max(f.most, most)
		} else {
			searched = min(copies, (count-f.found.Fit+fitting-1)/fitting)
			f.found.Fit = min(count, f.found.Fit+fitting*searched)
			f.most = sumOf(f.most, productOf(most, searched))
		}
		f.found.WithRoom += searched
		f.found.MostInOne = max(f.found.MostInOne, fitting)
		f.search.tally.Candidates += int(fitting)
	} else if f.relation == RelationTogether {
		f.most = max(f.most, most)
	} else {
		f.most = sumOf(f.most, productOf(most, copies))
	}
	f.found.Looked += searched
	if f.found.Fit >= count {
		f.found.Stopped = StoppedByCount
		return searched, errFitStopped
	}
	return searched, nil
}

// countIn returns how many members a tree has a place for, up to a limit, and an upper bound of the number that it could have
// without the members of other trees, up to the limit.
func (f *fit) countIn(tree *candidateTree, limit int) (fitting, most int64, err error) {
	if f.isSimple {
		fitting = f.countSeparately(tree, int64(limit))
		most = fitting
		if fitting < int64(limit) && f.isTaken(tree) {
			f.withoutMembers(func() { most = f.countSeparately(tree, int64(limit)) })
		}
		f.takeSeparately(tree, fitting)
		return fitting, most, nil
	}
	f.isExact = true
	found, err := f.largest(tree, 1, limit)
	fitting, most = int64(len(found)), int64(len(found))
	if err == nil && len(found) < limit {
		if f.isExact && f.isTaken(tree) {
			err = f.checkExact(tree, len(found)+1)
		}
		if !f.isExact {
			f.withoutMembers(func() { most = int64(f.bound(tree, limit)) })
		}
	}
	if err == nil {
		f.takeFound(tree, found)
	}
	return fitting, most, err
}

// takeFound deducts what members use of providers that other trees can use.
func (f *fit) takeFound(tree *candidateTree, found []ClaimCandidate) {
	if !f.search.ids.sharing || f.relation == RelationTogether {
		return
	}
	for i := range tree.Providers {
		provider := &tree.Providers[i]
		if !f.isSharedWith(tree, provider) {
			continue
		}
		for j := range found {
			for _, use := range found[j].Uses {
				if use.ProviderID == provider.ID {
					f.taken[usedClass{use.ProviderID, use.ClassID}] += use.Amount
				}
			}
		}
	}
}

// isSharedWith reports whether trees other than this one can use a provider. Those of a copy are its own.
func (f *fit) isSharedWith(tree *candidateTree, provider *combine.Provider) bool {
	return provider.Shared && !(f.isCopy && provider.Root == tree.Anchor)
}

// withoutMembers calls count as if there were no members yet.
func (f *fit) withoutMembers(count func()) {
	taken := f.taken
	f.taken = usage{}
	count()
	f.taken = taken
}

// countSeparately returns how many members a tree has a place for, up to a limit, if the query is separable.
func (f *fit) countSeparately(tree *candidateTree, limit int64) int64 {
	for i := range f.search.asked.Requirements {
		want := &f.search.asked.Requirements[i]
		sum := int64(0)
		for j := range tree.Options[want.Slot] {
			if sum = sumOf(sum, f.countOn(tree, want.Slot, i, j)); sum >= limit {
				break
			}
		}
		limit = min(limit, sum)
	}
	return limit
}

// takeSeparately deducts what members use of sharing providers. Those of the tree itself come first, so that the others are
// left to other trees.
func (f *fit) takeSeparately(tree *candidateTree, members int64) {
	if !f.search.ids.sharing || f.relation == RelationTogether {
		return
	}
	for i := range f.search.asked.Requirements {
		want := &f.search.asked.Requirements[i]
		left := members
		for _, isOwn := range []bool{true, false} {
			for j, option := range tree.Options[want.Slot] {
				provider := &tree.Providers[option.Provider]
				if (provider.Root == tree.Anchor) != isOwn {
					continue
				}
				count := min(left, f.countOn(tree, want.Slot, i, j))
				left -= count
				for _, use := range want.Uses {
					if count > 0 && f.isSharedWith(tree, provider) {
						f.taken[usedClass{provider.ID, use.Class}] += count * use.Amount
					}
				}
			}
		}
	}
}

// reachesShared reports whether members in a tree can use a sharing provider, so that copies of the tree depend on each other.
func (f *fit) reachesShared(p *page, root int64) bool {
	tree := f.builder.build(p, root)
	return tree != nil && slices.ContainsFunc(tree.rows, func(row int32) bool { return p.providers[row].root != root })
}

// productOf returns the product of numbers that are not negative, the largest integer on overflow.
func productOf(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
