package draw

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"
)

// The shapes of the package's comment.
type (
	forestDocument struct {
		Trees []providerDocument `json:"trees"`
	}
	providerDocument struct {
		UUID        uuid.UUID                    `json:"uuid"`
		Name        string                       `json:"name"`
		Parent      *uuid.UUID                   `json:"parent_provider_uuid"`
		Generation  *int64                       `json:"generation"`
		Inventories map[string]inventoryDocument `json:"inventories"`
		Traits      []string                     `json:"traits"`
		Aggregates  []uuid.UUID                  `json:"aggregates"`
		Children    []providerDocument           `json:"children"`
	}
	inventoryDocument struct {
		Total           int32    `json:"total"`
		Reserved        *int32   `json:"reserved,omitempty"`
		MinUnit         *int32   `json:"min_unit,omitempty"`
		MaxUnit         *int32   `json:"max_unit,omitempty"`
		StepSize        *int32   `json:"step_size,omitempty"`
		AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
		Capacity        int64    `json:"capacity"`
		Used            *int64   `json:"used,omitempty"`
	}
)

// JSON writes the forest in the shape of the package's comment. Names are as they
// are; JSON escapes what is not plain text.
func JSON(w io.Writer, forest Forest) error {
	document := forestDocument{Trees: []providerDocument{}}
	for _, tree := range forest.trees() {
		document.Trees = append(document.Trees, tree.document())
	}
	return WriteJSON(w, document)
}

// DifferenceJSON writes what Compare finds in the shape of the package's comment.
func DifferenceJSON(w io.Writer, before, after Forest) error {
	return Compare(before, after).JSON(w)
}

// JSON is the same for changes that are known already.
func (c *Changes) JSON(w io.Writer) error { return WriteJSON(w, c) }

// WriteJSON writes a value indented, and its texts harmless in a terminal, for
// commands that print other things than pictures.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(visible{w})
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

func (b *branch) document() providerDocument {
	document := providerDocument{
		UUID: b.UUID, Name: b.Name, Parent: parentOf(b.Node), Generation: b.Generation,
		Inventories: map[string]inventoryDocument{}, Children: []providerDocument{},
		Traits: append([]string{}, sorted(b.Traits)...), Aggregates: append([]uuid.UUID{}, sortedIDs(b.Aggregates)...),
	}
	for _, h := range b.holdings() {
		one := inventoryDocument{
			Total: h.record.Total, Reserved: h.record.Reserved, MinUnit: h.record.MinUnit, MaxUnit: h.record.MaxUnit,
			StepSize: h.record.StepSize, AllocationRatio: h.record.AllocationRatio, Capacity: h.capacity(),
		}
		if h.counted {
			one.Used = &h.used
		}
		document.Inventories[h.class] = one
	}
	for _, child := range b.children {
		document.Children = append(document.Children, child.document())
	}
	return document
}

// visible escapes what JSON allows as it is and a terminal should not get: DEL, C1
// controls, marks of direction and invisible characters. All of them can stand in
// strings only, so \u is always right.
type visible struct{ out io.Writer }

func (v visible) Write(text []byte) (int, error) {
	var escaped strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(v.out, escaped.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
