package scenario

import (
	"reflect"
	"testing"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

func node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document.Content[0]
}

func TestScenario_Names_StableAndUniquePerFile(t *testing.T) {
	t.Parallel()
	one, other := &names{theme: "one"}, &names{theme: "other"}
	if a, b := one.fill("$A"), one.fill("$A"); a != b || uuid.Validate(a) != nil {
		t.Errorf("got %s, then %s", a, b)
	}
	if one.fill("$A") == one.fill("$B") || one.fill("$A") == other.fill("$A") {
		t.Error("another name and another file must be another uuid")
	}
}

func TestScenario_YAML_RenderedAsJSON(t *testing.T) {
	t.Parallel()
	known := &names{theme: "t", saved: map[string]any{"NUMBER": 5, "TEXT": "x", "LIST": []any{"y"}}}
	for name, c := range map[string]struct{ yaml, want string }{
		"keys stay in order":             {"{b: 1, a: 2}", `{"b":1,"a":2}`},
		"numbers keep their spelling":    {"[10.0, 1, 1.50, 1e3, -0]", `[10.0,1,1.50,1e3,-0]`},
		"words":                          {"[null, ~, true, x, \"5\", \"\"]", `[null,null,true,"x","5",""]`},
		"markup stays readable":          {"\"<a> & 'b'\"", `"<a> & 'b'"`},
		"a name becomes its value":       {"{a: $NUMBER, b: $LIST, $TEXT: c}", `{"a":5,"b":["y"],"x":"c"}`},
		"a name in a text becomes text":  {"no. $NUMBER of $TEXT", `"no. 5 of x"`},
		"an anchor is used again":        {"[&a {x: 1}, *a]", `[{"x":1},{"x":1}]`},
		"a dollar sign that names none":  {"'^[A-Z]+$'", `"^[A-Z]+$"`},
		"a dollar sign before no letter": {"$5", `"$5"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := known.json(node(t, c.yaml))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
	if got, err := known.json(node(t, "0x10")); err == nil {
		t.Errorf("JSON has no such number: %s", got)
	}
}

func TestScenario_SavedValues_Substituted(t *testing.T) {
	t.Parallel()
	answer, err := parseJSON([]byte(`{"a": {"b": [{"c": 7}]}, "d": "e"}`))
	if err != nil {
		t.Fatal(err)
	}
	known := &names{theme: "t", saved: map[string]any{}}
	if err := known.save(map[string]string{"C": "$.a.b[0].c", "D": "$.d"}, answer); err != nil {
		t.Fatal(err)
	}
	if got := known.fill("$C $D"); got != "7 e" {
		t.Errorf("got %q", got)
	}
	if whole, err := walk(answer, "$"); err != nil || !reflect.DeepEqual(whole, answer) {
		t.Errorf("got %v, %v", whole, err)
	}
	for _, path := range []string{"a", "$.x", "$.a.b[1]", "$.a.b.c", "$.d[0]", "$a", "$.a..b", "$.a.b[x]"} {
		if got, err := walk(answer, path); err == nil {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add("$.a.b[0].c")
	f.Add("$[0][1]")
	f.Add("$.")
	answer := map[string]any{"a": []any{map[string]any{"b": "c"}}}
	f.Fuzz(func(t *testing.T, path string) {
		if value, err := walk(answer, path); err == nil && value == nil {
			t.Errorf("%s: found nothing without saying so", path)
		}
	})
}
