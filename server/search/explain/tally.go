package explain

import (
	"cmp"
	"math"
	"slices"
)

// nearestTrees is how many trees an explanation shows, emptiedTrees how many are tried without their consumers.
const nearestTrees, emptiedTrees = 5, 8

// stratum is how trees are counted.
type stratum int

const (
	// counted trees are all trees of their kind. They count once.
	counted stratum = iota
	// sampled trees stand for all the others.
	sampled
)

// tally counts what the trees of a query pass.
type tally struct {
	r *resolvedQuery
	// roots is the number of all roots, rest that of those for which the sampled ones stand.
	roots, rest int64
	strata      [2]counts
	// sharers are, by sharing provider, the most steps of each part that it passes with any anchor.
	sharers map[int64][]int
	// most are, by part, the most providers that pass all steps at one anchor.
	most    []int64
	nearest []treeResult
	// sortsEmptied is true if trees that lack nothing but free capacity are nearer than all others.
	sortsEmptied bool
	// keepsFull keeps the trees that lack nothing but free capacity in full, of which some are missing if isFullCut. deficits is how
	// many they have. shared are the amounts of the classes that several groups use.
	keepsFull, isFullCut bool
	full                 []fullTree
	deficits             int
	shared               map[int32]int64
	// amounts are what providers could give of an amount that is the only thing they miss, by part and place of the amount:
	// greatest first.
	amounts map[amountKey][]int64
	// only counts the judged trees in which nothing fails but a part, or a root condition (negative, -1 - its place).
	only map[int]int64
}

type amountKey struct{ part, at int }

// counts are numbers of trees, and of providers of these.
type counts struct {
	all int64
	// afterRoots are the trees that pass so many root conditions, afterGroups so many groups, afterStages so many combinations.
	afterRoots, afterGroups, afterStages []int64
	// met are the trees that meet all root conditions and parts.
	met   int64
	parts []partCounts
}

// partCounts counts the providers and trees that pass so many steps of a part.
type partCounts struct {
	providers, trees []int64
	splitTrees       int64
}

// treeResult is how a tree fares with the whole query.
type treeResult struct {
	root     *node
	distance float64
	// failedRoots are the root conditions that it does not meet.
	failedRoots []int
	parts       []partResult
	// stage is the combination at which a tree that meets all parts fails.
	stage string
	// freedBy is which consumers must go, if that is known.
	freedBy FreedBy
}

func newTally(r *resolvedQuery, stages int) *tally {
	t := &tally{r: r, sharers: map[int64][]int{}, most: make([]int64, len(r.parts)), amounts: map[amountKey][]int64{}, only: map[int]int64{}}
	for i := range t.strata {
		t.strata[i] = *newCounts(r, stages)
	}
	return t
}

func newCounts(r *resolvedQuery, stages int) *counts {
	result := &counts{
		afterRoots: make([]int64, len(r.roots)), afterGroups: make([]int64, len(r.query.Groups)), afterStages: make([]int64, stages),
		parts: make([]partCounts, len(r.parts)),
	}
	for i := range r.parts {
		steps := len(r.parts[i].steps)
		result.parts[i] = partCounts{providers: make([]int64, steps), trees: make([]int64, steps)}
	}
	return result
}

// add adds the counts of other trees.
func (c *counts) add(other *counts) {
	c.all, c.met = c.all+other.all, c.met+other.met
	addEach(c.afterRoots, other.afterRoots)
	addEach(c.afterGroups, other.afterGroups)
	addEach(c.afterStages, other.afterStages)
	for i := range c.parts {
		addEach(c.parts[i].providers, other.parts[i].providers)
		addEach(c.parts[i].trees, other.parts[i].trees)
		c.parts[i].splitTrees += other.parts[i].splitTrees
	}
}

func addEach(to, other []int64) {
	for i := range to {
		to[i] += other[i]
	}
}

// number returns a number for all trees: that of the counted ones, and an estimate from the sampled ones.
func (t *tally) number(of func(*counts) int64) int64 {
	exact, estimate := of(&t.strata[counted]), of(&t.strata[sampled])
	if looked := t.strata[sampled].all; looked > 0 && looked < t.rest {
		estimate = int64(math.Round(float64(estimate) * float64(t.rest) / float64(looked)))
	}
	return exact + estimate
}

// looked returns the number of judged trees.
func (t *tally) looked() int64 { return t.strata[counted].all + t.strata[sampled].all }

// met returns the number of trees that meet all root conditions and parts.
func (t *tally) met() int64 { return t.number(func(c *counts) int64 { return c.met }) }

// add judges and counts the trees of a page, and returns those that meet all parts.
func (t *tally) add(p *page, roots []int64, into *counts) (met []treeResult) {
	shared := map[int64]bool{}
	for _, ids := range p.reached {
		for _, id := range ids {
			shared[id] = true
		}
	}
	for _, id := range roots {
		root := p.nodes[id]
		if root == nil {
			continue
		}
		if result := t.addTree(root, p.usable(id), shared, into); result.isMet() {
			met = append(met, result)
		} else {
			t.keepNearest(result)
		}
	}
	return met
}

func (t *tally) addTree(root *node, usable []*node, shared map[int64]bool, into *counts) treeResult {
	into.all++
	result := treeResult{root: root, parts: make([]partResult, len(t.r.parts))}
	for i, rootStage := range t.r.roots {
		if !root.meets(rootStage.condition) {
			result.failedRoots = append(result.failedRoots, i)
		} else if len(result.failedRoots) == 0 {
			into.afterRoots[i]++
		}
	}
	passes := len(result.failedRoots) == 0
	result.distance = float64(len(result.failedRoots))
	for i := range t.r.parts {
		result.parts[i] = t.addPart(i, root, usable, shared, into, passes)
		result.distance += result.parts[i].distance
	}
	result.distance = math.Round(result.distance*1e9) / 1e9
	if passes {
		t.addGroups(&result, into)
	}
	if result.isMet() {
		into.met++
	}
	t.addOnly(&result)
	t.keepFull(&result, usable)
	return result
}

// addPart judges a part in one tree.
func (t *tally) addPart(i int, root *node, usable []*node, shared map[int64]bool, into *counts, passes bool) partResult {
	of, to := &t.r.parts[i], &into.parts[i]
	complete := int64(0)
	var full partResult
	result := t.r.judgePart(root, usable, of, func(v *verdict) {
		if !passes {
			return
		}
		if t.keepsFull {
			full.addWay(t.r, v, of)
		}
		if v.passed == len(of.steps) {
			complete++
		}
		if shared[v.provider.id] {
			t.addSharer(v, i)
			return
		}
		for step := range v.passed {
			to.providers[step]++
		}
	})
	result.ways = full.ways
	t.most[i] = max(t.most[i], complete)
	if passes {
		for step := range result.passed {
			to.trees[step]++
		}
		if of.canSplit && result.met {
			to.splitTrees++
		}
	}
	return result
}

// addSharer counts a sharing provider once, whatever anchors it serves.
func (t *tally) addSharer(v *verdict, part int) {
	known := t.sharers[v.provider.id]
	if known == nil {
		known = make([]int, len(t.r.parts))
		t.sharers[v.provider.id] = known
	}
	for step := known[part]; step < v.passed; step++ {
		t.strata[counted].parts[part].providers[step]++
	}
	known[part] = max(known[part], v.passed)
}

// addGroups counts the groups that a tree passes, one after the other.
func (t *tally) addGroups(result *treeResult, into *counts) {
	for place := range t.r.query.Groups {
		for i := range t.r.parts {
			if !result.parts[i].met && slices.Contains(t.r.parts[i].groups, place) {
				return
			}
		}
		into.afterGroups[place]++
	}
}

// isMet reports whether a tree meets all root conditions and parts.
func (r *treeResult) isMet() bool {
	return len(r.failedRoots) == 0 && !slices.ContainsFunc(r.parts, func(p partResult) bool { return !p.met })
}

// keepNearest keeps a tree if it is among the nearest.
func (t *tally) keepNearest(result treeResult) {
	kept := nearestTrees
	if t.sortsEmptied {
		kept = emptiedTrees
	}
	at, _ := slices.BinarySearchFunc(t.nearest, result, func(a, b treeResult) int {
		return cmp.Or(t.rank(&a)-t.rank(&b), cmp.Compare(a.distance, b.distance), cmp.Compare(a.root.id, b.root.id))
	})
	if at < kept {
		t.nearest = slices.Insert(t.nearest, at, result)
		t.nearest = t.nearest[:min(len(t.nearest), kept)]
	}
}

// rank is 0 for trees that come first if they are sorted by it: those that lack nothing but free capacity.
func (t *tally) rank(of *treeResult) int {
	if t.sortsEmptied && (len(of.failedRoots) > 0 || slices.ContainsFunc(of.parts, func(p partResult) bool { return !p.metEmptied })) {
		return 1
	}
	return 0
}

// addOnly counts a tree in which only one thing fails, and what it could give of an amount if that is all.
func (t *tally) addOnly(result *treeResult) {
	unmet, part := 0, 0
	for i := range result.parts {
		if !result.parts[i].met {
			unmet, part = unmet+1, i
		}
	}
	switch {
	case unmet+len(result.failedRoots) != 1:
		return
	case unmet == 0:
		t.only[-1-result.failedRoots[0]]++
		return
	}
	t.only[part]++
	for _, room := range result.parts[part].rooms {
		key := amountKey{part, room.at}
		at, known := slices.BinarySearchFunc(t.amounts[key], room.gives, func(a, b int64) int { return cmp.Compare(b, a) })
		if !known && at < maxAmounts && room.gives > 0 {
			all := slices.Insert(t.amounts[key], at, room.gives)
			t.amounts[key] = all[:min(len(all), maxAmounts)]
		}
	}
}
