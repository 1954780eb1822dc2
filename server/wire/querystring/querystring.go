// Package querystring parses the query of a request as the Placement API requires: in order, with repetitions, and
// strictly (docs/contract/http.md#query-strings). It also validates a query with the parameters of an endpoint.
//
// It exists because url.Values loses the order, on which the order of checks depends, and because URL.Query silently
// drops what it cannot parse.
//
// It is not for the formats of values: the grammars of resources, required and member_of belong to the operations. It
// does not know microversions either; an operation selects its schema.
package querystring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pair is one decoded parameter.
type Pair struct {
	Name, Value string
}

// Values are the parameters of a query in their order. The zero value has none.
type Values struct {
	pairs []Pair
}

// Of returns the values of parameters that were decoded elsewhere.
func Of(pairs ...Pair) Values { return Values{pairs: pairs} }

// Parse parses a raw query. It splits the query at each "&" and each part at its first "="; a part without one has an
// empty value, empty parts are skipped, and ";" is an ordinary character. In names and values "+" is a space, and a
// percent sign without two hexadecimal digits after it stays unchanged.
//
// Names and values that are not UTF-8 or contain NUL characters, which the database cannot store, are errors.
func Parse(rawQuery string) (Values, error) {
	var values Values
	for piece := range strings.SplitSeq(rawQuery, "&") {
		if piece == "" {
			continue
		}
		name, value, _ := strings.Cut(piece, "=")
		pair := Pair{Name: unquote(name), Value: unquote(value)}
		if err := pair.check(); err != nil {
			return Values{}, err
		}
		values.pairs = append(values.pairs, pair)
	}
	return values, nil
}

func (p Pair) check() error {
	if !utf8.ValidString(p.Name) {
		return errors.New("a parameter name is not UTF-8")
	}
	if !utf8.ValidString(p.Value) {
		return fmt.Errorf("the value of parameter %q is not UTF-8", shortened(p.Name))
	}
	if strings.Contains(p.Name, "\x00") || strings.Contains(p.Value, "\x00") {
		return fmt.Errorf("parameter %q contains the NUL character (%%00)", shortened(p.Name))
	}
	return nil
}

// shortened truncates a name, so that a long one does not fill the response.
func shortened(name string) string {
	const limit = 100
	if runes := []rune(name); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return name
}

// unquote decodes "+" and percent escapes. It decodes plus signs first, so that an escaped one stays.
func unquote(s string) string {
	if !strings.ContainsAny(s, "+%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteByte(fromHex(s[i+1])<<4 | fromHex(s[i+2]))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// fromHex returns the value of a digit that isHex has accepted.
func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// Pairs returns all parameters in the order of the query. The caller must not
// change them.
func (v Values) Pairs() []Pair { return v.pairs }

// Has reports whether a parameter is present, also with an empty value.
func (v Values) Has(name string) bool {
	_, ok := v.First(name)
	return ok
}

// First returns the value of a parameter's first occurrence. ok is false if there is none.
func (v Values) First(name string) (string, bool) {
	for _, pair := range v.pairs {
		if pair.Name == name {
			return pair.Value, true
		}
	}
	return "", false
}

// Last returns the value of a parameter's last occurrence; ok is false if there is none. It reads most parameters that
// must not be repeated.
func (v Values) Last(name string) (string, bool) {
	for i := len(v.pairs) - 1; i >= 0; i-- {
		if v.pairs[i].Name == name {
			return v.pairs[i].Value, true
		}
	}
	return "", false
}

// All returns the values of all occurrences of a parameter in order.
func (v Values) All(name string) []string {
	var all []string
	for _, pair := range v.pairs {
		if pair.Name == name {
			all = append(all, pair.Value)
		}
	}
	return all
}

// Names returns each parameter's name once, in the order of first appearance.
func (v Values) Names() []string {
	seen := make(map[string]struct{}, len(v.pairs))
	var names []string
	for _, pair := range v.pairs {
		if _, again := seen[pair.Name]; !again {
			seen[pair.Name] = struct{}{}
			names = append(names, pair.Name)
		}
	}
	return names
}

// Encode returns a query that Parse reads as the same values. It escapes only what it must: commas, colons and other
// characters of the grammars of values stay readable.
func (v Values) Encode() string {
	var b strings.Builder
	for i, pair := range v.pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		escape(&b, pair.Name)
		b.WriteByte('=')
		escape(&b, pair.Value)
	}
	return b.String()
}

// Without returns the values of all other parameters.
func (v Values) Without(name string) Values {
	if !v.Has(name) {
		return v
	}
	return Values{slices.DeleteFunc(slices.Clone(v.pairs), func(pair Pair) bool { return pair.Name == name })}
}

// With returns the values with one occurrence of a parameter: in the place of its first one, or at the end.
func (v Values) With(name, value string) Values {
	at := slices.IndexFunc(v.pairs, func(pair Pair) bool { return pair.Name == name })
	if at < 0 {
		at = len(v.pairs)
	}
	return Values{slices.Insert(slices.Clone(v.Without(name).pairs), at, Pair{name, value})}
}

// Size returns the number of bytes of all names and values.
func (v Values) Size() int {
	size := 0
	for _, pair := range v.pairs {
		size += len(pair.Name) + len(pair.Value)
	}
	return size
}

func escape(b *strings.Builder, text string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~:,!*()/@$;", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, "%%%02X", c)
		}
	}
}
