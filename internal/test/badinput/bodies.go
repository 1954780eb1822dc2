package badinput

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fragment is text that a body contains unchanged, JSON or not.
type fragment string

// odd are values that no schema permits.
var odd = []fragment{
	`null`, `true`, `-1`, `0`, `2147483648`, `9223372036854775808`, `-9223372036854775809`, `1e400`, `1e-400`, `10.0`, `1.5`, `-0.0`, `1E+2`,
	`99999999999999999999999999999999999999999999999999`, `NaN`, `01`, `0x10`, `""`, `" "`, `"\u0000"`, `"a\u0000b"`, `"\ud800"`, `"\ude00\ud83d"`,
	"\"\xff\"", "\"\xc3(\"", "\"\x01\"", `'x'`, `[]`, `{}`, `[[]]`, `{"":""}`, `{"a":1,"a":2}`, `"not a uuid"`, `"' OR 1=1 --"`, `"$1"`, `"%s%n"`,
	`"../../etc/passwd"`, `"c0ffee005ca14b1e8000000000000001"`, `"C0FFEE00-5CA1-4B1E-8000-000000000001"`, `"\u2028\u202e"`, `"٣"`,
	fragment(`"` + strings.Repeat("x", 256) + `"`), fragment(`"` + strings.Repeat("é", 3000) + `"`),
	fragment(strings.Repeat("[", 200) + strings.Repeat("]", 200)), fragment(strings.Repeat(`{"a":`, 600)), fragment(strings.Repeat("9", 3000)),
}

// write encodes a value as JSON, with fragments unchanged. Members are in order, so that a seed
// always produces the same body.
func write(to *bytes.Buffer, value any) {
	switch value := value.(type) {
	case fragment:
		to.WriteString(string(value))
	case []any:
		to.WriteByte('[')
		for i, element := range value {
			if i > 0 {
				to.WriteByte(',')
			}
			write(to, element)
		}
		to.WriteByte(']')
	case map[string]any:
		to.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				to.WriteByte(',')
			}
			write(to, name)
			to.WriteByte(':')
			write(to, value[name])
		}
		to.WriteByte('}')
	default:
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte(`"unwritable"`)
		}
		to.Write(text)
	}
}

// spoil changes one part of a value.
func (d dice) spoil(value any) any {
	if d.chance(25) {
		return pick(d, odd)
	}
	switch value := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		changed := maps.Clone(value)
		if changed == nil || len(names) == 0 || d.chance(15) {
			if changed == nil {
				changed = map[string]any{}
			}
			changed[pick(d, []string{"pony", "", "a\x00b", "resources", "allocations", "uuid", strings.Repeat("k", 300)})] = pick(d, odd)
			return changed
		}
		name := pick(d, names)
		switch d.IntN(4) {
		case 0:
			delete(changed, name)
		default:
			changed[name] = d.spoil(value[name])
		}
		return changed
	case []any:
		changed := slices.Clone(value)
		if len(changed) == 0 || d.chance(15) {
			return append(changed, pick(d, odd))
		}
		at := d.IntN(len(changed))
		if d.chance(20) {
			return append(changed, changed[at]) // repeated
		}
		changed[at] = d.spoil(changed[at])
		return changed
	}
	return pick(d, odd)
}

// spoilText changes bytes of a body.
func (d dice) spoilText(text []byte) []byte {
	at := 0
	if len(text) > 0 {
		at = d.IntN(len(text))
	}
	switch d.IntN(9) {
	case 0:
		return text[:at]
	case 1:
		return slices.Insert(slices.Clone(text), at, pick(d, []byte{0, 0xff, '"', '{', ',', '\\', 0xc3, '\n'}))
	case 2:
		return append(slices.Clone(text), pick(d, []string{"x", "{}", "\x00", ",", "]"})...)
	case 3:
		return append([]byte("\xef\xbb\xbf"), text...)
	case 4: // a repeated member
		return bytes.Replace(text, []byte("{"), []byte(`{"uuid": 1, "uuid": 2, `), 1)
	case 5:
		return bytes.Repeat(text, 2)
	case 6:
		return []byte(pick(d, []string{"", " ", "null", "<xml/>", "a=b&c=d", "[", "\"", "true", "\xff\xfe{\x00}\x00"}))
	case 7:
		return []byte(strings.Repeat(pick(d, []string{"[", `{"a":`, "[{\"\":"}), 1+d.IntN(20000)))
	}
	return bytes.ReplaceAll(text, []byte(":"), []byte(": \t\r\n"))
}
