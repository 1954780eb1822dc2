package candidates

import (
	"encoding/binary"
	"slices"
)

// sharedAmount is a pool in a tree: the provider and the class, what is free, and the number of the pool.
type sharedAmount struct {
	usedClass
	free int64
	pool int32
}

// sharedIn returns the pools of a tree.
func (e *exhaustiveSearch) sharedIn(tree *candidateTree) (shared []sharedAmount) {
	e.taken = usage{}
	for i := range tree.Providers {
		for _, class := range e.classes {
			free := e.freeOf(tree, i, class)
			if !tree.Providers[i].Shared || free <= 0 {
				continue
			}
			amount := sharedAmount{usedClass: usedClass{tree.Providers[i].ID, class}, free: free}
			pool, known := e.pools[amount.usedClass]
			if !known {
				pool = int32(len(e.free))
				e.pools[amount.usedClass], e.free = pool, append(e.free, free)
			}
			amount.pool = pool
			shared = append(shared, amount)
		}
	}
	slices.SortFunc(shared, func(a, b sharedAmount) int { return int(a.pool - b.pool) })
	return shared
}

// limitTo lets the next searches use at most some amounts of the pools of a tree.
func (e *exhaustiveSearch) limitTo(shared []sharedAmount, amounts []int64) {
	e.taken = usage{}
	for i := range shared {
		if amounts[i] < shared[i].free {
			e.taken[shared[i].usedClass] = shared[i].free - amounts[i]
		}
	}
}

// amountsOf returns amounts by pool of a tree; usesOf is the reverse.
func (e *exhaustiveSearch) amountsOf(shared []sharedAmount, uses []poolUse) []int64 {
	amounts := make([]int64, len(shared))
	for i := range shared {
		for _, use := range uses {
			if use.pool == shared[i].pool {
				amounts[i] = use.amount
			}
		}
	}
	return amounts
}

func (e *exhaustiveSearch) usesOf(shared []sharedAmount, amounts []int64) (uses []poolUse) {
	for i := range shared {
		if amounts[i] > 0 {
			uses = append(uses, poolUse{shared[i].pool, amounts[i]})
		}
	}
	return uses
}

// shapeOf returns the shape of a tree that can have at most a number of members.
func (e *exhaustiveSearch) shapeOf(tree *candidateTree, limit int) (*treeShape, error) {
	key := e.shapeKey(tree, limit)
	if known := e.shapes[key]; known != nil {
		return known, nil
	}
	shape := &treeShape{}
	if e.shapeBytes += len(key); e.shapeBytes <= maxShapeBytes {
		e.shapes[key] = shape
	}
	shared := e.sharedIn(tree)
	least := &leastUses{e, tree, shared}
	e.limitTo(shared, make([]int64, len(shared)))
	alone, err := e.largest(tree, 1, limit)
	if shape.alone = len(alone); err != nil || shape.alone == limit || len(shared) == 0 {
		return shape, err
	}
	e.taken = usage{}
	most, err := e.largest(tree, shape.alone+1, limit)
	for members := shape.alone + 1; members <= len(most) && err == nil && !e.isSpent(); members++ {
		var all [][]int64
		all, err = least.of(members)
		for _, amounts := range all {
			shape.options = append(shape.options, shapeOption{members, e.usesOf(shared, amounts)})
		}
	}
	return shape, err
}

// shapeKey describes what matters of a tree: how its providers relate, and for each slot which ones serve it, with what is
// free up to what the members can use. Trees with equal keys differ in the ids of their own providers.
func (e *exhaustiveSearch) shapeKey(tree *candidateTree, limit int) string {
	e.taken = usage{}
	key := binary.AppendUvarint(nil, uint64(limit))
	nodes := map[int64]int{}
	for i := range tree.Providers {
		provider := &tree.Providers[i]
		switch {
		case !provider.Shared:
			key = append(key, 0)
		case provider.Root == tree.Anchor:
			key = binary.AppendVarint(append(key, 1), provider.ID)
		default:
			key = binary.AppendVarint(append(key, 2), provider.ID)
		}
		for j, class := range e.classes {
			key = binary.AppendVarint(key, min(e.freeOf(tree, i, class), productOf(e.needs[j], int64(limit))))
		}
		key = binary.AppendUvarint(key, uint64(len(provider.Path)))
		for _, id := range provider.Path {
			if _, known := nodes[id]; !known {
				nodes[id] = len(nodes)
			}
			key = binary.AppendUvarint(key, uint64(nodes[id]))
		}
	}
	for i, options := range tree.Options {
		key = binary.AppendUvarint(key, uint64(len(options)))
		for _, option := range options {
			key = binary.AppendUvarint(key, uint64(option.Provider))
			for j, class := range e.search.slots[i].classes {
				key = binary.AppendVarint(key, min(option.Free[j], e.needs[slices.Index(e.classes, class)]))
			}
			key = binary.AppendUvarint(key, uint64(len(option.Met)))
			for _, set := range option.Met {
				key = binary.AppendUvarint(key, uint64(set))
			}
		}
	}
	return string(key)
}

// leastUses finds the least amounts of pools that members of a tree can use.
type leastUses struct {
	*exhaustiveSearch
	tree   *candidateTree
	shared []sharedAmount
}

// of returns all least amounts that a number of members can use: none of them is within another one. Members that use other
// amounts than a list of least ones use less of some pool than each in the list, so the search continues below each amount.
func (l *leastUses) of(members int) (found [][]int64, err error) {
	first := make([]int64, len(l.shared))
	for i := range l.shared {
		first[i] = l.shared[i].free
	}
	for limits := [][]int64{first}; len(limits) > 0; {
		last := limits[len(limits)-1]
		amounts, err := l.within(members, last)
		if err != nil {
			return nil, err
		}
		if amounts == nil {
			limits = limits[:len(limits)-1]
			continue
		}
		if found = append(found, amounts); len(found) == maxSharedUses {
			l.isExact = false
			return found, nil
		}
		limits = below(limits, amounts)
	}
	return found, nil
}

// below returns limits that permit what others do without some amounts.
func below(limits [][]int64, amounts []int64) (result [][]int64) {
	add := func(numbers []int64) {
		if !slices.ContainsFunc(result, func(other []int64) bool { return areWithin(numbers, other) }) {
			result = append(result, numbers)
		}
	}
	for _, limit := range limits {
		if !areWithin(amounts, limit) {
			add(limit)
		}
	}
	for _, limit := range limits {
		for i, amount := range amounts {
			if amount > 0 && areWithin(amounts, limit) {
				cut := slices.Clone(limit)
				cut[i] = amount - 1
				add(cut)
			}
		}
	}
	return result
}

// areWithin reports whether no amount exceeds its limit.
func areWithin(amounts, limits []int64) bool {
	for i, amount := range amounts {
		if amount > limits[i] {
			return false
		}
	}
	return true
}

// within returns least amounts that members can use within limits; nil if they do not fit.
func (l *leastUses) within(members int, limits []int64) (amounts []int64, err error) {
	amounts, err = l.try(members, limits)
	if amounts == nil || err != nil {
		return nil, err
	}
	for i := range amounts {
		for low, next := int64(0), int64(0); low < amounts[i]; {
			cut := slices.Clone(amounts)
			cut[i] = next
			fewer, err := l.try(members, cut)
			switch {
			case err != nil:
				return nil, err
			case fewer == nil:
				low = next + 1
				next = amounts[i] - 1
			default:
				amounts = fewer
				next = (low + amounts[i]) / 2
			}
			next = max(low, min(next, amounts[i]-1))
		}
	}
	return amounts, nil
}

// try returns the amounts that members use whose search may use at most some; nil if they do not fit.
func (l *leastUses) try(members int, limits []int64) ([]int64, error) {
	if err := l.work(stepsPerTrial * members); err != nil {
		return nil, err
	}
	l.limitTo(l.shared, limits)
	found, err := l.placer.try(l.tree, members)
	if found == nil || err != nil {
		return nil, err
	}
	used := usage{}
	used.add(found, 1)
	amounts := make([]int64, len(l.shared))
	for i := range l.shared {
		amounts[i] = used[l.shared[i].usedClass]
	}
	return amounts, nil
}
