package jsonbody

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math"
	"slices"
)

// CountValues returns an upper bound of the number of values in a JSON text: the opening brackets and the commas
// outside of strings, plus one. It reads the bytes once, allocates nothing, and does not check whether the text is
// well-formed.
func CountValues(raw []byte) int {
	p, count := parser{data: raw}, 1
	for ; !p.atEnd(); p.pos++ {
		switch p.data[p.pos] {
		case '{', '[', ',':
			count++
		case '"':
			p.skipString()
		}
	}
	return count
}

// AcceptsText reports whether raw is a JSON text that Decode accepts and whose value Validate accepts. It builds no
// values. If it returns false, Decode and Validate decide.
func (v *Validator) AcceptsText(raw []byte) bool {
	if v.quick == nil || checkEncoding(raw) != nil {
		return false
	}
	p := &parser{data: raw}
	if p.skipSpace(); p.atEnd() || !v.quick.acceptsNext(p) {
		return false
	}
	p.skipSpace()
	return p.atEnd()
}

// anything is the validator of an empty schema.
var anything = &fastValidator{
	null: true, boolean: true, number: true, integer: true, text: true, array: true, object: true,
	open: true, atMost: unbounded, longest: unbounded, least: math.MinInt64, most: math.MaxInt64,
	leastFloat: math.Inf(-1), mostFloat: math.Inf(1),
}

// acceptsNext parses one value and reports whether it matches; see accepts. If it returns false, the position of the
// parser is undefined.
func (a *fastValidator) acceptsNext(p *parser) bool {
	start, depth := p.pos, p.depth
	tried := func(b *fastValidator) bool {
		p.pos, p.depth = start, depth
		return b.acceptsNext(p)
	}
	if a.oneOf != nil && (!a.acceptsOne(tried) || a.bare && a.ref == nil && !tried(anything)) {
		return false
	}
	if a.ref != nil && !tried(a.ref) {
		return false
	}
	if a.bare {
		return true
	}
	p.pos, p.depth = start, depth
	switch p.peek() {
	case '{':
		return a.object && a.format == nil && a.enum == nil && a.acceptsNextObject(p)
	case '[':
		return a.array && a.format == nil && a.enum == nil && a.acceptsNextArray(p)
	}
	value, err := p.value()
	return err == nil && a.acceptsOwn(value)
}

// errNotAccepted stops the parsing of a text.
var errNotAccepted = errors.New("not accepted")

func (a *fastValidator) acceptsNextArray(p *parser) bool {
	count, items := 0, a.items
	if items == nil {
		items = anything
	}
	var seen keySet
	err := p.list(']', func() error {
		start := p.pos
		if count++; count > a.atMost || !items.acceptsNext(p) {
			return errNotAccepted
		}
		if a.unique && !seen.addText(p.data[start:p.pos]) {
			return errNotAccepted
		}
		return nil
	})
	return err == nil && count >= a.leastItems
}

func (a *fastValidator) acceptsNextObject(p *parser) bool {
	var seen keySet
	err := p.members(func(key string) error {
		if !seen.add(key) || !a.acceptsMember(p, key) {
			return errNotAccepted
		}
		return nil
	})
	if err != nil || seen.count < a.fewest {
		return false
	}
	return !slices.ContainsFunc(a.required, func(name string) bool { return !seen.has(name) })
}

// acceptsMember parses the value of a member once for each schema that describes it.
func (a *fastValidator) acceptsMember(p *parser, key string) bool {
	start := p.pos
	described := a.describe(key)
	for _, schema := range described {
		p.pos = start
		if !schema.acceptsNext(p) {
			return false
		}
	}
	return len(described) > 0 || a.open && anything.acceptsNext(p)
}

// describe returns the schemas that the member with the key must match; nil: none describes it.
func (a *fastValidator) describe(key string) []*fastValidator {
	var described []*fastValidator
	if property, ok := a.properties[key]; ok {
		described = append(described, orAnything(property))
	}
	for _, pattern := range a.patterns {
		if pattern.key.MatchString(key) {
			described = append(described, orAnything(pattern.value))
		}
	}
	if described == nil && a.others != nil {
		described = append(described, a.others)
	}
	return described
}

func orAnything(a *fastValidator) *fastValidator {
	if a == nil {
		return anything
	}
	return a
}

// keySet is the set of keys of one object. It compares the first keys, and stores only hashes of further ones: two keys
// with equal hashes count as duplicates, so that Decode decides.
type keySet struct {
	first  [8]string
	count  int
	seed   maphash.Seed
	hashes map[uint64]struct{}
}

// add adds a key and returns false if the set already contains it.
func (s *keySet) add(key string) bool {
	if s.has(key) {
		return false
	}
	switch {
	case s.count < len(s.first):
		s.first[s.count] = key
	case s.hashes == nil:
		s.seed, s.hashes = maphash.MakeSeed(), map[uint64]struct{}{}
		fallthrough
	default:
		s.hashes[maphash.String(s.seed, key)] = struct{}{}
	}
	s.count++
	return true
}

// addText adds a value in its JSON notation. It returns false unless the value is a text without escapes.
func (s *keySet) addText(written []byte) bool {
	return written[0] == '"' && !bytes.ContainsRune(written, '\\') && s.add(string(written[1:len(written)-1]))
}

func (s *keySet) has(key string) bool {
	if slices.Contains(s.first[:min(s.count, len(s.first))], key) {
		return true
	}
	if s.hashes == nil {
		return false
	}
	_, found := s.hashes[maphash.String(s.seed, key)]
	return found
}
