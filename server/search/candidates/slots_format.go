package candidates

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// condition is what a group requires of a provider beside resources, in the format of CandidatePage.
type condition struct {
	Bit         int64   `json:"bit"`
	Required    idList  `json:"required,omitempty"`
	RequiredAny setList `json:"required_any,omitempty"`
	Forbidden   idList  `json:"forbidden,omitempty"`
	MemberOf    idList  `json:"member_of,omitempty"`
	MemberOfToo setList `json:"member_of_too,omitempty"`
	NotMemberOf idList  `json:"not_member_of,omitempty"`
	Root        *int64  `json:"root,omitempty"`
}

// isEmpty reports whether every provider meets the condition.
func (c *condition) isEmpty() bool {
	return len(c.Required)+len(c.RequiredAny)+len(c.Forbidden)+len(c.MemberOf)+len(c.NotMemberOf) == 0 && c.Root == nil
}

// amountPart is an amount of a class, in the format of CandidatePage. Least is the free capacity that
// suffices; Shared is true for an amount that several providers can share.
type amountPart struct {
	Bit    int64 `json:"bit"`
	Class  int32 `json:"class"`
	Amount int64 `json:"amount"`
	Least  int64 `json:"least"`
	Shared bool  `json:"shared,omitempty"`
}

// slotPart is a slot in the format of CandidatePageGeneral.
type slotPart struct {
	Mark       int64 `json:"mark"`
	Conditions int64 `json:"conditions"`
	Amounts    int64 `json:"amounts"`
}

// subtreePart is a same_subtree in the format of CandidatePageGeneral.
type subtreePart struct {
	Mark  int64 `json:"mark"`
	Slots int64 `json:"slots"`
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

// texts returns the elements.
func (l setList) texts() []string {
	texts := make([]string, 0, len(l))
	for _, set := range l {
		texts = append(texts, idList(set).String())
	}
	return texts
}

// words returns how many queries a page takes.
func (s *candidateSlots) words() int {
	return max(1, (max(len(s.conditions), len(s.amounts))+wordBits-1)/wordBits)
}

// wordOf returns the part of a list that is in a word.
func wordOf[T any](list []T, word int) []T {
	start := min(word*wordBits, len(list))
	return list[start:min(start+wordBits, len(list))]
}

// slotParts returns the slots with a mark, each with the conditions and amounts of the first word. Slots without a mark
// are left to package combine.
func (s *candidateSlots) slotParts() []slotPart {
	parts := []slotPart{}
	for i := range wordOf(s.slots, 0) {
		amounts := s.slots[i].amounts
		if !s.slots[i].shared.isEmpty() {
			amounts = s.slots[i].shared
		}
		parts = append(parts, slotPart{Mark: markOf(i), Conditions: s.slots[i].own.first, Amounts: amounts.first})
	}
	return parts
}

// markOf returns the bit of one of the first wordBits numbers, and nothing for the others.
func markOf(number int) int64 {
	if number < wordBits {
		return bit(number)
	}
	return 0
}

// encoded marshals values that cannot fail: numbers, booleans and lists of numbers.
func encoded(parts any) json.RawMessage {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", parts, err))
	}
	return text
}
