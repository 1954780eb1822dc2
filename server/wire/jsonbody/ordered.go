package jsonbody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Entry is one member of an Ordered map.
type Entry[V any] struct {
	Key   string
	Value V
}

// Ordered is a JSON object whose keys are data: resource classes, consumers, providers. It keeps the order of the
// request or response, which clients observe. encoding/json would sort the keys.
//
// It is a slice: use append to build it and range to read it. The zero value encodes as {} and is omitted by omitempty.
type Ordered[V any] []Entry[V]

// MarshalJSON implements json.Marshaler. It encodes the members in order.
func (o Ordered[V]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	// The calling encoder decides whether <, > and & are escaped.
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encode := func(value any) error {
		if err := encoder.Encode(value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // remove the newline that Encode appends
		return nil
	}
	b.WriteByte('{')
	for i := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(o[i].Key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encode(&o[i].Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler. It returns an error for duplicate keys and for strings that Decode
// rejects. Null changes nothing, as in encoding/json.
func (o *Ordered[V]) UnmarshalJSON(raw []byte) error {
	p := &parser{data: raw}
	p.skipSpace()
	if p.peek() != '{' {
		if string(bytes.TrimSpace(raw)) == "null" {
			return nil
		}
		return errors.New("an object was expected")
	}
	entries := Ordered[V]{}
	seen := map[string]struct{}{}
	err := p.members(func(key string) error {
		if _, again := seen[key]; again {
			return duplicateKey(key)
		}
		seen[key] = struct{}{}
		entries = append(entries, Entry[V]{Key: key})
		if err := unmarshalMember(p.extent(), &entries[len(entries)-1].Value); err != nil {
			return fmt.Errorf("%s: %w", repr(key), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.skipSpace(); !p.atEnd() {
		return p.unexpected("after the end of the document")
	}
	*o = entries
	return nil
}

// unmarshalMember calls UnmarshalJSON directly if the type has it: json.Unmarshal would scan the text once more for
// each level of nesting.
func unmarshalMember(raw []byte, value any) error {
	if own, ok := value.(json.Unmarshaler); ok {
		return own.UnmarshalJSON(raw)
	}
	return json.Unmarshal(raw, value)
}

// extent skips one value and returns its text. It only counts brackets; decoding the text later checks whether it is
// well-formed.
func (p *parser) extent() []byte {
	start, depth := p.pos, 0
	for ; !p.atEnd(); p.pos++ {
		switch p.data[p.pos] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return bytes.TrimRight(p.data[start:p.pos], " \t\r\n")
			}
			depth--
		case ',':
			if depth == 0 {
				return bytes.TrimRight(p.data[start:p.pos], " \t\r\n")
			}
		case '"':
			p.skipString()
		}
	}
	return p.data[start:]
}

// skipString starts at the opening quote and stops at the closing one.
func (p *parser) skipString() {
	for p.pos++; !p.atEnd() && p.data[p.pos] != '"'; p.pos++ {
		if p.data[p.pos] == '\\' {
			p.pos++
		}
	}
}
