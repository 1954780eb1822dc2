// Package uuidlike parses the notations of a UUID that clients of the Placement API may send
// (docs/contract/http.md#uuids).
//
// It has two functions because the API has two rules. Bodies and most paths accept any text that is a UUID without its
// decoration; two query parameters require hyphens in the standard positions.
//
// It is not for formatting: responses contain the canonical form of uuid.UUID's String, and error texts contain what
// the client sent. It does not check version and variant bits; any 128 bits are valid.
package uuidlike

import (
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
)

const (
	hexLength        = 32
	hyphenatedLength = 36
)

// decoration removes characters around and between the digits. The prefixes are lower case only, as in OpenStack
// Placement; digits have either case.
var decoration = strings.NewReplacer("urn:", "", "uuid:", "", "{", "", "}", "", "-", "")

// Parse parses s leniently: s is a UUID if 32 hexadecimal digits remain after the removal of every "urn:", "uuid:",
// "{", "}" and hyphen.
func Parse(s string) (uuid.UUID, bool) {
	// Nearly every client sends the standard form, which needs no copy.
	if id, ok := ParseHyphenated(s); ok {
		return id, true
	}
	return parseDigits(decoration.Replace(s))
}

// ParseHyphenated parses s only in the form of 8-4-4-4-12 hexadecimal digits, which the query parameters uuid and
// in_tree of GET /resource_providers require. Digits may have either case.
func ParseHyphenated(s string) (uuid.UUID, bool) {
	if len(s) != hyphenatedLength || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return uuid.Nil, false
	}
	var digits [hexLength]byte
	n := copy(digits[:], s[:8])
	n += copy(digits[n:], s[9:13])
	n += copy(digits[n:], s[14:18])
	n += copy(digits[n:], s[19:23])
	copy(digits[n:], s[24:])
	return parseDigits(string(digits[:]))
}

// parseDigits parses exactly 32 hexadecimal digits.
func parseDigits(digits string) (uuid.UUID, bool) {
	var id uuid.UUID
	if len(digits) != hexLength {
		return uuid.Nil, false
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return uuid.Nil, false
	}
	return id, true
}
