package candidates

import (
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// exhaustiveSearch finds a placement whenever one exists, for members of which sharing providers have too little for every
// choice. It reads the trees again, and finds for each tree what a number of members have to use of shared providers. Then it
// adds up the choices of trees that can use common providers; others are independent. Of two sums it keeps the one with more
// members, or with less of some provider (placement_sums.go).
//
// The trees with the fewest choices come first, and the first round keeps few sums, because this finds most placements. The
// second round keeps all. The work is limited like that for further members, and the memory by the limits below. Beyond any of
// these isExact is false.
type exhaustiveSearch struct {
	*placer
	// target is the number of members at which the search ends.
	target int
	// until is the work at which the present part of the search ends. steps are those of the present interval.
	until int64
	steps int
	// shapes are the different trees, and shapeBytes the memory of their keys.
	shapes     map[string]*treeShape
	shapeBytes int
	// pools are the amounts that several trees can use, and free what each has.
	pools map[usedClass]int32
	free  []int64
	// trees are those with members that use shared amounts. alone are the members without any, by the root of their tree.
	trees      []sharingTree
	alone      map[int64]*placementChoice
	aloneCount int
	visited    int
	// parts are the groups of trees that can use common providers, by pool. count is the number of members alone and in the best
	// sum of each part. width is how many sums a part keeps; isThinned is true after it had more.
	parts     map[int32]*placementPart
	count     int
	width     int
	isThinned bool
}

// sharingTree is a tree with members that use shared amounts. number is that of the visited tree.
type sharingTree struct {
	root   int64
	number int
	shape  *treeShape
}

// treeShape is what the members of a tree need of shared providers. It is the same for trees that differ only in what does
// not matter to the members.
type treeShape struct {
	// trees is the number of trees that were added.
	trees int
	// alone is how many members need nothing shared.
	alone   int
	options []shapeOption
}

// shapeOption is a number of members of a tree and the least that they can use of shared providers.
type shapeOption struct {
	members int
	uses    []poolUse
}

// poolUse is an amount of a pool, which is a provider and a class. Lists are in the order of pools.
type poolUse struct {
	pool   int32
	amount int64
}

// placementChoice is the members of one tree.
type placementChoice struct {
	root int64
	// number is that of the visited tree.
	number int
	shapeOption
}

// The limits of the memory of an exhaustiveSearch: the ways of a number of members of a tree, the trees, the bytes of the keys of
// shapes, and the sums of a part in the two rounds. A part is pruned when it has maxSumsPending.
const (
	maxSharedUses   = 256
	maxSharingTrees = 1 << 14
	maxShapeBytes   = 1 << 22
	fewSumsKept     = 128
	maxSumsKept     = 1024
	maxSumsPending  = 16 * maxSumsKept
)

// stepsPerTrial is the work of a search in a tree, for each member, in steps of package combine.
const stepsPerTrial = 8

// placeExhaustively finds a placement after place has not found one of all members, although it may exist. The search of the
// placer must be a new one in the same snapshot. target is an upper bound of the members. It returns how many can be placed.
func (p *placer) placeExhaustively(target int) (fit int, err error) {
	e := &exhaustiveSearch{
		placer: p, target: target, shapes: map[string]*treeShape{}, pools: map[usedClass]int32{}, alone: map[int64]*placementChoice{},
	}
	p.isTrial = true
	fits, err := p.search.begin()
	if !fits || err != nil {
		return 0, err
	}
	p.countNeeds()
	e.until = p.spent + (p.most-p.spent)/2
	if err := e.eachTree(e.visit); err != nil {
		return 0, err
	}
	slices.SortStableFunc(e.trees, func(a, b sharingTree) int { return len(a.shape.options) - len(b.shape.options) })
	fit, err = e.combineInRounds()
	switch {
	case err != nil || fit < target:
		return fit, err
	case target < p.wanted:
		p.isExact = true // the upper bound is reached
		return fit, nil
	}
	err = e.choose()
	return len(p.members), err
}

// visit adds a tree. The search is done when the target is reached or the budget is spent.
func (e *exhaustiveSearch) visit(tree *candidateTree) (isDone bool, err error) {
	e.taken = usage{}
	limit := e.target
	if e.relation == RelationApart {
		limit = 1
	}
	if limit = e.bound(tree, limit); limit == 0 {
		return false, nil
	}
	e.visited++
	shape, err := e.shapeOf(tree, limit)
	if err != nil {
		return false, err
	}
	if shape.trees < e.target { // more of the same shape place no more members
		shape.trees++
		e.add(tree.Anchor, shape)
	}
	return e.isSpent() || e.aloneCount >= e.target, nil
}

// add adds a tree of a shape.
func (e *exhaustiveSearch) add(root int64, shape *treeShape) {
	if shape.alone > 0 {
		e.alone[root] = &placementChoice{root, e.visited, shapeOption{members: shape.alone}}
		e.aloneCount += shape.alone
	}
	switch {
	case len(shape.options) == 0:
	case len(e.trees) == maxSharingTrees:
		e.isExact = false
	default:
		e.trees = append(e.trees, sharingTree{root, e.visited, shape})
	}
}

// combineInRounds adds up the choices of all trees, with few sums and then with all. It returns the most members of any sum.
func (e *exhaustiveSearch) combineInRounds() (fit int, err error) {
	for _, width := range []int{fewSumsKept, maxSumsKept} {
		e.until = e.spent + (e.most-e.spent)/2
		if width == maxSumsKept {
			e.until = e.most
		}
		isSpent, err := e.combine(width)
		if fit = max(fit, e.count); err != nil || fit >= e.target || !isSpent && !e.isThinned {
			return fit, err
		}
	}
	e.isExact = false
	return fit, nil
}

// combine adds up the choices of all trees until the target is reached or the budget is spent.
func (e *exhaustiveSearch) combine(width int) (isSpent bool, err error) {
	e.parts, e.count, e.width, e.isThinned = map[int32]*placementPart{}, e.aloneCount, width, false
	for i := range e.trees {
		if e.count >= e.target || e.spent >= e.until {
			break
		}
		if err := e.extend(&e.trees[i]); err != nil {
			return false, err
		}
	}
	return e.spent >= e.until, nil
}

// isSpent reports whether the budget is spent, and makes the result inexact if it is.
func (e *exhaustiveSearch) isSpent() bool {
	if e.spent < e.until {
		return false
	}
	e.isExact = false
	return true
}

// work counts steps.
func (e *exhaustiveSearch) work(steps int) error {
	for e.steps += steps; e.steps >= combine.StopInterval; e.steps -= combine.StopInterval {
		e.spent++
		if err := e.search.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// choose makes the members of the best sums, from the trees of their choices.
func (e *exhaustiveSearch) choose() error {
	chosen := e.alone
	for _, part := range e.parts {
		for at := part.sums[0].last; at != nil; at = at.before {
			chosen[at.root] = &at.placementChoice
		}
	}
	var sorted []*placementChoice
	for _, choice := range chosen {
		sorted = append(sorted, choice)
	}
	slices.SortFunc(sorted, func(a, b *placementChoice) int { return a.number - b.number })
	e.search.leads, e.search.chosen, e.search.pair = leads{named: true, probed: true, paired: true}, nil, nil
	count := 0
	for _, choice := range sorted {
		if count < e.wanted {
			e.search.leads.given = append(e.search.leads.given, choice.root)
		}
		count += choice.members
	}
	e.most = e.spent + maxPlacementIntervals // what was found must be made
	err := e.eachTree(func(tree *candidateTree) (isDone bool, err error) {
		choice := chosen[tree.Anchor]
		shared := e.sharedIn(tree)
		e.limitTo(shared, e.amountsOf(shared, choice.uses))
		found, err := e.try(tree, choice.members)
		e.keep(found[:min(len(found), e.wanted-len(e.members))])
		return len(e.members) == e.wanted, err
	})
	e.isExact = e.isExact && len(e.members) == e.wanted
	return err
}
