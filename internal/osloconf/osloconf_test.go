package osloconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/osloconf"
)

// values are the entries of a text as group.option=text.
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
		"comments stand at the start of a line":       {"#x\n;y\n[g]\n#a=1\na = x # y;z", []string{"g.a=x # y;z"}},
		"an indented comment continues the value":     {"[g]\na = x\n  # y\nb = 1", []string{"g.a=x\n# y", "g.b=1"}},
		"an indented assignment continues it too":     {"[g]\na = 1\n\tb = 2", []string{"g.a=1\nb = 2"}},
		"a value may begin on the next line":          {"[g]\nl =\n  y,\n  z", []string{"g.l=\ny,\nz"}},
		"an option may come again":                    {"[g]\na=1\n[h]\nb=2\n[g]\na=3", []string{"g.a=1", "h.b=2", "g.a=3"}},
		"the first of : and = separates":              {"[g]\na: x = y\nb = y: z\na := 1", []string{"g.a=x = y", "g.b=y: z", "g.a== 1"}},
		"quotes around a value are taken off":         {"[g]\na=\"x y\"\nb='z'\nc=\"x\nd=\"x'\ne=\"", []string{"g.a=x y", "g.b=z", "g.c=\"x", "g.d=\"x'", "g.e="}},
		"quotes around several lines stay":            {"[g]\na = \"x\n  y\"", []string{"g.a=\"x\ny\""}},
		"those around the first of several do not":    {"[g]\na = \"x\"\n  \"y\"", []string{"g.a=x\n\"y\""}},
		"only blanks and tabs continue a value":       {"[g]\na = 1\n\fb = 2", []string{"g.a=1", "g.b=2"}},
		"blanks around names and values do not count": {"[g]  \na b \t=\u00a0 x\x1f ", []string{"g.a b=x"}},
		"blanks inside of brackets count":             {"[ g ]\na=1", []string{" g .a=1"}},
		"lines may end as elsewhere":                  {"[g]\r\na = 1\r\n  y\rb = 2", []string{"g.a=1\ny", "g.b=2"}},
		"an empty file has no options":                {"", []string{}},
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
		`/etc/p.conf:1: the option a stands before the first group; write a group such as [DEFAULT] above it`,
		`/etc/p.conf:2: the line begins with a blank, which continues the value of the line before, and there is none; remove the blanks before it, or what separates it from its option: empty lines and comments end a value`,
		`/etc/p.conf:3: the group "[g" does not end with ]; write [name] and nothing after it`,
		`/etc/p.conf:4: the group has no name; write [name], such as [placement]`,
		`/etc/p.conf:5: the group "[g] x" does not end with ]; write [name] and nothing after it`,
		`/etc/p.conf:7: the line begins with a blank, which continues the value of the line before, and there is none; remove the blanks before it, or what separates it from its option: empty lines and comments end a value`,
		`/etc/p.conf:10: the line begins with a blank, which continues the value of the line before, and there is none; remove the blanks before it, or what separates it from its option: empty lines and comments end a value`,
		`/etc/p.conf:11: there is neither = nor :; write option = value, or # before a comment`,
		`/etc/p.conf:12: there is no option before the =; write option = value`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v", err)
	}
	if got := values(entries); !reflect.DeepEqual(got, []string{"g.a=1", "g.b=3"}) {
		t.Errorf("the other lines are %q", got)
	}
	_, err = osloconf.Parse("f", []byte("[g]\na=\xe9"))
	if err == nil || err.Error() != "f:2: the file is not text in UTF-8 from here on; save it as UTF-8" {
		t.Errorf("another encoding: %v", err)
	}
}

func TestOsloconf_DuplicateOption_LastWins(t *testing.T) {
	t.Parallel()
	entries, _ := osloconf.Parse("f", []byte("[G]\na=1\n[g]\na=2\n[DEFAULT]\nb=3\n[default]\nb=4"))
	if got, ok := osloconf.Last(entries, "g", "a"); !ok || got.Text != "2" || got.Line != 4 {
		t.Errorf("got %+v, %t", got, ok)
	}
	if got, ok := osloconf.Last(entries, "DEFAULT", "b"); !ok || got.Text != "3" {
		t.Errorf("DEFAULT is not default: got %+v, %t", got, ok)
	}
	if _, ok := osloconf.Last(entries, "g", "A"); ok {
		t.Error("options were compared without case")
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
			t.Errorf("%s is %q, want %q, error %v", text, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"$nix":     "refers to $nix, and there is no such option",
		"${h.c}":   "refers to ${h.c}, and there is no such option",
		"a$c.x":    "refers to $c.x, and there is no such option",
		"$c $loop": "refers to itself, directly or through others",
	} {
		if got, err := osloconf.Expand("g", text, lookup); err == nil || err.Error() != want || got != text {
			t.Errorf("%s is %q, error %v", text, got, err)
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
			t.Errorf("%q is %t, %t", text, value, ok)
		}
	}
}

// Whatever a file holds, it is read or refused by line; every value keeps to its rules
// and can be written so that it is read back.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"[g]\na = 1\n", "a", "[g]\n a\n", "[g]\na=\"x\n b\"\n", "[g]\n=\n", "\xff", "[g]\na=$a\n", "[g]\r\na:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := osloconf.Parse("f", []byte(text))
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		for _, entry := range entries {
			if entry.Group == "" || entry.Option == "" || entry.Line < 1 || entry.Line > lines {
				t.Errorf("%q gives %+v", text, entry)
			}
			first, rest, _ := strings.Cut(entry.Text, "\n")
			written := "[" + entry.Group + "]\n" + entry.Option + " = \"" + first + "\"\n"
			if rest != "" {
				written += " " + strings.ReplaceAll(rest, "\n", "\n ") + "\n"
			}
			again, err := osloconf.Parse("f", []byte(written))
			if err != nil || len(again) != 1 || again[0].Text != entry.Text || again[0].Option != entry.Option {
				t.Errorf("%q of %q is read back as %+v, %v", written, text, again, err)
			}
			_, _ = osloconf.Expand(entry.Group, entry.Text, func(group, option string) (string, bool) {
				found, ok := osloconf.Last(entries, group, option)
				return found.Text, ok
			})
		}
		if err == nil && len(entries) == 0 && strings.Contains(text, "[g]\na=") && !strings.ContainsAny(text, "#;\"'") {
			t.Errorf("%q gives nothing", text)
		}
	})
}
