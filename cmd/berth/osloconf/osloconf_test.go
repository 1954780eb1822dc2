package osloconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/osloconf"
)

// values returns entries as group.option=text.
func values(entries []osloconf.Entry) []string {
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Group+"."+entry.Option+"="+entry.Text)
	}
	return list
}

func TestOsloconf_LineForms_Parsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"comment only at the start of a line":     {"#x\n;y\n[g]\n#a=1\na = x # y;z", []string{"g.a=x # y;z"}},
		"indented comment continues the value":    {"[g]\na = x\n  # y\nb = 1", []string{"g.a=x\n# y", "g.b=1"}},
		"indented assignment continues the value": {"[g]\na = 1\n\tb = 2", []string{"g.a=1\nb = 2"}},
		"value begins on the next line":           {"[g]\nl =\n  y,\n  z", []string{"g.l=\ny,\nz"}},
		"repeated option":                         {"[g]\na=1\n[h]\nb=2\n[g]\na=3", []string{"g.a=1", "h.b=2", "g.a=3"}},
		"first : or = separates":                  {"[g]\na: x = y\nb = y: z\na := 1", []string{"g.a=x = y", "g.b=y: z", "g.a== 1"}},
		"quotes around a value removed":           {"[g]\na=\"x y\"\nb='z'\nc=\"x\nd=\"x'\ne=\"", []string{"g.a=x y", "g.b=z", "g.c=\"x", "g.d=\"x'", "g.e="}},
		"quotes around several lines kept":        {"[g]\na = \"x\n  y\"", []string{"g.a=\"x\ny\""}},
		"quotes around the first line removed":    {"[g]\na = \"x\"\n  \"y\"", []string{"g.a=x\n\"y\""}},
		"only spaces and tabs continue a value":   {"[g]\na = 1\n\fb = 2", []string{"g.a=1", "g.b=2"}},
		"spaces around names and values ignored":  {"[g]  \na b \t=\u00a0 x\x1f ", []string{"g.a b=x"}},
		"spaces inside brackets kept":             {"[ g ]\na=1", []string{" g .a=1"}},
		"line ends of other systems":              {"[g]\r\na = 1\r\n  y\rb = 2", []string{"g.a=1\ny", "g.b=2"}},
		"empty file":                              {"", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, err := osloconf.Parse("f", []byte(test.text))
			if got := values(entries); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q, error %v", got, test.want, err)
			}
		})
	}
}

func TestOsloconf_InvalidLines_AllReported(t *testing.T) {
	t.Parallel()
	text := "a = 1\n b\n[g\n[]\n[g] x\n[g]\n  x\na = 1\n\n  y\nnothing\n= 2\nb = 3\n"
	entries, err := osloconf.Parse("/etc/p.conf", []byte(text))
	want := []string{
		`/etc/p.conf:1: the option a precedes the first group header; write a group header, for example [DEFAULT], above it`,
		`/etc/p.conf:2: an indented line continues a value, but no value precedes this line; remove the indentation, or the empty line or comment that ends the value above it`,
		`/etc/p.conf:3: the group header "[g" does not end with ]; write only [name] on the line`,
		`/etc/p.conf:4: the group header has no name; write [name], for example [placement]`,
		`/etc/p.conf:5: the group header "[g] x" does not end with ]; write only [name] on the line`,
		`/etc/p.conf:7: an indented line continues a value, but no value precedes this line; remove the indentation, or the empty line or comment that ends the value above it`,
		`/etc/p.conf:10: an indented line continues a value, but no value precedes this line; remove the indentation, or the empty line or comment that ends the value above it`,
		`/etc/p.conf:11: the line contains neither = nor :; write option = value, or # before a comment`,
		`/etc/p.conf:12: the line has no option name before =; write option = value`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if got := values(entries); !reflect.DeepEqual(got, []string{"g.a=1", "g.b=3"}) {
		t.Errorf("entries of the valid lines = %q", got)
	}
	_, err = osloconf.Parse("f", []byte("[g]\na=\xe9"))
	if err == nil || err.Error() != "f:2: the file contains bytes that are not valid UTF-8; save it as UTF-8" {
		t.Errorf("Latin-1 file: %v", err)
	}
}

func TestOsloconf_DuplicateOption_LastWins(t *testing.T) {
	t.Parallel()
	entries, _ := osloconf.Parse("f", []byte("[G]\na=1\n[g]\na=2\n[DEFAULT]\nb=3\n[default]\nb=4"))
	if got, ok := osloconf.Last(entries, "g", "a"); !ok || got.Text != "2" || got.Line != 4 {
		t.Errorf("got %+v, %t", got, ok)
	}
	if got, ok := osloconf.Last(entries, "DEFAULT", "b"); !ok || got.Text != "3" {
		t.Errorf("Last(DEFAULT) = %+v, %t, want the entry of DEFAULT, not of default", got, ok)
	}
	if _, ok := osloconf.Last(entries, "g", "A"); ok {
		t.Error("Last ignores the case of options")
	}
	if got := osloconf.Every(entries, "g", "a"); len(got) != 2 || got[0].Text != "1" {
		t.Errorf("got %+v", got)
	}
}

func TestOsloconf_References_Expanded(t *testing.T) {
	t.Parallel()
	known := map[string]string{"DEFAULT.c": "1", "g.b": "x$c", "g.loop": "$loop", "h.i": "${c}3", "g.c2": "$$c", "g.empty": ""}
	lookup := func(group, option string) (string, bool) {
		value, ok := known[group+"."+option]
		return value, ok
	}
	for text, want := range map[string]string{
		"$c": "1", "a${c}b": "a1b", "$c-x": "1-x", "$b": "x1", "$h.i/${h.i}": "13/13", "[$empty]": "[]",
		"$$c": "$c", `\$c`: "$c", `\\$c`: `\$c`, "$$$$x": "$$x", "$$${c}": "$1", "$c2": "$c",
		"a$": "a$", "$1": "$1", "${c": "${c", "${}": "${}", "${ c }": "${ c }", "${a-b}": "${a-b}", "$é": "$é",
	} {
		if got, err := osloconf.Expand("g", text, lookup); err != nil || got != want {
			t.Errorf("Expand(%s) = %q, want %q, error %v", text, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"$nix":     "refers to $nix, which is not a known option",
		"${h.c}":   "refers to ${h.c}, which is not a known option",
		"a$c.x":    "refers to $c.x, which is not a known option",
		"$c $loop": "refers to itself, directly or through other options",
	} {
		if got, err := osloconf.Expand("g", text, lookup); err == nil || err.Error() != want || got != text {
			t.Errorf("Expand(%s) = %q, error %v, want the error %q", text, got, err, want)
		}
	}
}

func TestOsloconf_Booleans_Parsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"1": {true, true}, "Yes": {true, true}, "ON": {true, true}, "true": {true, true},
		"0": {false, true}, "no": {false, true}, "Off": {false, true}, "False": {false, true},
		"t": {}, "y": {}, "": {}, "maybe": {},
	} {
		if value, ok := osloconf.Bool(text); value != want[0] || ok != want[1] {
			t.Errorf("Bool(%q) = %t, %t, want %t", text, value, ok, want)
		}
	}
}

// FuzzParse parses arbitrary files. Each entry has a group, an option and a valid line,
// and parses to the same value after it is written again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"[g]\na = 1\n", "a", "[g]\n a\n", "[g]\na=\"x\n b\"\n", "[g]\n=\n", "\xff", "[g]\na=$a\n", "[g]\r\na:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := osloconf.Parse("f", []byte(text))
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		for _, entry := range entries {
			if entry.Group == "" || entry.Option == "" || entry.Line < 1 || entry.Line > lines {
				t.Errorf("Parse(%q) returns %+v", text, entry)
			}
			first, rest, _ := strings.Cut(entry.Text, "\n")
			written := "[" + entry.Group + "]\n" + entry.Option + " = \"" + first + "\"\n"
			if rest != "" {
				written += " " + strings.ReplaceAll(rest, "\n", "\n ") + "\n"
			}
			again, err := osloconf.Parse("f", []byte(written))
			if err != nil || len(again) != 1 || again[0].Text != entry.Text || again[0].Option != entry.Option {
				t.Errorf("%q of %q parses to %+v, %v", written, text, again, err)
			}
			_, _ = osloconf.Expand(entry.Group, entry.Text, func(group, option string) (string, bool) {
				found, ok := osloconf.Last(entries, group, option)
				return found.Text, ok
			})
		}
		if err == nil && len(entries) == 0 && strings.Contains(text, "[g]\na=") && !strings.ContainsAny(text, "#;\"'") {
			t.Errorf("Parse(%q) returns no entry", text)
		}
	})
}
