package candidates

import (
	"cmp"
	"slices"
)

// placementPart is trees that can use common providers: the best sums of their choices. The first one has the most members.
type placementPart struct{ sums []placementSum }

// placementSum is the choices for some trees: their members, beyond those without shared amounts, and what these use. weight
// compares sums of as many members: it is less if a sum uses less, or uses the pools more evenly.
type placementSum struct {
	members int
	uses    []poolUse
	weight  float64
	last    *chosenTree
}

// chosenTree is a list of choices.
type chosenTree struct {
	placementChoice
	before *chosenTree
}

// join returns the part of a shape's pools. If there are several, it combines their sums.
func (e *exhaustiveSearch) join(shape *treeShape) (*placementPart, error) {
	var joined *placementPart
	pools := map[int32]bool{}
	for _, option := range shape.options {
		for _, use := range option.uses {
			pools[use.pool] = true
		}
	}
	for pool := range pools {
		part := e.parts[pool]
		if part == nil || part == joined {
			continue
		}
		if joined == nil {
			joined = part
			continue
		}
		if err := e.merge(joined, part); err != nil {
			return nil, err
		}
	}
	if joined == nil {
		joined = &placementPart{sums: []placementSum{{}}}
	}
	for pool := range pools {
		e.parts[pool] = joined
	}
	return joined, nil
}

// merge adds the sums of a part to those of another one.
func (e *exhaustiveSearch) merge(joined, part *placementPart) error {
	before, sums := joined.members()+part.members(), joined.sums
	joined.sums = nil
	for i := range sums {
		for j := range part.sums {
			item, other := &sums[i], &part.sums[j]
			sum := placementSum{members: item.members + other.members, weight: item.weight + other.weight, last: item.last}
			sum.uses, _ = e.sumOfUses(item.uses, other.uses)
			for at := other.last; at != nil; at = at.before {
				sum.last = &chosenTree{at.placementChoice, sum.last}
			}
			if err := e.keepSum(joined, sum); err != nil {
				return err
			}
		}
	}
	for pool, of := range e.parts {
		if of == part {
			e.parts[pool] = joined
		}
	}
	err := e.prune(joined)
	e.count += joined.members() - before
	return err
}

// extend adds the options of a tree to the sums of its part.
func (e *exhaustiveSearch) extend(tree *sharingTree) error {
	part, err := e.join(tree.shape)
	if err != nil {
		return err
	}
	before, sums := part.members(), slices.Clone(part.sums)
	for i := range sums {
		sum := &sums[i]
		for _, option := range tree.shape.options {
			uses, fits := e.sumOfUses(sum.uses, option.uses)
			if !fits {
				continue
			}
			err := e.keepSum(part, placementSum{
				members: sum.members + option.members - tree.shape.alone, uses: uses, weight: e.weightOf(uses),
				last: &chosenTree{placementChoice{tree.root, tree.number, option}, sum.last},
			})
			if err != nil {
				return err
			}
		}
	}
	err = e.prune(part)
	e.count += part.members() - before
	return err
}

// members returns the most members of any sum.
func (p *placementPart) members() int { return p.sums[0].members }

// keepSum adds a sum, and removes some if there are too many.
func (e *exhaustiveSearch) keepSum(part *placementPart, sum placementSum) error {
	if part.sums = append(part.sums, sum); len(part.sums) < maxSumsPending {
		return nil
	}
	return e.prune(part)
}

// sumOfUses adds amounts, and reports whether the pools have them.
func (e *exhaustiveSearch) sumOfUses(some, others []poolUse) (sum []poolUse, fits bool) {
	sum, fits = make([]poolUse, 0, len(some)+len(others)), true
	for len(some)+len(others) > 0 {
		switch {
		case len(others) == 0 || len(some) > 0 && some[0].pool < others[0].pool:
			sum, some = append(sum, some[0]), some[1:]
		case len(some) == 0 || others[0].pool < some[0].pool:
			sum, others = append(sum, others[0]), others[1:]
		default:
			use := poolUse{some[0].pool, some[0].amount + others[0].amount}
			sum, some, others = append(sum, use), some[1:], others[1:]
			fits = fits && use.amount <= e.free[use.pool]
		}
	}
	return sum, fits
}

// weightOf returns the sum of the squares of the used fractions of pools.
func (e *exhaustiveSearch) weightOf(uses []poolUse) (weight float64) {
	for _, use := range uses {
		fraction := float64(use.amount) / float64(e.free[use.pool])
		weight += fraction * fraction
	}
	return weight
}

// prune keeps the sums that no other one excels: with as many members or more that use no more of any pool. Of equal ones it
// keeps the first. With too many left, it keeps those of least weight, of each number of members.
func (e *exhaustiveSearch) prune(part *placementPart) error {
	slices.SortStableFunc(part.sums, func(a, b placementSum) int {
		return cmp.Or(cmp.Compare(b.members, a.members), cmp.Compare(a.weight, b.weight))
	})
	var kept []placementSum
	for i := range part.sums {
		if err := e.work(1 + len(kept)/16); err != nil {
			return err
		}
		excels := func(other placementSum) bool { return isWithin(other.uses, part.sums[i].uses) }
		if !slices.ContainsFunc(kept, excels) {
			kept = append(kept, part.sums[i])
		}
	}
	if len(kept) > e.width {
		e.isThinned = true
		kept = thinned(kept, e.width)
	}
	part.sums = kept
	return nil
}

// thinned returns at most a number of sums: the first ones of each number of members, and in the order of all.
func thinned(sums []placementSum, most int) []placementSum {
	counts := map[int]int{}
	for i := range sums {
		counts[sums[i].members]++
	}
	each := max(1, most/len(counts))
	clear(counts)
	return slices.DeleteFunc(sums, func(sum placementSum) bool {
		counts[sum.members]++
		return counts[sum.members] > each
	})
}

// isWithin reports whether no amount exceeds the one of the same pool in others.
func isWithin(some, others []poolUse) bool {
	for _, use := range some {
		for len(others) > 0 && others[0].pool < use.pool {
			others = others[1:]
		}
		if len(others) == 0 || others[0].pool != use.pool || others[0].amount < use.amount {
			return false
		}
	}
	return true
}
