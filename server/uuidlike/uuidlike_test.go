package uuidlike_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/uuidlike"
)

const canonical = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"

func TestParse(t *testing.T) {
	t.Parallel()

	bare := strings.ReplaceAll(canonical, "-", "")
	for _, test := range []struct {
		name, in string
		ok       bool
	}{
		{"takes the canonical form", canonical, true},
		{"takes upper case", strings.ToUpper(canonical), true},
		{"takes digits without hyphens", bare, true},
		{"takes braces", "{" + canonical + "}", true},
		{"takes a URN", "urn:uuid:" + canonical, true},
		{"takes a lone prefix", "uuid:" + bare, true},
		{"takes hyphens anywhere", "4-e8e5957649f477b-9e5bf1f75b21c03c-", true},
		{"refuses an empty string", "", false},
		{"refuses 31 digits", bare[1:], false},
		{"refuses 33 digits", bare + "0", false},
		{"refuses a digit that is not hexadecimal", "g" + bare[1:], false},
		{"refuses an upper case prefix", "URN:UUID:" + canonical, false},
		{"refuses surrounding space", " " + canonical, false},
		{"refuses a trailing newline", canonical + "\n", false},
		{"refuses a name", "not a uuid", false},
		{"refuses underscores between digits", "4_" + bare[2:], false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, ok := uuidlike.Parse(test.in)
			want := uuid.Nil
			if test.ok {
				want = uuid.MustParse(canonical)
			}
			if ok != test.ok || id != want {
				t.Errorf("Parse(%q) = %v, %v; want %v, %v", test.in, id, ok, want, test.ok)
			}
		})
	}
}

func TestParseHyphenated(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, in string
		ok       bool
	}{
		{"takes the canonical form", canonical, true},
		{"takes upper case", strings.ToUpper(canonical), true},
		{"refuses digits without hyphens", strings.ReplaceAll(canonical, "-", ""), false},
		{"refuses braces", "{" + canonical + "}", false},
		{"refuses a hyphen in place of a digit", canonical[:35] + "-", false},
		{"refuses a hyphen that has moved", "4e8e595-7649f-477b-9e5b-f1f75b21c03c", false},
		{"refuses an empty string", "", false},
		{"refuses a digit that is not hexadecimal", "z" + canonical[1:], false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, ok := uuidlike.ParseHyphenated(test.in)
			want := uuid.Nil
			if test.ok {
				want = uuid.MustParse(canonical)
			}
			if ok != test.ok || id != want {
				t.Errorf("ParseHyphenated(%q) = %v, %v; want %v, %v", test.in, id, ok, want, test.ok)
			}
		})
	}
}

// FuzzParse compares both checkers with the library's parser, which knows
// exactly the hyphenated form among strings of 36 bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{canonical, "urn:uuid:" + canonical, "{" + canonical + "}", "", "----", "uurn:uid:" + canonical, "00000000-0000-0000-0000-00000001X000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lenient, lenientOK := uuidlike.Parse(s)
		strict, strictOK := uuidlike.ParseHyphenated(s)
		if strictOK && (!lenientOK || lenient != strict) {
			t.Fatalf("%q is accepted strictly as %v but leniently as %v, %v", s, strict, lenient, lenientOK)
		}
		if len(s) == 36 {
			id, err := uuid.Parse(s)
			// The library leaves half a UUID beside its error.
			if (err == nil) != strictOK || (strictOK && id != strict) {
				t.Fatalf("%q is read as %v, %v; the library reads %v, %v", s, strict, strictOK, id, err)
			}
		}
		if lenientOK {
			if again, ok := uuidlike.ParseHyphenated(lenient.String()); !ok || again != lenient {
				t.Fatalf("%q is read as %v, whose canonical form is not read back", s, lenient)
			}
		}
	})
}
