// Package exactjson decodes JSON documents that decide something, such as the claims of a token or the response of
// Keystone to a validation. encoding/json matches names of members without regard to case, uses the last of several
// members with one name, and replaces bytes that are not UTF-8. A second reader of such a document, for example the
// issuer that signed it, would find other values in it than Berth does.
//
// It is not for request bodies, which package jsonbody validates with the published schema, and not for what Berth has
// written itself.
package exactjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// Unmarshal decodes one JSON text like json.Unmarshal, except that it compares names of members exactly. It returns an
// error for invalid UTF-8 and for a member that an object has twice. Members of objects that decode into structs are
// an exception if the struct has no such field: Unmarshal ignores them and all that they contain.
//
// A type with a method UnmarshalJSON or UnmarshalText gets the text as it is, after the check for duplicates at all
// levels. Unmarshal does not look into a json.RawMessage, which the caller decodes in the same way. A field without a
// tag has the name of the field.
func Unmarshal(raw []byte, into any) error { return unmarshal(raw, into, false) }

// UnmarshalStrict is Unmarshal, except that it returns an error for members that the structs do not have.
func UnmarshalStrict(raw []byte, into any) error { return unmarshal(raw, into, true) }

func unmarshal(raw []byte, into any, strict bool) error {
	if at := invalidByte(raw); at >= 0 {
		return fmt.Errorf("invalid byte at position %d: the text is not UTF-8", at)
	}
	if json.Valid(raw) { // otherwise the decoder finds the position of the error
		s := &scan{decoder: json.NewDecoder(bytes.NewReader(raw)), raw: raw, strict: strict}
		s.decoder.UseNumber()
		if err := s.value(reflect.TypeOf(into)); err != nil {
			return err
		}
		raw = s.exact()
	}
	return json.Unmarshal(raw, into)
}

// invalidByte returns the position of the first byte that is not UTF-8, or -1.
func invalidByte(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

// scan reads a valid text beside the type into which it decodes, and finds the names that no field has exactly.
type scan struct {
	decoder *json.Decoder
	raw     []byte
	strict  bool
	// foreign are the positions of these names in raw, without the quotes.
	foreign [][2]int64
}

// value reads one value. In a value of type nil every member counts.
func (s *scan) value(t reflect.Type) error {
	if t == rawMessage {
		return s.decoder.Decode(new(json.RawMessage))
	}
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		err = s.object(t)
	case json.Delim('['):
		err = s.array(t)
	default:
		return nil
	}
	if err == nil {
		_, err = s.decoder.Token() // the closing bracket
	}
	return err
}

func (s *scan) array(t reflect.Type) error {
	var element reflect.Type
	if t = decodedType(t); t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		element = t.Elem()
	}
	for s.decoder.More() {
		if err := s.value(element); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) object(t reflect.Type) error {
	var fields map[string]reflect.Type
	var element reflect.Type
	if t = decodedType(t); t != nil && t.Kind() == reflect.Struct {
		fields = map[string]reflect.Type{}
		addFields(fields, t)
	} else if t != nil && t.Kind() == reflect.Map {
		element = t.Elem()
	}
	seen := map[string]bool{}
	for s.decoder.More() {
		before := s.decoder.InputOffset()
		token, err := s.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if fields != nil {
			field, known := fields[name]
			if !known {
				if err := s.skip(name, before); err != nil {
					return err
				}
				continue
			}
			element = field
		}
		if seen[name] {
			return fmt.Errorf("the member %q appears twice in one object", name)
		}
		seen[name] = true
		if err := s.value(element); err != nil {
			return err
		}
	}
	return nil
}

// skip reads the value of a member that the struct does not have. The name ends at the current position, and starts
// after the first quote behind the position before it.
func (s *scan) skip(name string, before int64) error {
	if s.strict {
		return fmt.Errorf("unknown field %q", name)
	}
	end := s.decoder.InputOffset() - 1
	start := before + int64(bytes.IndexByte(s.raw[before:], '"')) + 1
	s.foreign = append(s.foreign, [2]int64{start, end})
	return s.decoder.Decode(new(json.RawMessage))
}

// exact returns the text with blanks instead of the names that no field has exactly, so that encoding/json cannot match
// them with a field. All other positions stay the same, for its errors.
func (s *scan) exact() []byte {
	if len(s.foreign) == 0 {
		return s.raw
	}
	text := bytes.Clone(s.raw)
	for _, name := range s.foreign {
		for i := name[0]; i < name[1]; i++ {
			text[i] = ' '
		}
	}
	return text
}

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[interface{ UnmarshalText(text []byte) error }]()
)

// decodedType returns the type without pointers, or nil if its values decode themselves.
func decodedType(t reflect.Type) reflect.Type {
	for t != nil {
		if pointer := reflect.PointerTo(t); pointer.Implements(unmarshaler) || pointer.Implements(textUnmarshaler) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}
