package jsonbody

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Canonical returns the canonical form of a JSON text: without white space, members in the order of their names, strings
// with as few escapes as possible, and numbers by value. Two texts that Decode reads as equal values of the same exact
// numbers have the same form. It returns the errors of Decode. The result and its temporary copies are at most three times
// as large as the text.
func Canonical(raw []byte) ([]byte, error) {
	if err := checkEncoding(raw); err != nil {
		return nil, err
	}
	c := &canonicalWriter{parser: parser{data: raw}, out: make([]byte, 0, len(raw))}
	c.skipSpace()
	if err := c.write(); err != nil {
		return nil, err
	}
	c.skipSpace()
	if !c.atEnd() {
		return nil, c.unexpected("after the end of the document")
	}
	return c.out, nil
}

type canonicalWriter struct {
	parser
	out []byte
}

// write appends the value at the position of the parser.
func (c *canonicalWriter) write() error {
	switch c.peek() {
	case '{':
		return c.writeObject()
	case '[':
		c.out = append(c.out, '[')
		first := true
		err := c.list(']', func() error {
			if !first {
				c.out = append(c.out, ',')
			}
			first = false
			return c.write()
		})
		c.out = append(c.out, ']')
		return err
	case '"':
		text, err := c.str()
		c.writeText(text)
		return err
	}
	start := c.pos
	value, err := c.value()
	if err != nil {
		return err
	}
	literal := c.data[start:c.pos]
	switch value.(type) {
	case int64, float64:
		c.out = append(c.out, canonicalNumber(string(literal))...)
	default: // true, false, null
		c.out = append(c.out, literal...)
	}
	return nil
}

// canonicalMember is the place of a member in the output.
type canonicalMember struct {
	key        string
	start, end int
}

// writeObject appends the members as they come, and then sorts them unless they are in order.
func (c *canonicalWriter) writeObject() error {
	c.out = append(c.out, '{')
	begin := len(c.out)
	var members []canonicalMember
	err := c.members(func(key string) error {
		start := len(c.out)
		c.writeText(key)
		c.out = append(c.out, ':')
		if err := c.write(); err != nil {
			return err
		}
		c.out = append(c.out, ',')
		members = append(members, canonicalMember{key, start, len(c.out)})
		return nil
	})
	if err != nil {
		return err
	}
	byKey := func(a, b canonicalMember) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		slices.SortFunc(members, byKey)
		written := slices.Clone(c.out[begin:])
		c.out = c.out[:begin]
		for _, member := range members {
			c.out = append(c.out, written[member.start-begin:member.end-begin]...)
		}
	}
	for i := range members[min(1, len(members)):] {
		if members[i].key == members[i+1].key {
			return duplicateKey(members[i].key)
		}
	}
	if len(members) > 0 {
		c.out = c.out[:len(c.out)-1] // the last comma
	}
	c.out = append(c.out, '}')
	return nil
}

// writeText appends a string. The characters that need an escape have one form of it.
func (c *canonicalWriter) writeText(text string) {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r > '~' || strings.ContainsRune("<>&", r)
	}) {
		c.out = append(append(append(c.out, '"'), text...), '"')
		return
	}
	encoded, _ := json.Marshal(text) // a text cannot fail to encode
	c.out = append(c.out, encoded...)
}

// maxIntegerDigits is the maximum number of digits of an integer that the canonical form writes without an exponent. It is
// more than int64 has.
const maxIntegerDigits = 25

// canonicalNumber returns the one spelling of the exact value of a JSON number: an integer without fraction and exponent
// up to maxIntegerDigits, otherwise the significant digits and an exponent of ten. A number whose exponent is beyond int
// keeps its spelling.
func canonicalNumber(literal string) string {
	sign := ""
	unsigned, negative := strings.CutPrefix(literal, "-")
	if negative {
		sign = "-"
	}
	mantissa, exponent := unsigned, 0
	if at := strings.IndexAny(unsigned, "eE"); at >= 0 {
		parsed, err := strconv.Atoi(unsigned[at+1:])
		if err != nil || parsed > 1<<30 || parsed < -1<<30 {
			return literal
		}
		mantissa, exponent = unsigned[:at], parsed
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	switch {
	case significant == "":
		return "0"
	case exponent >= 0 && len(significant)+exponent <= maxIntegerDigits:
		return sign + significant + strings.Repeat("0", exponent)
	}
	return sign + significant + "e" + strconv.Itoa(exponent)
}
