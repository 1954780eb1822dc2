package uuidlike_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/uuidlike"
)

const canonical = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"

func TestQuery_UUIDLenient_Parsed(t *testing.T) {
	t.Parallel()

	bare := strings.ReplaceAll(canonical, "-", "")
	for _, test := range []struct {
		name, in string
		ok       bool
	}{
		{"accepts the canonical form", canonical, true},
		{"accepts upper case", strings.ToUpper(canonical), true},
		{"accepts digits without hyphens", bare, true},
		{"accepts braces", "{" + canonical + "}", true},
		{"accepts a URN", "urn:uuid:" + canonical, true},
		{"accepts a lone prefix", "uuid:" + bare, true},
		{"accepts hyphens anywhere", "4-e8e5957649f477b-9e5bf1f75b21c03c-", true},
		{"rejects an empty string", "", false},
		{"rejects 31 digits", bare[1:], false},
		{"rejects 33 digits", bare + "0", false},
		{"rejects a digit that is not hexadecimal", "g" + bare[1:], false},
		{"rejects an upper case prefix", "URN:UUID:" + canonical, false},
		{"rejects surrounding space", " " + canonical, false},
		{"rejects a trailing newline", canonical + "\n", false},
		{"rejects a name", "not a uuid", false},
		{"rejects underscores between digits", "4_" + bare[2:], false},
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

func TestQuery_UUIDHyphenated_Parsed(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, in string
		ok       bool
	}{
		{"accepts the canonical form", canonical, true},
		{"accepts upper case", strings.ToUpper(canonical), true},
		{"rejects digits without hyphens", strings.ReplaceAll(canonical, "-", ""), false},
		{"rejects braces", "{" + canonical + "}", false},
		{"rejects a hyphen in place of a digit", canonical[:35] + "-", false},
		{"rejects a hyphen that has moved", "4e8e595-7649f-477b-9e5b-f1f75b21c03c", false},
		{"rejects an empty string", "", false},
		{"rejects a digit that is not hexadecimal", "z" + canonical[1:], false},
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

// FuzzParse compares both functions with the parser of the library, which accepts exactly the hyphenated form among
// strings of 36 bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{canonical, "urn:uuid:" + canonical, "{" + canonical + "}", "", "----", "uurn:uid:" + canonical, "00000000-0000-0000-0000-00000001X000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lenient, lenientOK := uuidlike.Parse(s)
		strict, strictOK := uuidlike.ParseHyphenated(s)
		if strictOK && (!lenientOK || lenient != strict) {
			t.Fatalf("ParseHyphenated(%q) = %v, but Parse = %v, %v", s, strict, lenient, lenientOK)
		}
		if len(s) == 36 {
			id, err := uuid.Parse(s)
			// The library returns a partial UUID with its error.
			if (err == nil) != strictOK || (strictOK && id != strict) {
				t.Fatalf("ParseHyphenated(%q) = %v, %v; of the library = %v, %v", s, strict, strictOK, id, err)
			}
		}
		if lenientOK {
			if again, ok := uuidlike.ParseHyphenated(lenient.String()); !ok || again != lenient {
				t.Fatalf("Parse(%q) = %v, whose canonical form is not equal", s, lenient)
			}
		}
	})
}
