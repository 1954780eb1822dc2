package jsonbody

import "errors"

const (
	// maxExcerptMembers is the maximum number of array elements or object members that an excerpt keeps besides those
	// that do not match.
	maxExcerptMembers = 64
	// MaxExcerptValues is the maximum number of values of a whole excerpt. Beyond it, each array and object keeps one
	// that does not match.
	MaxExcerptValues = 4096
)

// DecodeExcerpt decodes a text that AcceptsText does not accept, so that Validate finds its violation. It keeps little
// of the valid part: the library uses some hundred bytes for each value and more for each violation. Texts of up to
// MaxExcerptValues values are decoded completely. Its errors are those of Decode.
//
// In a larger text, an object lacks members that match. An array has one matching element in place of all matching
// ones, or none if its elements must be unique. The reported violation follows the same order, among the kept values.
func (v *Validator) DecodeExcerpt(raw []byte) (any, error) {
	if v.quick == nil || CountValues(raw) <= MaxExcerptValues {
		return Decode(raw)
	}
	return v.excerpt(raw, excerptReader{maxMembers: maxExcerptMembers, maxValues: MaxExcerptValues})
}

// excerpt decodes with the bounds of the reader.
func (v *Validator) excerpt(raw []byte, e excerptReader) (any, error) {
	if err := checkEncoding(raw); err != nil {
		return nil, err
	}
	p := &parser{data: raw}
	if p.skipSpace(); p.atEnd() {
		return nil, errors.New("the body is empty")
	}
	e.parser = p
	value, _, err := e.value(v.quick)
	if err != nil {
		return nil, err
	}
	if p.skipSpace(); !p.atEnd() {
		return nil, p.unexpected("after the end of the document")
	}
	return value, nil
}

// excerptReader decodes an excerpt.
type excerptReader struct {
	*parser
	maxMembers, maxValues, kept int
}

// value decodes the next value and reports whether it matches.
func (e *excerptReader) value(a *fastValidator) (any, bool, error) {
	if a.ref != nil && a.bare && a.oneOf == nil {
		return e.value(a.ref)
	}
	e.kept++
	if a.ref == nil && a.oneOf == nil {
		switch c := e.peek(); {
		case c == '{' && a.object:
			return e.object(a)
		case c == '[' && a.array:
			return e.array(a)
		}
	}
	// Of a value with the wrong type, only the type matters.
	value, err := e.short()
	return value, err == nil && a.accepts(value), err
}

// short decodes any value; of an array or object it keeps the part that an excerpt keeps.
func (e *excerptReader) short() (any, error) {
	var value any
	var err error
	switch e.peek() {
	case '{':
		value, _, err = e.object(anything)
	case '[':
		value, _, err = e.array(anything)
	default:
		value, err = e.parser.value()
	}
	return value, err
}

// full reports whether an array or object with count kept values of a kind keeps no more of it.
func (e *excerptReader) full(count int) bool {
	return count > 0 && (count >= e.maxMembers || e.kept > e.maxValues)
}

func (e *excerptReader) array(a *fastValidator) (any, bool, error) {
	array, items := []any{}, orAnything(a.items)
	var matching, wrong int
	var stand any // replaces the elements that match
	err := e.list(']', func() error {
		before := e.kept
		value, ok, err := e.value(items)
		switch {
		case a.unique && (ok && e.full(matching) || !ok && e.full(wrong)):
			e.kept = before
			return err // a replacement would not be unique
		case ok && e.full(matching):
			value, e.kept = stand, before
		case ok:
			matching++
			stand = value
		case e.full(wrong):
			value, e.kept = array[len(array)-1], before
		default:
			wrong++
		}
		array = append(array, value)
		return err
	})
	ok := wrong == 0 && len(array) >= a.leastItems && len(array) <= a.atMost
	return array, ok, err
}

func (e *excerptReader) object(a *fastValidator) (any, bool, error) {
	object := map[string]any{}
	var seen keySet
	var matching, wrong int
	err := e.members(func(key string) error {
		if !seen.add(key) {
			return duplicateKey(key)
		}
		before := e.kept
		value, ok, err := e.member(a, key)
		count := &matching
		if !ok {
			count = &wrong
		}
		if _, named := a.properties[key]; !named && e.full(*count) {
			e.kept = before
			return err
		}
		*count++
		object[key] = value
		return err
	})
	ok := wrong == 0 && seen.count >= a.fewest
	for _, name := range a.required {
		ok = ok && seen.has(name)
	}
	return object, ok, err
}

// member decodes the value of a member. If several schemas describe it, it returns the value of the last one that does
// not match.
func (e *excerptReader) member(a *fastValidator, key string) (value any, ok bool, err error) {
	start := e.pos
	described := a.describe(key)
	if described == nil {
		value, err = e.short()
		return value, a.open, err
	}
	ok = true
	for _, schema := range described {
		e.pos = start
		found, matches, err := e.value(schema)
		if err != nil {
			return nil, false, err
		}
		if value == nil || !matches {
			value = found
		}
		ok = ok && matches
	}
	return value, ok, nil
}
