package candidates

import (
	"slices"

	"github.com/berthd/berth/server/candidates/combine"
)

// exhaustiveSearch finds a placement whenever one exists, for members of which sharing providers have too little for every
// choice. It reads the trees again. Trees that cannot use a common provider are independent, so it combines those only that
// can: for each tree it finds what a number of members have to use of shared providers, and keeps the best sums of it.
//
// Of two sums, only the one with more members, or with less of some provider, is kept (placement_sums.go). The work is limited
// like that for further members, and the memory by maxSharedUses, maxSumsKept and maxShapeBytes. Beyond any of these limits
// isExact is false.
type exhaustiveSearch struct {
	*placer
	// target is the number of members at which the search ends.
	target int
	// steps are those of the present interval of the budget.
	steps int
	// shapes are the different trees, and shapeBytes the memory of their keys.
	shapes     map[string]*treeShape
	shapeBytes int
	// pools are the amounts that several trees can use, and free what each has.
	pools map[usedClass]int32
	free  []int64
	// parts are the groups of trees that can use common providers, by pool.
	parts map[int32]*placementPart
	// alone are the members without shared amounts, by the root of their tree.
	alone map[int64]*placementChoice
	// count is the number of members alone and in the best sum of each part.
	count   int
	visited int
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

// The limits of the memory of an exhaustiveSearch.
const (
	maxSharedUses  = 256
	maxSumsKept    = 1024
	maxSumsPending = 16 * maxSumsKept
	maxShapeBytes  = 1 << 22
)

// stepsPerTrial is the work of a search in a tree, for each member, in steps of package combine.
const stepsPerTrial = 8

// placeExhaustively finds a placement after place has not found one of all members, although it may exist. The search of the
// placer must be a new one in the same snapshot. target is an upper bound of the members. It returns how many can be placed.
func (p *placer) placeExhaustively(target int) (fit int, err error) {
	e := &exhaustiveSearch{
		placer: p, target: target, shapes: map[string]*treeShape{}, pools: map[usedClass]int32{},
		parts: map[int32]*placementPart{}, alone: map[int64]*placementChoice{},
	}
	p.isTrial = true
	fits, err := p.search.begin()
	if !fits || err != nil {
		return 0, err
	}
	p.countNeeds()
	if err := p.eachTree(e.visit); err != nil {
		return 0, err
	}
	if e.count < p.wanted {
		return e.count, nil
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
		err = e.add(tree.Anchor, shape)
	}
	return e.isSpent() || e.count >= e.target, err
}

// isSpent reports whether the budget is spent, and makes the result inexact if it is.
func (e *exhaustiveSearch) isSpent() bool {
	if e.spent < e.most {
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

// add adds a tree of a shape.
func (e *exhaustiveSearch) add(root int64, shape *treeShape) error {
	if shape.alone > 0 {
		e.alone[root] = &placementChoice{root, e.visited, shapeOption{members: shape.alone}}
		e.count += shape.alone
	}
	if len(shape.options) == 0 {
		return nil
	}
	part, err := e.join(shape)
	if err != nil {
		return err
	}
	return e.extend(part, root, shape)
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
