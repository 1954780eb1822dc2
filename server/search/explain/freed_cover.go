package explain

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// stockKey is an inventory.
type stockKey struct {
	provider int64
	class    int32
}

// deficit is how much of an inventory must become free.
type deficit struct {
	of   stockKey
	need int64
}

// holder is a consumer, with what it holds of some inventories.
type holder struct {
	consumer uuid.UUID
	held     map[stockKey]int64
	total    int64
}

// cover finds the smallest set of holders that cover the deficits of any of several candidates: the fewest, then those with the
// least total. It is a branch and bound: it branches over the holders of one inventory, the largest first, and bounds by the
// number of largest holders that one inventory needs.
type cover struct {
	holders []holder
	// byStock are the indices of the holders of an inventory, those with the most of it first.
	byStock map[stockKey][]int
	// steps is how many sets it may still try, until a time; it is inexact if that is not enough.
	steps     int
	until     time.Time
	isInexact bool
	// best is the best set so far, nil if there is none; bestTotal is its sum.
	best      []int
	bestTotal int64
	// chosen and excluded are the holders of the branch at hand.
	chosen   []int
	excluded []bool
}

// maxCoverSteps is how many sets an explanation tries for a tree, and coverInterval after how many it looks at the time.
const maxCoverSteps, coverInterval = 50_000, 256

// newCover returns a search among holders that ends at a time.
func newCover(holders []holder, until time.Time) *cover {
	slices.SortFunc(holders, func(a, b holder) int {
		return cmp.Or(cmp.Compare(b.total, a.total), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	c := &cover{holders: holders, byStock: map[stockKey][]int{}, steps: maxCoverSteps, until: until, excluded: make([]bool, len(holders))}
	for i := range holders {
		for key := range holders[i].held {
			c.byStock[key] = append(c.byStock[key], i)
		}
	}
	for key, list := range c.byStock {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(holders[b].held[key], holders[a].held[key]), cmp.Compare(a, b))
		})
	}
	return c
}

// add looks for a better set, for the deficits of another candidate.
func (c *cover) add(deficits []deficit) { c.branch(deficits, 0) }

// branch tries all sets that contain the chosen holders and none of the excluded ones. left is what the chosen ones leave.
func (c *cover) branch(left []deficit, total int64) {
	if c.steps--; c.steps < 0 || c.steps%coverInterval == 0 && time.Now().After(c.until) {
		c.steps, c.isInexact = 0, true
		return
	}
	if len(left) == 0 {
		if c.isBetter(len(c.chosen), total) {
			c.best, c.bestTotal = append([]int{}, c.chosen...), total
		}
		return
	}
	least, at, rest := 0, 0, int64(0)
	for i := range left {
		rest += left[i].need // the least sum of further holders
		fewest := c.fewest(left[i])
		if fewest == 0 {
			return // even all holders are not enough
		}
		if fewest > least {
			least, at = fewest, i
		}
	}
	if c.best != nil && (len(c.chosen)+least > len(c.best) || len(c.chosen)+least == len(c.best) && total+rest >= c.bestTotal) {
		return
	}
	var tried []int
	for _, i := range c.byStock[left[at].of] {
		if c.excluded[i] {
			continue
		}
		c.chosen, c.excluded[i] = append(c.chosen, i), true
		c.branch(c.without(left, i), total+c.holders[i].total)
		c.chosen = c.chosen[:len(c.chosen)-1]
		tried = append(tried, i) // the other branches are those without it
	}
	for _, i := range tried {
		c.excluded[i] = false
	}
}

// isBetter reports whether a set is better than the best one.
func (c *cover) isBetter(size int, total int64) bool {
	return c.best == nil || size < len(c.best) || size == len(c.best) && total < c.bestTotal
}

// fewest returns how many of the largest holders that are not excluded cover a deficit; 0 if all do not.
func (c *cover) fewest(of deficit) (count int) {
	total := int64(0)
	for _, i := range c.byStock[of.of] {
		if c.excluded[i] {
			continue
		}
		count, total = count+1, total+c.holders[i].held[of.of]
		if total >= of.need {
			return count
		}
	}
	return 0
}

// without returns the deficits that a holder leaves.
func (c *cover) without(deficits []deficit, holder int) []deficit {
	left := make([]deficit, 0, len(deficits))
	for _, deficit := range deficits {
		if deficit.need -= c.holders[holder].held[deficit.of]; deficit.need > 0 {
			left = append(left, deficit)
		}
	}
	return left
}
