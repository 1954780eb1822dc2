package bruteforce_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// askExtended draws a query with the extensions of berth 1.1.
func (a *queryGenerator) askExtended() {
	suffixed := pick(a.generator, 0, 1, 2, 0, 1, 2, 3)
	switch {
	case a.chance(50):
		suffixed = max(0, suffixed-1)
		a.splitGroup()
	case suffixed == 0 || a.chance(45):
		a.unsuffixed()
	}
	below := a.reach
	isTied := suffixed > 0 && a.chance(30)
	if isTied {
		below = a.subtree()
	}
	a.suffixedGroups(suffixed, below)
	tied := slices.Clone(a.suffixes)
	for range pick(a.generator, 0, 1, 0, 2, 0) {
		a.withoutResources(pick(a.generator, a.reach...))
	}
	if isTied {
		a.add("same_subtree", strings.Join(tied, ","))
	}
	a.bindExtended()
	a.present()
	if a.chance(3) {
		a.spoil()
	}
}

// splitGroup draws an unsuffixed group with classes that can be split. Most amounts exceed the free capacity of each
// provider.
func (a *queryGenerator) splitGroup() {
	from := a.reach
	if a.chance(12) {
		from = a.inTree("", a.anchor)
	}
	wanted, chosen, split := map[string]int64{}, []*bruteforce.Provider(nil), []string(nil)
	for range pick(a.generator, 1, 2, 1, 2) {
		provider := a.roomy(from)
		class := a.class(provider)
		if _, again := wanted[class]; again {
			continue
		}
		split, wanted[class] = append(split, class), a.sharedAmount(from, class)
		for _, other := range from {
			if freeOf(other, class) > 0 {
				chosen = append(chosen, other)
			}
		}
	}
	if a.chance(40) {
		provider := a.roomy(from)
		if class := a.class(provider); wanted[class] == 0 {
			wanted[class], chosen = a.amount(provider, class), append(chosen, provider)
		}
	}
	a.resources("", wanted)
	if len(chosen) > 0 {
		a.qualities("", chosen[:1], 18)
	}
	if a.chance(20) {
		for _, class := range split {
			a.add("can_split", class)
		}
		return
	}
	a.add("can_split", strings.Join(split, ","))
}

// sharedAmount returns an amount that some providers together can serve.
func (a *queryGenerator) sharedAmount(from []*bruteforce.Provider, class string) int64 {
	var greatest, sum int64
	counted := map[*bruteforce.Provider]bool{}
	for _, provider := range from {
		if free := freeOf(provider, class); !counted[provider] {
			counted[provider] = true
			greatest, sum = max(greatest, free), sum+free
		}
	}
	step := pick[int64](a.generator, 1, 2, 1, 3)
	return max(1, pick(a.generator, (greatest+sum)/2, greatest+1, (2*greatest+sum)/3, greatest+step, sum-step, sum, (3*greatest+sum)/4, greatest))
}

// freeOf returns the largest amount up to 100 that a provider can serve.
func freeOf(provider *bruteforce.Provider, class string) int64 {
	for amount := int64(100); amount > 0; amount-- {
		if provider.HasRoomFor(class, amount) {
			return amount
		}
	}
	return 0
}

// bindExtended draws the constraints between groups and of the root.
func (a *queryGenerator) bindExtended() {
	policy := pick(a.generator, "", "none", "", "isolate", "", "")
	if policy != "" {
		a.add("group_policy", policy)
	}
	if policy != "isolate" && len(a.suffixes) > 1 {
		for range pick(a.generator, 0, 1, 0, 2) {
			a.add("isolate", strings.Join(a.several(a.suffixes), ","))
		}
	}
	if len(a.suffixes) > 1 && a.chance(45) {
		a.outside()
	}
	if len(a.suffixes) > 0 && a.chance(15) {
		a.add("same_subtree", strings.Join(append(some(a.generator, 30, a.suffixes...), a.suffixes[0]), ","))
	}
	if a.chance(10) {
		a.rootTraits()
	}
	if a.chance(25) {
		a.rootMembers()
	}
	if a.chance(12) {
		a.excludedTrees()
	}
}

// excludedTrees draws providers of trees to exclude, preferably not of the anchor's.
func (a *queryGenerator) excludedTrees() {
	for range pick(a.generator, 1, 1, 2) {
		var names []string
		for range pick(a.generator, 1, 2, 1) {
			one := pick(a.generator, a.Providers...)
			if a.chance(70) && a.Root(one) == a.anchor {
				names = append(names, "missing")
				continue
			}
			names = append(names, one.Name)
		}
		a.add("not_in_tree", "{"+strings.Join(names, pick(a.generator, "},{", "}, {"))+"}")
	}
}

// several returns at least two elements of a list.
func (a *queryGenerator) several(list []string) []string {
	first := pick(a.generator, list...)
	others := without(list, []string{first})
	second := pick(a.generator, others...)
	return append(some(a.generator, 40, without(others, []string{second})...), first, second)
}

// outside draws a same_subtree with groups outside of the subtree.
func (a *queryGenerator) outside() {
	named := a.several(a.suffixes)
	cut := len(named) - 1 - a.below(len(named)-1)
	for i := cut; i < len(named); i++ {
		named[i] = "!" + named[i]
	}
	a.add("same_subtree", strings.Join(named, ","))
	if len(named) == 2 && a.chance(25) { // a mutual exclusion
		a.add("same_subtree", fmt.Sprintf("!%s, %s", named[0], strings.TrimPrefix(named[1], "!")))
	}
}

// rootMembers draws aggregates of the root, preferably those of the anchor and not of others.
func (a *queryGenerator) rootMembers() {
	own := a.aggregatesOf(a.anchor)
	for range pick(a.generator, 1, 2, 1) {
		if len(own) > 0 && a.chance(85) {
			a.add("root_member_of", a.anyOf(pick(a.generator, own...), allAggregates))
		}
	}
	if far := append(without(allAggregates, own), "Z"); a.chance(60) {
		a.add("root_member_of", "!"+a.anyOf(pick(a.generator, far...), far))
	}
}

// present draws the order and the limits.
func (a *queryGenerator) present() {
	if a.chance(45) {
		by := pick(a.generator, "id", "pack", "spread", "random", "pack", "spread")
		if by == "pack" || by == "spread" {
			by += ":" + pick(a.generator, a.requested()...)
		}
		a.add("order", by)
	}
	if a.chance(25) {
		a.add("limit_per_tree", fmt.Sprint(pick(a.generator, 1, 2, 1, 3, 20)))
	}
	if a.chance(18) {
		a.add("limit", fmt.Sprint(pick(a.generator, 1, 2, 3, 5, 50)))
	}
}

// requested returns the classes of all groups.
func (a *queryGenerator) requested() []string {
	var classes []string
	for _, param := range a.params {
		if name, list, _ := strings.Cut(param, "="); strings.HasPrefix(name, "resources") {
			classes = append(classes, classPattern.FindAllString(list, -1)...)
		}
	}
	return classes
}

// spoil adds one of the errors that the order of validation names. The parameters are shuffled later.
func (a *queryGenerator) spoil() {
	name, value, _ := strings.Cut(pick(a.generator,
		"required=CUSTOM_UNKNOWN_A", "required=!CUSTOM_UNKNOWN_B", "root_required=CUSTOM_UNKNOWN_C,CUSTOM_UNKNOWN_A",
		"resources_Q=CUSTOM_UNKNOWN_CLASS:1", "required_Q=in:CUSTOM_UNKNOWN_D,CUSTOM_FAST",
		"not_in_tree=gold", "not_in_tree={A},", "root_member_of=gold", "root_member_of={A},{B}", "root_member_of=in:{A},!{B}", "root_member_of=",
		"same_subtree=!", "same_subtree=_Q, ,_R", "same_subtree=!_Q", "same_subtree=_Q,!_Q", "same_subtree=1,!_R",
		"isolate=_Q", "isolate=_Q,,_R", "isolate=_Q,_R", "isolate=_Q,_Q", "isolate=",
		"can_split=", "can_split=VCPU,", "can_split=CUSTOM_NONE,VCPU", "order=pack:CUSTOM_NONE", "order=spread", "order=id:VCPU",
		"order=pack:", "order=ID", "order=", "limit_per_tree=0", "limit_per_tree=01", "limit_per_tree=", "limit=0", "group_policy=one",
		"group_policy=", "can_split_Q=VCPU", "order1=id", "prefer=CUSTOM_FAST", "in_tree_Q=gold", "member_of=gold",
		"required_Q=", "resources_Q=VCPU", "resources_Q=VCPU:0", "required_Q=!CUSTOM_FAST,CUSTOM_FAST",
	), "=")
	a.add(name, value)
}
