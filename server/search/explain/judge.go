package explain

import (
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
)

// node is a provider of a page.
type node struct {
	id, root int64
	name     Provider
	met      []int64
	stock    map[int32]*db.ExplainPageRow
}

// meets reports whether a provider meets a condition.
func (n *node) meets(condition int) bool {
	return n.met[condition/wordBits]&(1<<(condition%wordBits)) != 0
}

// verdict is how a provider fares with a part.
type verdict struct {
	provider *node
	// passed is how many steps it passes before the first that it does not.
	passed   int
	distance float64
	failed   []failure
}

// failure is a step that counts for the distance.
type failure struct {
	step  *step
	gives int64
}

// judge tests a provider for a part, with an anchor that can use it.
func (r *resolvedQuery) judge(anchor, provider *node, of *part) verdict {
	v := verdict{provider: provider, passed: -1}
	failedAt := -1 // the amount of which a step has failed: only the first counts
	for i := range of.steps {
		step := &of.steps[i]
		if r.passes(anchor, provider, of, step) {
			continue
		}
		if v.passed < 0 {
			v.passed = i
		}
		if step.isOfInventory() && step.kind != stepInventory {
			if failedAt == step.at || provider.stock[r.classes[of.amounts[step.at].Class]] == nil {
				continue
			}
			failedAt = step.at
		}
		v.fail(r, step, of)
	}
	if v.passed < 0 {
		v.passed = len(of.steps)
	}
	return v
}

// fail adds a failed step to the distance.
func (v *verdict) fail(r *resolvedQuery, item *step, of *part) {
	result := failure{step: item}
	switch item.kind {
	case stepInventory:
		v.distance += 2
	case stepUnits, stepSize, stepReserved, stepUsed:
		result.gives = r.gives(v.provider, of, item.at)
		if v.distance += missingShare(of.amounts[item.at].Amount, result.gives); item.kind != stepUsed {
			v.distance++
		}
	default:
		v.distance++
	}
	v.failed = append(v.failed, result)
}

// missingShare returns which part of an amount is missing.
func missingShare(amount, gives int64) float64 { return float64(amount-gives) / float64(amount) }

// passes reports whether a provider passes a step.
func (r *resolvedQuery) passes(anchor, provider *node, of *part, item *step) bool {
	foreign := provider.root != anchor.id
	switch item.kind {
	case stepReached:
		return true
	case stepInTree:
		return provider.root == r.trees[*of.inTree] && (of.suffixed || !foreign)
	case stepMemberOf:
		return provider.meets(item.at) || !of.suffixed && !foreign && anchor.meets(item.at)
	case stepNotMemberOf:
		return provider.meets(item.at) && (of.suffixed || anchor.meets(item.at))
	case stepRequired, stepForbidden:
		return provider.meets(item.at)
	}
	stock := provider.stock[r.classes[of.amounts[item.at].Class]]
	if stock == nil || item.kind == stepInventory {
		return stock != nil
	}
	amount := of.amounts[item.at].Amount
	total, reserved, used := float64(*stock.Total), float64(*stock.Reserved), float64(*stock.Used)
	need := amount
	if of.canSplit {
		need = leastPart(stock)
	}
	switch item.kind {
	case stepUnits:
		return amount%*stock.StepSize == 0 && *stock.MinUnit <= amount && need <= *stock.MaxUnit
	case stepSize:
		return float64(need) <= total**stock.AllocationRatio
	case stepReserved:
		return float64(need) <= (total-reserved)**stock.AllocationRatio
	default:
		return used+float64(need) <= (total-reserved)**stock.AllocationRatio
	}
}

// leastPart returns the smallest part that an inventory can give of an amount.
func leastPart(stock *db.ExplainPageRow) int64 {
	return (*stock.MinUnit + *stock.StepSize - 1) / *stock.StepSize * *stock.StepSize
}

// free returns how much one claim can allocate, before units.
func free(stock *db.ExplainPageRow) int64 {
	left := math.Floor((float64(*stock.Total)-float64(*stock.Reserved))**stock.AllocationRatio - float64(*stock.Used))
	return int64(max(0, min(float64(*stock.MaxUnit), left)))
}

// gives returns the greatest amount, at most the requested one, that a provider could give now.
func (r *resolvedQuery) gives(provider *node, of *part, at int) int64 {
	stock := provider.stock[r.classes[of.amounts[at].Class]]
	if stock == nil {
		return 0
	}
	most := min(free(stock), of.amounts[at].Amount) / *stock.StepSize * *stock.StepSize
	if most < *stock.MinUnit {
		return 0
	}
	return most
}

// partResult is how a tree fares with a part.
type partResult struct {
	// passed is the most steps that any provider passes.
	passed int
	met    bool
	// metEmptied is true if a provider lacks nothing but free capacity.
	metEmptied bool
	// best is the verdict with the least distance, nil if no provider has inventory of any class.
	best     *verdict
	distance float64
	// rooms are what providers could give of an amount that is the only thing they miss, if the part is not met.
	rooms []room
	// ways are what the providers lack that lack nothing but free capacity, if the tally keeps that.
	ways [][]sumDeficit
}

// room is what a provider, or of a split amount all providers together, could give of an amount.
type room struct {
	at    int
	gives int64
}

// sameDistance is the greatest difference of equal distances.
const sameDistance = 1e-9

// judgePart tests all providers that an anchor can use.
func (r *resolvedQuery) judgePart(anchor *node, usable []*node, of *part, each func(*verdict)) partResult {
	result := partResult{distance: 2 * float64(len(of.amounts))}
	sum, sums := int64(0), map[int64]int64(nil)
	for _, provider := range usable {
		v := r.judge(anchor, provider, of)
		each(&v)
		result.metEmptied = result.metEmptied || !slices.ContainsFunc(v.failed, func(f failure) bool { return f.step.kind != stepUsed })
		result.passed = max(result.passed, v.passed)
		if of.canSplit && v.passed == len(of.steps) {
			if sums == nil {
				sums = map[int64]int64{}
			}
			step := *provider.stock[r.classes[of.amounts[0].Class]].StepSize
			sums[step] += r.gives(provider, of, 0)
			sum = max(sum, sums[step])
		}
		if !of.canSplit {
			result.addRoom(&v)
		}
		if (len(of.amounts) == 0 || r.hasAny(provider, of)) && (result.best == nil || v.distance < result.distance-sameDistance) {
			result.best, result.distance = &v, v.distance
		}
	}
	result.met = result.passed == len(of.steps)
	if of.canSplit && result.met && sum < of.amounts[0].Amount {
		result.failSplit(of, sum)
	}
	return result
}

// addRoom keeps what a provider could give of an amount, if it misses nothing else.
func (p *partResult) addRoom(v *verdict) {
	if len(v.failed) != 1 {
		return
	}
	if step := v.failed[0].step; step.isOfInventory() && step.kind != stepInventory {
		p.rooms = append(p.rooms, room{step.at, v.failed[0].gives})
	}
}

// failSplit says that the providers of an amount together have too little of it.
func (p *partResult) failSplit(of *part, sum int64) {
	p.met = false
	p.rooms = []room{{0, sum}}
	p.distance = missingShare(of.amounts[0].Amount, sum)
	p.best.failed = []failure{{&splitStep, sum}}
}

// hasAny reports whether a provider has inventory of a class of a part.
func (r *resolvedQuery) hasAny(provider *node, of *part) bool {
	for _, amount := range of.amounts {
		if provider.stock[r.classes[amount.Class]] != nil {
			return true
		}
	}
	return false
}
