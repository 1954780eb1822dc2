package combine

import (
	"math"
	"slices"
)

// Plan is a request prepared for searching. It does not change, so any number of
// searches may share it; they may run at once if the request has no Shuffle.
type Plan struct {
	request Request
	// kinds of wants, and the kind of each want.
	kinds  []kind
	kindOf []int32
	// contests are what wants can take from each other.
	contests []contest
	// families are the kinds of wants in each of the sets of Subtrees that have two
	// members at least.
	families [][]int32
	// words is the length of a bit set of sets of traits, all is the full one.
	words int
	all   []uint64
}

// kind is a number of wants that are interchangeable: what can satisfy one of them can
// satisfy any other. To look ahead, it is enough to know how many are undecided.
type kind struct {
	slot     int
	suffixed bool
	wants    int32
	// uses is what a want takes, each class once.
	uses []use
	// families are the sets of Subtrees that its wants belong to.
	families []int32
	// demands is what a want takes of what is contested.
	demands []demand
}

// use is an amount of a class and its place in Want.Uses.
type use struct {
	class  int32
	place  int
	amount int64
}

// demand is an amount of what is contested.
type demand struct {
	contest int32
	// place in Want.Uses, or isolation or tree.
	place  int
	byRoot bool
	amount int64
	// units is the amount in units of the contest.
	units int64
}

// isolation is the place of a demand for being the only suffixed want of a provider
// (or of a tree, if it is byRoot as well).
const isolation = -1

// contest is something that several wants demand from a provider: a resource class,
// or to be its only suffixed want, of which each provider has one to give.
type contest struct {
	members []member
	// most is as much as can come together on one provider.
	most int64
	// unit divides all amounts. They are uniform if each is one unit.
	unit    int64
	uniform bool
	// isolation: see there. byRoot: it is given once in a tree.
	isolation, byRoot bool
}

// member is a kind of wants in a contest and what each of them demands.
type member struct {
	kind   int32
	amount int64
}

// NewPlan prepares a request, which must not change from then on.
func NewPlan(request Request) *Plan {
	p := &Plan{request: request, words: (request.Sets + 63) / 64}
	p.all = make([]uint64, p.words)
	for set := range request.Sets {
		p.all[set/64] |= 1 << (set % 64)
	}
	families := p.sortKinds()
	p.families = make([][]int32, families)
	for i, k := range p.kinds {
		for _, family := range k.families {
			p.families[family] = append(p.families[family], int32(i))
		}
	}
	p.contestClasses()
	p.contestProviders()
	return p
}

// sortKinds finds the kinds of the wants and says how many families there are.
func (p *Plan) sortKinds() int {
	families := make([][]int32, len(p.request.Wants))
	count := int32(0)
	for _, set := range p.request.Subtrees {
		if set = slices.Compact(slices.Sorted(slices.Values(set))); len(set) < 2 {
			continue // a want is in one subtree with itself
		}
		for _, want := range set {
			families[want] = append(families[want], count)
		}
		count++
	}
	for i, want := range p.request.Wants {
		uses := mergeUses(want.Uses)
		at := slices.IndexFunc(p.kinds, func(k kind) bool {
			return k.slot == want.Slot && k.suffixed == want.Suffixed &&
				slices.Equal(k.uses, uses) && slices.Equal(k.families, families[i])
		})
		if at < 0 {
			at = len(p.kinds)
			p.kinds = append(p.kinds, kind{slot: want.Slot, suffixed: want.Suffixed, uses: uses, families: families[i]})
		}
		p.kinds[at].wants++
		p.kindOf = append(p.kindOf, int32(at))
	}
	return int(count)
}

// mergeUses adds up what a want takes of one class, should it be named twice.
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

// contestClasses finds the classes that two wants can take from one provider.
func (p *Plan) contestClasses() {
	var classes []int32
	for _, k := range p.kinds {
		for _, u := range k.uses {
			if !slices.Contains(classes, u.class) {
				classes = append(classes, u.class)
			}
		}
	}
	for _, class := range classes {
		c := contest{uniform: true}
		var places []int
		together, isolated := int32(0), int64(0)
		for i, k := range p.kinds {
			at := slices.IndexFunc(k.uses, func(u use) bool { return u.class == class })
			if at < 0 || k.uses[at].amount <= 0 {
				continue
			}
			amount := k.uses[at].amount
			c.members = append(c.members, member{kind: int32(i), amount: amount})
			places = append(places, k.uses[at].place)
			c.unit, c.uniform = gcd(c.unit, amount), c.uniform && (c.unit == 0 || c.unit == amount)
			if p.request.Isolate && k.suffixed {
				// Only one of them all comes to a provider.
				isolated = max(isolated, amount)
				continue
			}
			together += k.wants
			c.most = add(c.most, times(amount, k.wants))
		}
		if isolated > 0 {
			together++
			c.most = add(c.most, isolated)
		}
		if together >= 2 {
			p.addContest(c, places)
		}
	}
}

// contestProviders makes contests of Isolate.
func (p *Plan) contestProviders() {
	if !p.request.Isolate {
		return
	}
	providers := contest{unit: 1, uniform: true, isolation: true}
	trees := contest{unit: 1, uniform: true, isolation: true, byRoot: true}
	wants := int32(0)
	for i, k := range p.kinds {
		if !k.suffixed {
			continue
		}
		wants += k.wants
		providers.members = append(providers.members, member{kind: int32(i), amount: 1})
		if len(k.uses) > 0 {
			trees.members = append(trees.members, member{kind: int32(i), amount: 1})
		}
	}
	if wants < 2 {
		return
	}
	p.addContest(providers, nil)
	if p.request.OneOfATree && len(trees.members) > 0 {
		p.addContest(trees, nil)
	}
}

// addContest tells the kinds of wants that they are in it. places are those of the
// class in the members' uses.
func (p *Plan) addContest(c contest, places []int) {
	for i, m := range c.members {
		d := demand{contest: int32(len(p.contests)), place: isolation, byRoot: c.byRoot, amount: m.amount, units: m.amount / c.unit}
		if !c.isolation {
			d.place = places[i]
		}
		p.kinds[m.kind].demands = append(p.kinds[m.kind].demands, d)
	}
	p.contests = append(p.contests, c)
}

// gcd is the greatest common divisor; gcd(0, b) is b.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// infinite stands for sums that no int64 holds. Nobody has as much free.
const infinite = math.MaxInt64

// add adds amounts that are not negative.
func add(a, b int64) int64 {
	if a > infinite-b {
		return infinite
	}
	return a + b
}

// times multiplies an amount, as add adds.
func times(amount int64, count int32) int64 {
	if count > 0 && amount > infinite/int64(count) {
		return infinite
	}
	return amount * int64(count)
}
