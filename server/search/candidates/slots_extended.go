package candidates

import (
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/search/candidates/split"
)

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
