package jsonbody

import (
	"fmt"
	"math"
	"strconv"
)

// twoTo63 is the first float64 beyond the range of int64.
const twoTo63 = float64(1 << 63)

// Int is an integer of a request body. It accepts all notations of integers that the API accepts, 10 as well as 10.0
// and 1e1. It saturates at the limits of int64, so that a huge amount fails the capacity check and not the parser.
type Int int64

// UnmarshalJSON implements json.Unmarshaler. Null changes nothing, as in encoding/json.
func (i *Int) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	p := &parser{data: raw}
	value, err := p.number()
	if err != nil || !p.atEnd() {
		return fmt.Errorf("%s is not an integer", repr(string(raw)))
	}
	switch value := value.(type) {
	case int64:
		*i = Int(value)
		return nil
	case float64:
		if value == math.Trunc(value) {
			*i = saturated(value)
			return nil
		}
	}
	return fmt.Errorf("%s is not an integer", repr(value))
}

// saturated converts a float beyond the range of int64 to the nearest limit.
func saturated(value float64) Int {
	if value < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// number parses a number by the JSON grammar, which is stricter than strconv: no leading zeros, no plus sign, digits on
// both sides of the point.
func (p *parser) number() (any, error) {
	start, integer := p.pos, true
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return nil, p.unexpected("in a number")
	}
	if p.peek() == '.' {
		p.pos++
		integer = false
		if !p.digits() {
			return nil, p.unexpected("in a number")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		integer = false
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return nil, p.unexpected("in a number")
		}
	}
	return parseNumber(string(p.data[start:p.pos]), integer), nil
}

// digits skips at least one digit and reports whether it found one.
func (p *parser) digits() bool {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// parseNumber converts a literal to an int64 if it is integral and in range, with or without a fraction or exponent,
// and otherwise to a float64.
//
// An integral number beyond int64 stays a float64 on purpose: the schema must still see that 1e39 exceeds the maximum
// of an allocation ratio. Numbers beyond float64 saturate at its largest value; the result is never an infinity. The
// cost depends on the length of the literal only, not on its exponent.
func parseNumber(literal string, integer bool) any {
	if integer {
		if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return i
		}
	}
	// The only possible error is one of range, which comes with an infinity.
	f, _ := strconv.ParseFloat(literal, 64)
	f = max(-math.MaxFloat64, min(math.MaxFloat64, f))
	if f == math.Trunc(f) && -twoTo63 <= f && f < twoTo63 {
		return int64(f)
	}
	return f
}
