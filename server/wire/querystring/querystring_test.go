package querystring_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthd/berth/server/wire/querystring"
)

func parse(t *testing.T, rawQuery string) querystring.Values {
	t.Helper()
	values, err := querystring.Parse(rawQuery)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestQuery_String_ParsedInOrder(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, in string
		want     []querystring.Pair
	}{
		{"an empty query has no parameters", "", nil},
		{"order and repetition are kept", "b=1&a=2&b=3", []querystring.Pair{{"b", "1"}, {"a", "2"}, {"b", "3"}}},
		{"a name alone has an empty value", "name", []querystring.Pair{{"name", ""}}},
		{"a name with an equals sign has an empty value", "name=", []querystring.Pair{{"name", ""}}},
		{"only the first equals sign separates", "a=b=c", []querystring.Pair{{"a", "b=c"}}},
		{"a name may be empty", "=x", []querystring.Pair{{"", "x"}}},
		{"empty pieces are skipped", "&&a=1&", []querystring.Pair{{"a", "1"}}},
		{"a semicolon is an ordinary character", "a=1;b=2", []querystring.Pair{{"a", "1;b=2"}}},
		{"a plus sign is a space", "a+b=c+d", []querystring.Pair{{"a b", "c d"}}},
		{"an escaped plus sign is a plus sign", "a=%2B", []querystring.Pair{{"a", "+"}}},
		{"separators may be escaped", "a%3D=%26", []querystring.Pair{{"a=", "&"}}},
		{"escapes are case-insensitive", "a=%e2%82%AC", []querystring.Pair{{"a", "€"}}},
		{"an escape is decoded once", "a=%2541", []querystring.Pair{{"a", "%41"}}},
		{"malformed escapes stay", "a=%zz&%=%4&b=%%41%", []querystring.Pair{{"a", "%zz"}, {"%", "%4"}, {"b", "%A%"}}},
		{"a half of an escape stays", "a=%g1%41", []querystring.Pair{{"a", "%g1A"}}},
		{"text beyond ASCII may come unescaped", "a=€", []querystring.Pair{{"a", "€"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, test.in).Pairs(); !reflect.DeepEqual(got, test.want) {
				t.Errorf("Parse(%q) = %q; want %q", test.in, got, test.want)
			}
		})
	}
}

func TestQuery_InvalidEncoding_ReturnsError(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, in, want string }{
		{"a value that is not UTF-8", "a=1&name=%ff", `the value of parameter "name" is not UTF-8`},
		{"a raw byte that is not UTF-8", "name=\xff", `the value of parameter "name" is not UTF-8`},
		{"a name that is not UTF-8", "%c3=1", `a parameter name is not UTF-8`},
		{"a surrogate", "name=%ed%a0%80", `the value of parameter "name" is not UTF-8`},
		{"a character divided between name and value", "%c3=%a9", `a parameter name is not UTF-8`},
		{"a NUL in a value", "name=a%00", `parameter "name" contains the NUL character (%00)`},
		{"a NUL in a name", "a%00=1", `parameter "a\x00" contains the NUL character (%00)`},
		{"a long name, of which a part is shown", strings.Repeat("é", 101) + "=%ff", `the value of parameter "` + strings.Repeat("é", 100) + `..." is not UTF-8`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := querystring.Parse(test.in)
			if err == nil || err.Error() != test.want || got.Pairs() != nil {
				t.Errorf("Parse(%q) = %v, %v; want the error %s", test.in, got, err, test.want)
			}
		})
	}
}

func TestQuery_Values_FoundByName(t *testing.T) {
	t.Parallel()

	values := parse(t, "required=A&limit&required=B&required=C")
	type found struct {
		first, last       string
		hasFirst, hasLast bool
		all               []string
		has               bool
	}
	for name, want := range map[string]found{
		"required": {"A", "C", true, true, []string{"A", "B", "C"}, true},
		"limit":    {"", "", true, true, []string{""}, true},
		"Required": {},
	} {
		var got found
		got.first, got.hasFirst = values.First(name)
		got.last, got.hasLast = values.Last(name)
		got.all, got.has = values.All(name), values.Has(name)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v; want %+v", name, got, want)
		}
	}
	if got, want := values.Names(), []string{"required", "limit"}; !reflect.DeepEqual(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
	if got := (querystring.Values{}).Names(); got != nil {
		t.Errorf("names of an empty query = %q, want none", got)
	}
}

// FuzzParse compares Parse with net/url for queries that net/url parses completely, and checks that accepted queries
// stay equal after encoding.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2&a=3", "a=%zz", "a;b=1", "%ff=1", "a=%00", "+=%2B&&=", "%", "a=%e2%82%ac", "&=&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		values, err := querystring.Parse(raw)
		if err != nil {
			return
		}
		got := url.Values{}
		var again []string
		for _, pair := range values.Pairs() {
			if !utf8.ValidString(pair.Name + pair.Value) {
				t.Fatalf("%q has the pair %q, which is not UTF-8", raw, pair)
			}
			got.Add(pair.Name, pair.Value)
			again = append(again, url.QueryEscape(pair.Name)+"="+url.QueryEscape(pair.Value))
		}
		reread, err := querystring.Parse(strings.Join(again, "&"))
		if err != nil || !reflect.DeepEqual(reread, values) {
			t.Fatalf("Parse(%q) = %q, but after encoding = %q, %v", raw, values, reread, err)
		}
		if want, err := url.ParseQuery(raw); err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("Parse(%q) = %q, of net/url = %q", raw, got, want)
		}
	})
}

func TestQuery_With_ReplacesInPlace(t *testing.T) {
	t.Parallel()
	values, err := querystring.Parse("b=1&a=2&b=3")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range [][3]string{{"b", "x:y", "b=x:y&a=2"}, {"a", "", "b=1&a=&b=3"}, {"c", "4", "b=1&a=2&b=3&c=4"}} {
		if got := values.With(test[0], test[1]).Encode(); got != test[2] {
			t.Errorf("with %s=%s: %s, want %s", test[0], test[1], got, test[2])
		}
	}
	if got := values.Encode(); got != "b=1&a=2&b=3" {
		t.Errorf("the original is %s now", got)
	}
}
