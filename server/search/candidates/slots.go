package candidates

import (
	"fmt"
	"slices"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/search/candidates/split"
)

// slot is what one provider must satisfy: a suffixed group, or one class of the unsuffixed group. Equal groups share one.
type slot struct {
	suffixed bool
	// own are the conditions that the provider must meet itself, anchor those that the root of the tree must meet, and
	// either those of which one of both suffices.
	own, anchor, either bits
	amounts             bits
	classes             []int32
	// shared are the amounts of which the provider can give a part.
	shared bits
	// local excludes sharing providers of other trees.
	local bool
	// exists takes only the matching provider with the lowest UUID.
	exists bool
}

// candidateWant maps a requirement of package combine to its group and amounts.
type candidateWant struct {
	group     int
	resources []store.Amount
}

// candidateSlots is a query in the form of the page queries and of package combine.
type candidateSlots struct {
	conditions []condition
	amounts    []amountPart
	slots      []slot
	subtrees   []subtreePart
	// subtreeSlots are the marks of all slots of subtrees.
	subtreeSlots int64
	// sets are the conditions of the trait sets that the providers of the unsuffixed group must meet together.
	sets  []bits
	wants []candidateWant
	asked combine.Request
	// splits are the requirements whose amounts several providers can share; unsplit is asked without them, others the
	// indices of its requirements in wants.
	splits  []splitWant
	unsplit combine.Request
	others  []int
	// For an order by free capacity, first is the requirement that each tree's search decides first, and leastOrdered the
	// least free capacity that a provider needs to have a place in the order.
	first        int
	leastOrdered int64
	known        map[string]int
}

// splitWant is a requirement whose amount several providers can share.
type splitWant struct {
	want, slot int
	class      int32
	amount     store.Amount
}

// newCandidateSlots assigns equal groups to one slot, so that the search looks for eight identical devices once.
func newCandidateSlots(query *Query, ids *resolvedQuery) *candidateSlots {
	s := &candidateSlots{
		asked: combine.Request{OneOfATree: query.OnePerTree}, known: map[string]int{},
		conditions: []condition{}, amounts: []amountPart{}, subtrees: []subtreePart{},
	}
	s.shareAmounts(ids, query.CanSplit)
	wantOf := make([]int, len(query.Groups))
	slotOf := make([]int, len(query.Groups))
	for place := range ids.groups {
		group := &ids.groups[place]
		wantOf[place] = len(s.wants)
		if group.Suffix == "" {
			s.spread(place, group, query.CanSplit)
			continue
		}
		result := slot{suffixed: true, classes: group.classes, exists: query.isCondition(place)}
		s.require(&result.own, groupCondition(group))
		slotOf[place] = s.add(result, group.Resources)
		s.want(place, slotOf[place], group.classes, group.Resources, true)
	}
	for _, subtree := range query.Subtrees {
		s.addSubtree(subtree, wantOf, slotOf)
	}
	s.isolate(query, wantOf)
	s.leaveOutSplits()
	s.beginWithOrder(query)
	return s
}

// addSubtree adds a same_subtree. Package combine checks all of it, the database what is inside.
func (s *candidateSlots) addSubtree(subtree Subtree, wantOf, slotOf []int) {
	var asked combine.Subtree
	for _, group := range subtree.Outside {
		asked.Outside = append(asked.Outside, wantOf[group])
	}
	slots, marked := int64(0), len(s.subtrees) < wordBits
	for _, group := range subtree.Inside {
		asked.Inside = append(asked.Inside, wantOf[group])
		slots |= markOf(slotOf[group])
		marked = marked && slotOf[group] < wordBits
	}
	s.asked.Subtrees = append(s.asked.Subtrees, asked)
	if marked {
		s.subtrees = append(s.subtrees, subtreePart{Mark: markOf(len(s.subtrees)), Slots: slots})
		s.subtreeSlots |= slots
	}
}

// isolate adds the sets of groups that need different providers.
func (s *candidateSlots) isolate(query *Query, wantOf []int) {
	for _, set := range query.isolatedSets() {
		var wants []int
		for _, group := range set {
			wants = append(wants, wantOf[group])
		}
		s.asked.Isolated = append(s.asked.Isolated, wants)
	}
}

// spread adds a slot for each class of the unsuffixed group. If there is only one class, its providers must meet all
// conditions by themselves. A tree can be in an aggregate as a whole, by its root.
func (s *candidateSlots) spread(place int, group *resolvedGroup, canSplit []string) {
	whole := groupCondition(group)
	result := slot{local: whole.Root != nil}
	s.require(&result.either, condition{MemberOf: whole.MemberOf, MemberOfToo: whole.MemberOfToo})
	s.require(&result.anchor, condition{NotMemberOf: whole.NotMemberOf})
	whole.MemberOf, whole.MemberOfToo = nil, nil
	if len(group.classes) > 1 || len(canSplit) > 0 {
		whole.Required, whole.RequiredAny = nil, nil
		for _, set := range group.required {
			var item bits
			item.add(s.conditionOf(traitCondition(set)))
			s.sets = append(s.sets, item)
		}
		s.asked.Sets = len(s.sets)
	}
	s.require(&result.own, whole)
	for i := range group.classes {
		result.classes, result.shared = group.classes[i:i+1], bits{}
		if amount := group.Resources[i]; slices.Contains(canSplit, amount.Class) {
			result.shared.add(s.amountOf(amountPart{Class: group.classes[i], Amount: amount.Amount, Least: 1, Shared: true}))
			s.splits = append(s.splits, splitWant{want: len(s.wants), slot: len(s.slots), class: group.classes[i], amount: amount})
		}
		at := s.add(result, group.Resources[i:i+1])
		s.want(place, at, group.classes[i:i+1], group.Resources[i:i+1], false)
	}
}

// groupCondition returns the conditions of a group.
func groupCondition(group *resolvedGroup) condition {
	result := condition{Forbidden: group.forbidden, NotMemberOf: group.notMemberOf}
	for _, set := range group.required {
		condition := traitCondition(set)
		result.Required, result.RequiredAny = append(result.Required, condition.Required...), append(result.RequiredAny, condition.RequiredAny...)
	}
	if len(group.memberOf) > 0 {
		result.MemberOf, result.MemberOfToo = group.memberOf[0], group.memberOf[1:]
	}
	if group.root != 0 {
		result.Root = &group.root
	}
	return result
}

// traitCondition requires one of some traits.
func traitCondition(set []int32) condition {
	if len(set) == 1 {
		return condition{Required: set}
	}
	return condition{RequiredAny: setList{set}}
}

// require adds a condition to a set of them.
func (s *candidateSlots) require(of *bits, item condition) {
	if !item.isEmpty() {
		of.add(s.conditionOf(item))
	}
}

// conditionOf returns the number of a condition.
func (s *candidateSlots) conditionOf(item condition) int {
	key := string(encoded(item))
	number, known := s.known[key]
	if !known {
		number = len(s.conditions)
		s.known[key] = number
		item.Bit = bit(number)
		s.conditions = append(s.conditions, item)
	}
	return number
}

// add returns the index of the slot that is equal, or adds a new one.
func (s *candidateSlots) add(result slot, amounts []store.Amount) int {
	for i, class := range result.classes {
		result.amounts.add(s.amountOf(amountPart{Class: class, Amount: amounts[i].Amount, Least: amounts[i].Amount}))
	}
	key := fmt.Sprint(result)
	at, known := s.known[key]
	if !known || !result.suffixed {
		at = len(s.slots)
		s.known[key] = at
		s.slots = append(s.slots, result)
	}
	return at
}

// amountOf returns the number of an amount.
func (s *candidateSlots) amountOf(part amountPart) int {
	at := slices.IndexFunc(s.amounts, func(a amountPart) bool {
		return a.Class == part.Class && a.Amount == part.Amount && a.Shared == part.Shared
	})
	if at < 0 {
		at = len(s.amounts)
		part.Bit = bit(at)
		s.amounts = append(s.amounts, part)
	}
	return at
}

func (s *candidateSlots) want(group, slot int, classes []int32, amounts []store.Amount, suffixed bool) {
	want := combine.Requirement{Suffixed: suffixed, Slot: slot}
	for i, class := range classes {
		want.Uses = append(want.Uses, combine.Use{Class: class, Amount: amounts[i].Amount})
	}
	s.asked.Requirements = append(s.asked.Requirements, want)
	s.wants = append(s.wants, candidateWant{group: group, resources: amounts})
}

// isCondition reports whether a group is a condition that some provider of the tree meets, and not a choice.
func (q *Query) isCondition(place int) bool {
	group := &q.Groups[place]
	if !q.Extended || q.Isolate || len(group.Resources) > 0 || group.Suffix == "" {
		return false
	}
	for _, set := range q.Isolated {
		if slices.Contains(set, place) {
			return false
		}
	}
	for _, subtree := range q.Subtrees {
		if slices.Contains(subtree.Inside, place) || slices.Contains(subtree.Outside, place) {
			return false
		}
	}
	return true
}

// isolatedSets returns the sets of groups that need different providers.
func (q *Query) isolatedSets() [][]int {
	if !q.Isolate {
		return q.Isolated
	}
	var suffixed []int
	for place := range q.Groups {
		if q.Groups[place].Suffix != "" {
			suffixed = append(suffixed, place)
		}
	}
	return [][]int{suffixed}
}

// shareAmounts gives the first numbers to the amounts that providers can share: only the query for the first word returns
// the units of inventories.
func (s *candidateSlots) shareAmounts(ids *resolvedQuery, canSplit []string) {
	for i := range ids.groups {
		group := &ids.groups[i]
		for j, amount := range group.Resources {
			if group.Suffix == "" && slices.Contains(canSplit, amount.Class) {
				s.amountOf(amountPart{Class: group.classes[j], Amount: amount.Amount, Least: 1, Shared: true})
			}
		}
	}
}

// leaveOutSplits prepares the request for what remains if several providers share the amounts of splits. Their trait sets
// are judged with the sets of providers.
func (s *candidateSlots) leaveOutSplits() {
	if len(s.splits) == 0 {
		return
	}
	s.unsplit = s.asked
	s.unsplit.Sets, s.unsplit.Requirements, s.unsplit.Isolated, s.unsplit.Subtrees = 0, nil, nil, nil
	placeOf := make([]int, len(s.wants))
	for want := range s.wants {
		if s.splitOf(want) < 0 {
			placeOf[want] = len(s.others)
			s.others = append(s.others, want)
			s.unsplit.Requirements = append(s.unsplit.Requirements, s.asked.Requirements[want])
		}
	}
	moved := func(wants []int) (to []int) {
		for _, want := range wants {
			to = append(to, placeOf[want]) // groups with a suffix, which are never split
		}
		return to
	}
	for _, set := range s.asked.Isolated {
		s.unsplit.Isolated = append(s.unsplit.Isolated, moved(set))
	}
	for _, set := range s.asked.Subtrees {
		s.unsplit.Subtrees = append(s.unsplit.Subtrees, combine.Subtree{Inside: moved(set.Inside), Outside: moved(set.Outside)})
	}
}

// splitOf returns the index in splits of a requirement, -1 for none.
func (s *candidateSlots) splitOf(want int) int {
	return slices.IndexFunc(s.splits, func(item splitWant) bool { return item.want == want })
}

// leastPart is the smallest amount that the largest part of a split amount can be: at most 16 providers share it.
func leastPart(amount int64) int64 { return (amount-1)/split.MaxProviders + 1 }

// beginWithOrder lets the search of each tree begin with the requirement for the least amount of the class that determines
// the order. Providers with at least this amount free have a place in it. Of an amount that can be split, a part counts.
func (s *candidateSlots) beginWithOrder(query *Query) {
	if !query.isByCapacity() {
		return
	}
	first, least := -1, int64(0)
	for i := range s.wants {
		for _, resource := range s.wants[i].resources {
			amount := resource.Amount
			if s.splitOf(i) >= 0 {
				amount = leastPart(amount)
			}
			if resource.Class == query.Order.Class && (first < 0 || amount < least) {
				first, least = i, amount
			}
		}
	}
	if first < 0 {
		return
	}
	s.first, s.leastOrdered = first, least
	s.asked.First = &s.first
	if place := slices.Index(s.others, first); place >= 0 {
		s.unsplit.First = &place
	}
}

// bits is a set of numbers of conditions or of amounts. Nearly all queries have fewer than wordBits of them, so that one
// word suffices, and one query to the database.
type bits struct {
	first int64
	more  []int64
}

// wordBits is how many numbers one word has. PostgreSQL compares words as bigint.
const wordBits = 62

// bit returns the bit of a number in its word.
func bit(number int) int64 { return 1 << (number % wordBits) }

// allBits returns the word with the bits of the first count numbers.
func allBits(count int) int64 { return 1<<min(count, wordBits) - 1 }

// isEmpty reports whether the set has no number.
func (b *bits) isEmpty() bool { return b.first == 0 && len(b.more) == 0 }

// add adds a number.
func (b *bits) add(number int) {
	if number < wordBits {
		b.first |= bit(number)
		return
	}
	for len(b.more) < number/wordBits {
		b.more = append(b.more, 0)
	}
	b.more[number/wordBits-1] |= bit(number)
}
