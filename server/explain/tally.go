package explain

import (
	"cmp"
	"slices"
)

// nearestTrees is how many trees an explanation shows.
const nearestTrees = 5

// tally counts what the trees of a question pass.
type tally struct {
	r *resolved
	// all are the trees that were judged; afterRoots those that pass so many root conditions, afterGroups so many groups.
	all                     int64
	afterRoots, afterGroups []int64
	parts                   []partTally
	// sharers are, by sharing provider, the most steps of each part that it passes with any anchor.
	sharers map[int64][]int
	nearest []treeResult
	// met are the trees that pass all root conditions and have a provider for each part.
	met []treeResult
	// amounts are what trees could give of an amount that is the only thing they miss, by part and place of the amount.
	amounts map[[2]int][]int64
}

// partTally counts the providers and trees that pass so many steps of a part.
type partTally struct {
	providers, trees []int64
	splitTrees       int64
	// most is the most providers of a tree that pass all steps.
	most int64
}

// treeResult is how a tree fares with the whole question.
type treeResult struct {
	root     *node
	distance float64
	// failedRoots are the root conditions that it does not meet.
	failedRoots []int
	parts       []partResult
}

func newTally(r *resolved) *tally {
	t := &tally{
		r: r, afterRoots: make([]int64, len(r.roots)), afterGroups: make([]int64, len(r.query.Groups)),
		parts: make([]partTally, len(r.parts)), sharers: map[int64][]int{}, amounts: map[[2]int][]int64{},
	}
	for i := range r.parts {
		t.parts[i].providers, t.parts[i].trees = make([]int64, len(r.parts[i].steps)), make([]int64, len(r.parts[i].steps))
	}
	return t
}

// add judges the trees of a page.
func (t *tally) add(p *page, roots []int64) {
	shared := map[int64]bool{}
	for _, ids := range p.reached {
		for _, id := range ids {
			shared[id] = true
		}
	}
	for _, id := range roots {
		if root := p.nodes[id]; root != nil {
			t.addTree(root, p.usable(id), shared)
		}
	}
}

func (t *tally) addTree(root *node, usable []*node, shared map[int64]bool) {
	t.all++
	result := treeResult{root: root, parts: make([]partResult, len(t.r.parts))}
	for i, one := range t.r.roots {
		if !root.meets(one.condition) {
			result.failedRoots = append(result.failedRoots, i)
		} else if len(result.failedRoots) == 0 {
			t.afterRoots[i]++
		}
	}
	passes := len(result.failedRoots) == 0
	result.distance = float64(len(result.failedRoots))
	for i := range t.r.parts {
		result.parts[i] = t.addPart(i, root, usable, shared, passes)
		result.distance += result.parts[i].distance
	}
	if passes {
		t.addGroups(&result)
	}
	if !passes || !t.meetsAll(&result) {
		t.keepNearest(result)
		t.keepAmount(&result)
	} else {
		t.met = append(t.met, result)
	}
}

// addPart judges a part in one tree.
func (t *tally) addPart(i int, root *node, usable []*node, shared map[int64]bool, passes bool) partResult {
	of, into := &t.r.parts[i], &t.parts[i]
	complete := int64(0)
	result := t.r.judgePart(root, usable, of, func(v *verdict) {
		if v.passed == len(of.steps) {
			complete++
		}
		switch {
		case !passes:
		case shared[v.provider.id]:
			known := t.sharers[v.provider.id]
			if known == nil {
				known = make([]int, len(t.r.parts))
				t.sharers[v.provider.id] = known
			}
			known[i] = max(known[i], v.passed)
		default:
			for step := range v.passed {
				into.providers[step]++
			}
		}
	})
	into.most = max(into.most, complete)
	if passes {
		for step := range result.passed {
			into.trees[step]++
		}
		if of.canSplit && result.met {
			into.splitTrees++
		}
	}
	return result
}

// addGroups counts the groups that a tree passes, one after the other.
func (t *tally) addGroups(result *treeResult) {
	for place := range t.r.query.Groups {
		for i := range t.r.parts {
			if slices.Contains(t.r.parts[i].groups, place) && !result.parts[i].met {
				return
			}
		}
		t.afterGroups[place]++
	}
}

func (t *tally) meetsAll(result *treeResult) bool {
	return !slices.ContainsFunc(result.parts, func(p partResult) bool { return !p.met })
}

// keepNearest keeps a tree if it is among the nearest.
func (t *tally) keepNearest(result treeResult) {
	at, _ := slices.BinarySearchFunc(t.nearest, result, func(a, b treeResult) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.root.id, b.root.id))
	})
	t.nearest = slices.Insert(t.nearest, at, result)
	t.nearest = t.nearest[:min(len(t.nearest), nearestTrees)]
}

// finish adds the sharing providers, each once.
func (t *tally) finish() {
	for _, passed := range t.sharers {
		for i := range t.parts {
			for step := range passed[i] {
				t.parts[i].providers[step]++
			}
		}
	}
}

// keepAmount remembers what a tree could give of an amount, if that is the only thing that it misses.
func (t *tally) keepAmount(result *treeResult) {
	only := -1
	for i := range result.parts {
		if result.parts[i].met {
			continue
		}
		if only >= 0 {
			return
		}
		only = i
	}
	if only < 0 || len(result.failedRoots) > 0 || result.parts[only].best == nil {
		return
	}
	best := result.parts[only].best
	gives, at := result.parts[only].sum, 0
	switch {
	case len(best.failed) == 1 && best.failed[0].step.isOfInventory():
		gives, at = best.failed[0].gives, best.failed[0].step.at
	case len(best.failed) > 0:
		return
	}
	key := [2]int{only, at}
	if known := t.amounts[key]; gives > 0 && !slices.Contains(known, gives) {
		known = append(known, gives)
		slices.SortFunc(known, func(a, b int64) int { return cmp.Compare(b, a) })
		t.amounts[key] = known[:min(len(known), maxAmounts)]
	}
}

// amountsOf returns the amounts of a part that nearby trees could give, greatest first.
func (t *tally) amountsOf(part, at int) []int64 { return slices.Clone(t.amounts[[2]int{part, at}]) }
