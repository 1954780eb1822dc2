package combine

import (
	"cmp"
	"math"
	"slices"
)

// Plan is a request prepared for searching. It is immutable, so any number of searches may share it; they may run
// concurrently if the request has no Shuffle.
type Plan struct {
	request Request
	// kinds are the kinds of requirements; kindOf is the kind of each.
	kinds  []kind
	kindOf []int32
	// constraints are the capacities that requirements compete for.
	constraints []constraint
	// subtreeSets are those of Subtrees that not every choice meets.
	subtreeSets []subtreeSet
	// words is the length of a bit set of trait sets; all is the full one.
	words int
	all   []uint64
}

// kind is a number of interchangeable requirements: an option of one of them is an option of all. The lookahead only
// needs the number that are undecided.
type kind struct {
	slot     int
	suffixed bool
	wants    int32
	// uses is what a requirement allocates, each class once.
	uses []use
	// subtreeSets are the sets of Subtrees whose insides its requirements belong to, outsides those whose outsides.
	// isolated are the sets of Isolated.
	subtreeSets, outsides, isolated []int32
	// demands is what a requirement uses of the constraints.
	demands []demand
}

// subtreeSet is the kinds of requirements inside and outside of a subtree, and the requirements of the latter.
type subtreeSet struct{ inside, outside, outsideWants []int32 }

// use is an amount of a class and its index in Requirement.Uses.
type use struct {
	class  int32
	place  int
	amount int64
}

// demand is an amount of a constraint.
type demand struct {
	constraint int32
	// place is the index in Requirement.Uses, or isolation.
	place  int
	byRoot bool
	amount int64
	// units is the amount in units of the constraint.
	units int64
}

// isolation is the place of a demand for being the only suffixed requirement of a provider (or of a tree, if byRoot is
// set as well).
const isolation = -1

// constraint is a capacity of a provider that several requirements compete for: a resource class, or isolation, of
// which each provider has one unit.
type constraint struct {
	// members are in the order of the kinds, ascending in that of their amounts.
	members, ascending []member
	// most is the maximum demand on one provider.
	most int64
	// unit divides all amounts. They are uniform if each is one unit.
	unit    int64
	uniform bool
	// isolation is true for a constraint of Isolated. byRoot is true if each tree has one unit instead of each
	// provider.
	isolation, byRoot bool
}

// member is a kind of requirements in a constraint and what each of them demands.
type member struct {
	kind   int32
	amount int64
}

// NewPlan prepares a request, which the caller must not change afterwards.
func NewPlan(request Request) *Plan {
	p := &Plan{request: request, words: (request.Sets + 63) / 64}
	p.all = make([]uint64, p.words)
	for set := range request.Sets {
		p.all[set/64] |= 1 << (set % 64)
	}
	p.sortKinds()
	for i, k := range p.kinds {
		for _, family := range k.subtreeSets {
			p.subtreeSets[family].inside = append(p.subtreeSets[family].inside, int32(i))
		}
		for _, family := range k.outsides {
			p.subtreeSets[family].outside = append(p.subtreeSets[family].outside, int32(i))
		}
	}
	if !request.IgnoreSums {
		p.classConstraints()
	}
	p.isolationConstraints()
	return p
}

// sortKinds groups the requirements into kinds.
func (p *Plan) sortKinds() {
	sets := p.sets()
	for i, want := range p.request.Requirements {
		result := sets[i]
		result.slot, result.suffixed, result.uses = want.Slot, want.Suffixed, mergeUses(want.Uses)
		at := slices.IndexFunc(p.kinds, func(k kind) bool {
			return k.slot == result.slot && k.suffixed == result.suffixed && slices.Equal(k.uses, result.uses) &&
				slices.Equal(k.subtreeSets, result.subtreeSets) && slices.Equal(k.outsides, result.outsides) && slices.Equal(k.isolated, result.isolated)
		})
		if at < 0 {
			at = len(p.kinds)
			p.kinds = append(p.kinds, result)
		}
		p.kinds[at].wants++
		p.kindOf = append(p.kindOf, int32(at))
	}
}

// sets returns, by requirement, the sets that it belongs to, and counts those of Subtrees that matter.
func (p *Plan) sets() []kind {
	kinds := make([]kind, len(p.request.Requirements))
	for _, set := range p.request.Subtrees {
		inside := slices.Compact(slices.Sorted(slices.Values(set.Inside)))
		outside := slices.Compact(slices.Sorted(slices.Values(set.Outside)))
		if len(inside) == 0 || len(inside) == 1 && len(outside) == 0 {
			continue // a requirement alone is a subtree
		}
		number, added := int32(len(p.subtreeSets)), subtreeSet{}
		for _, want := range inside {
			kinds[want].subtreeSets = append(kinds[want].subtreeSets, number)
		}
		for _, want := range outside {
			kinds[want].outsides = append(kinds[want].outsides, number)
			added.outsideWants = append(added.outsideWants, int32(want))
		}
		p.subtreeSets = append(p.subtreeSets, added)
	}
	for number, set := range p.request.Isolated {
		for _, want := range slices.Compact(slices.Sorted(slices.Values(set))) {
			kinds[want].isolated = append(kinds[want].isolated, int32(number))
		}
	}
	return kinds
}

// mergeUses sums up the amounts of a class that appears twice in the uses of a requirement.
func mergeUses(uses []Use) []use {
	var merged []use
	for place, u := range uses {
		at := slices.IndexFunc(merged, func(m use) bool { return m.class == u.Class })
		if at < 0 {
			merged = append(merged, use{class: u.Class, place: place, amount: u.Amount})
		} else {
			merged[at].amount = add(merged[at].amount, u.Amount)
		}
	}
	return merged
}

// classConstraints adds a constraint for each class that two requirements can use on one provider.
func (p *Plan) classConstraints() {
	var classes []int32
	for _, k := range p.kinds {
		for _, u := range k.uses {
			if !slices.Contains(classes, u.class) {
				classes = append(classes, u.class)
			}
		}
	}
	for _, class := range classes {
		c := constraint{uniform: true}
		var places []int
		for i, k := range p.kinds {
			at := slices.IndexFunc(k.uses, func(u use) bool { return u.class == class })
			if at < 0 || k.uses[at].amount <= 0 {
				continue
			}
			amount := k.uses[at].amount
			c.members = append(c.members, member{kind: int32(i), amount: amount})
			places = append(places, k.uses[at].place)
			c.unit, c.uniform = gcd(c.unit, amount), c.uniform && (c.unit == 0 || c.unit == amount)
		}
		if p.countTogether(&c) >= 2 {
			p.addConstraint(c, places)
		}
	}
}

// countTogether returns how many members of a constraint can use one provider, and sets the maximum of their demand. Of
// the largest set of isolated members, a provider satisfies only one.
func (p *Plan) countTogether(c *constraint) (together int32) {
	apart := p.largestIsolated(c.members)
	largest := int64(0)
	for _, m := range c.members {
		k := &p.kinds[m.kind]
		if slices.Contains(k.isolated, apart) {
			largest = max(largest, m.amount)
			continue
		}
		together += k.wants
		c.most = add(c.most, times(m.amount, k.wants))
	}
	if largest > 0 {
		together++
		c.most = add(c.most, largest)
	}
	return together
}

// largestIsolated returns the set of Isolated that has most of these members; -1 if none has any.
func (p *Plan) largestIsolated(members []member) int32 {
	wants := make([]int32, len(p.request.Isolated))
	for _, m := range members {
		for _, set := range p.kinds[m.kind].isolated {
			wants[set] += p.kinds[m.kind].wants
		}
	}
	largest, most := int32(-1), int32(0)
	for set, wants := range wants {
		if wants > most {
			largest, most = int32(set), wants
		}
	}
	return largest
}

// isolationConstraints adds the constraints of Isolated.
func (p *Plan) isolationConstraints() {
	kindsOf := make([][]int32, len(p.request.Isolated))
	for i, k := range p.kinds {
		for _, set := range k.isolated {
			kindsOf[set] = append(kindsOf[set], int32(i))
		}
	}
	for _, kinds := range kindsOf {
		providers := constraint{unit: 1, uniform: true, isolation: true}
		trees := constraint{unit: 1, uniform: true, isolation: true, byRoot: true}
		wants := int32(0)
		for _, i := range kinds {
			k := &p.kinds[i]
			wants += k.wants
			providers.members = append(providers.members, member{kind: i, amount: 1})
			if len(k.uses) > 0 {
				trees.members = append(trees.members, member{kind: i, amount: 1})
			}
		}
		if wants < 2 {
			continue
		}
		p.addConstraint(providers, nil)
		if p.request.OneOfATree && len(trees.members) > 0 {
			p.addConstraint(trees, nil)
		}
	}
}

// addConstraint adds a constraint and links it to its kinds. places are the indices of the class in the members' uses.
func (p *Plan) addConstraint(c constraint, places []int) {
	for i, m := range c.members {
		d := demand{constraint: int32(len(p.constraints)), place: isolation, byRoot: c.byRoot, amount: m.amount, units: m.amount / c.unit}
		if !c.isolation {
			d.place = places[i]
		}
		p.kinds[m.kind].demands = append(p.kinds[m.kind].demands, d)
	}
	c.ascending = slices.SortedStableFunc(slices.Values(c.members), func(a, b member) int { return cmp.Compare(a.amount, b.amount) })
	p.constraints = append(p.constraints, c)
}

// gcd returns the greatest common divisor; gcd(0, b) is b.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// infinite stands for sums that exceed an int64. No free capacity is as large.
const infinite = math.MaxInt64

// add returns the sum of amounts that are not negative; infinite on overflow.
func add(a, b int64) int64 {
	if a > infinite-b {
		return infinite
	}
	return a + b
}

// times returns the product of an amount and a count; infinite on overflow.
func times(amount int64, count int32) int64 {
	if count > 0 && amount > infinite/int64(count) {
		return infinite
	}
	return amount * int64(count)
}
