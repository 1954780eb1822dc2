package jsonbody

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestJSON_PythonRepr_MatchesPython(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"None", nil, "None"},
		{"True", true, "True"},
		{"False", false, "False"},
		{"an integer", int64(-5), "-5"},
		{"a fraction", 2.5, "2.5"},
		{"an integral float", 1e15, "1000000000000000.0"},
		{"a large float", 1e16, "1e+16"},
		{"a small float", 0.0001, "0.0001"},
		{"a smaller float", 0.00001, "1e-05"},
		{"zero as a float", 0.0, "0.0"},
		{"the largest float", math.MaxFloat64, "1.7976931348623157e+308"},
		{"a number in its notation", json.Number("1.50"), "1.50"},
		{"plain text", "x", "'x'"},
		{"an apostrophe", "it's", `"it's"`},
		{"a double quote", `say "x"`, `'say "x"'`},
		{"both quotes", `it's "x"`, `'it\'s "x"'`},
		{"a backslash", `a\b`, `'a\\b'`},
		{"whitespace", "\t\n\r ", `'\t\n\r '`},
		{"control characters", "\x00\x1f\x7f\u0080\u009f", `'\x00\x1f\x7f\x80\x9f'`},
		{"unusual spaces", "\u00a0\u2028\u3000", `'\xa0\u2028\u3000'`},
		{"a soft hyphen", "\u00ad", `'\xad'`},
		{"a private code point", "\U000f0000", `'\U000f0000'`},
		{"printable text beyond ASCII", "é日😀", "'é日😀'"},
		{"a list", []any{"a", int64(1), nil, []any{}}, "['a', 1, None, []]"},
		{"a dictionary with its keys sorted", map[string]any{"b": true, "a": map[string]any{}}, "{'a': {}, 'b': True}"},
		{"any other type", uint8(7), "7"},
		{"text that just fits", strings.Repeat("é", 498), "'" + strings.Repeat("é", 498) + "'"},
		{"text that is cut", strings.Repeat("é", 499), "'" + strings.Repeat("é", 499) + "..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := repr(test.value); got != test.want {
				t.Errorf("repr(%#v) = %s; want %s", test.value, got, test.want)
			}
		})
	}
}

func TestJSON_PythonReprOfHugeValue_Truncated(t *testing.T) {
	t.Parallel()

	list := make([]any, 1_000_000)
	if got := repr(list); len(got) != maxText+len("...") {
		t.Errorf("text of a list of a million elements = %d bytes", len(got))
	}
}
