package candidates

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/store"
)

// slotPart is one class of a slot, in the format of CandidateWalkSimple.
type slotPart struct {
	Slot        int     `json:"slot"`
	Mark        int64   `json:"mark"`
	Position    int     `json:"position"`
	Classes     int     `json:"classes"`
	Class       int32   `json:"class"`
	Amount      int64   `json:"amount"`
	Suffixed    bool    `json:"suffixed"`
	Required    idList  `json:"required,omitempty"`
	RequiredAny setList `json:"required_any,omitempty"`
	Forbidden   idList  `json:"forbidden,omitempty"`
	MemberOf    idList  `json:"member_of,omitempty"`
	MemberOfToo setList `json:"member_of_too,omitempty"`
	NotMemberOf idList  `json:"not_member_of,omitempty"`
	Root        *int64  `json:"root,omitempty"`
}

// subtreePart is one slot of a same_subtree.
type subtreePart struct {
	Subtree  int   `json:"subtree"`
	Slot     int   `json:"slot"`
	Mark     int64 `json:"mark"`
	Slots    int64 `json:"slots"`
	Subtrees int   `json:"subtrees"`
}

// idList is formatted as an int[] of PostgreSQL.
type idList []int32

// MarshalText implements encoding.TextMarshaler.
func (l idList) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func (l idList) String() string {
	text := []byte{'{'}
	for i, id := range l {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(id), 10)
	}
	return string(append(text, '}'))
}

// setList is formatted as a text[] of such lists.
type setList [][]int32

// MarshalText implements encoding.TextMarshaler.
func (l setList) MarshalText() ([]byte, error) {
	return []byte(`{"` + strings.Join(l.texts(), `","`) + `"}`), nil
}

func (l setList) texts() []string {
	texts := make([]string, 0, len(l))
	for _, set := range l {
		texts = append(texts, idList(set).String())
	}
	return texts
}

// noClass stands for the resources of a group without any: every provider has one unit of it.
const noClass = -1

// candidateWant maps a requirement of package combine to its group and amounts.
type candidateWant struct {
	group     int
	resources []store.Amount
}

// candidateSlots is a query in the form of the walk statements and of package combine.
type candidateSlots struct {
	parts    []slotPart
	subtrees []subtreePart
	// sets are the trait sets that the providers of the unsuffixed group must meet together.
	sets  setList
	count int
	wants []candidateWant
	asked combine.Request
}

// newCandidateSlots assigns equal groups to one slot, so that the database returns eight identical devices once.
func newCandidateSlots(query *Query, ids *resolvedQuery) *candidateSlots {
	s := &candidateSlots{subtrees: []subtreePart{}, asked: combine.Request{Isolate: query.Isolate, OneOfATree: query.OnePerTree}}
	known := map[string]int{}
	wantOf := make([]int, len(query.Groups))
	slotOf := make([]int, len(query.Groups))
	for place := range ids.groups {
		group := &ids.groups[place]
		wantOf[place] = len(s.wants)
		if group.Suffix == "" {
			s.spread(place, group)
			continue
		}
		slotOf[place] = s.add(known, s.slotFilters(group), group.classes, group.Resources, subtreesWith(query, place))
		s.want(place, slotOf[place], group.classes, group.Resources, true)
	}
	for number, subtree := range query.Subtrees {
		var places, slots []int
		for _, group := range subtree {
			places = append(places, wantOf[group])
			slots = append(slots, slotOf[group])
		}
		s.asked.Subtrees = append(s.asked.Subtrees, places)
		slices.Sort(slots)
		slots = slices.Compact(slots)
		for i, slot := range slots {
			s.subtrees = append(s.subtrees, subtreePart{Subtree: number, Slot: slot, Mark: mark(i), Slots: marks(len(slots))})
		}
	}
	for i := range s.subtrees {
		for _, other := range s.subtrees {
			if other.Slot == s.subtrees[i].Slot {
				s.subtrees[i].Subtrees++
			}
		}
	}
	return s
}

// subtreesWith returns the sets that contain a group.
func subtreesWith(query *Query, group int) (in []int) {
	for i, subtree := range query.Subtrees {
		if slices.Contains(subtree, group) {
			in = append(in, i)
		}
	}
	return in
}

// spread adds a slot for each class of the unsuffixed group. If there is only one class, its providers must meet all
// conditions by themselves.
func (s *candidateSlots) spread(place int, group *resolvedGroup) {
	like := s.slotFilters(group)
	if len(group.classes) > 1 {
		like.Required, like.RequiredAny = nil, nil
		s.sets = group.required
		s.asked.Sets = len(s.sets)
	}
	for i := range group.classes {
		slot := s.add(nil, like, group.classes[i:i+1], group.Resources[i:i+1], nil)
		s.want(place, slot, group.classes[i:i+1], group.Resources[i:i+1], false)
	}
}

// slotFilters returns the conditions of a group apart from its resources.
func (s *candidateSlots) slotFilters(group *resolvedGroup) slotPart {
	like := slotPart{Suffixed: group.Suffix != "", Forbidden: group.forbidden, NotMemberOf: group.notMemberOf}
	for _, set := range group.required {
		if len(set) == 1 {
			like.Required = append(like.Required, set[0])
		} else {
			like.RequiredAny = append(like.RequiredAny, set)
		}
	}
	if len(group.memberOf) > 0 {
		like.MemberOf, like.MemberOfToo = group.memberOf[0], group.memberOf[1:]
	}
	if group.root != 0 {
		like.Root = &group.root
	}
	return like
}

// add returns the index of the slot that is equal, or adds a new one.
func (s *candidateSlots) add(known map[string]int, like slotPart, classes []int32, amounts []store.Amount, subtrees []int) int {
	parts := make([]slotPart, 0, max(1, len(classes)))
	like.Classes = max(1, len(classes))
	for i, class := range classes {
		part := like
		part.Position, part.Class, part.Amount = i, class, amounts[i].Amount
		parts = append(parts, part)
	}
	if len(classes) == 0 {
		like.Class, like.Amount = noClass, 1
		parts = append(parts, like)
	}
	key := string(encoded(parts)) + fmt.Sprint(subtrees)
	if slot, found := known[key]; found {
		return slot
	}
	slot := s.count
	s.count++
	if known != nil {
		known[key] = slot
	}
	for i := range parts {
		parts[i].Slot, parts[i].Mark = slot, mark(slot)
	}
	s.parts = append(s.parts, parts...)
	return slot
}

func (s *candidateSlots) want(group, slot int, classes []int32, amounts []store.Amount, suffixed bool) {
	want := combine.Requirement{Suffixed: suffixed, Slot: slot}
	for i, class := range classes {
		want.Uses = append(want.Uses, combine.Use{Class: class, Amount: amounts[i].Amount})
	}
	s.asked.Requirements = append(s.asked.Requirements, want)
	s.wants = append(s.wants, candidateWant{group: group, resources: amounts})
}

// maxSlotBits is how many items have a bit in a bit set. Items beyond have none: the database then returns more rows
// than necessary, and package combine filters them.
const maxSlotBits = 62

func mark(place int) int64 {
	if place < maxSlotBits {
		return 1 << place
	}
	return 0
}

// marks returns the bit set of count items.
func marks(count int) int64 { return 1<<min(count, maxSlotBits) - 1 }

// encoded marshals values that cannot fail: numbers, booleans and lists of numbers.
func encoded(parts any) json.RawMessage {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", parts, err))
	}
	return text
}
