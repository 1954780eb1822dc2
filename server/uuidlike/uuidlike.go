// Package uuidlike reads the spellings of a UUID that clients of the Placement
// API may send (the wire contract, section HTTP 11).
//
// There are two checkers because the API has two: bodies and most paths take
// anything that is a UUID once its decoration is gone, two query parameters
// insist on hyphens in the usual places.
//
// It is not for printing: answers carry the canonical form, which is what
// uuid.UUID's String gives, and an error text carries what the client sent. It
// does not look at the version or variant bits either; any 128 bits will do.
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

// decoration removes what may surround or divide the digits. The prefixes are
// lower case only, as upstream has them; the digits are of either case.
var decoration = strings.NewReplacer("urn:", "", "uuid:", "", "{", "", "}", "", "-", "")

// Parse reads s leniently: it holds a UUID if 32 hexadecimal digits are left
// when every "urn:", "uuid:", "{", "}" and hyphen has been removed.
func Parse(s string) (uuid.UUID, bool) {
	// Nearly every client sends the usual form, which needs no copy.
	if id, ok := ParseHyphenated(s); ok {
		return id, true
	}
	return parseDigits(decoration.Replace(s))
}

// ParseHyphenated reads s only in the form of 8-4-4-4-12 hexadecimal digits,
// which the query parameters uuid and in_tree of GET /resource_providers ask
// for. Digits may be of either case.
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

// parseDigits reads exactly 32 hexadecimal digits.
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
