package scenario

import (
	"net/http"
	"slices"
	"testing"
)

// answer returns an exchange with one error, or with a text as body.
func answer(method, target, version string, status int, body string) *Exchange {
	made := &Exchange{Method: method, Target: target, Status: status, Header: http.Header{}, Body: []byte(body)}
	if version != "" {
		made.Header.Set(versionHeader, "placement "+version)
	}
	made.JSON, _ = parseJSON(made.Body)
	return made
}

const gone = `{"errors": [{"code": "sea.gone", "detail": "No tide at all."}]}`

func TestScenario_Expectation_MatchesVersionAndStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  Expectation
		seen *Exchange
		kept bool
	}{
		"exactly the version":        {Expectation{Versions: "1.1", Status: 200}, answer("GET", "/", "1.1", 200, ""), true},
		"1.10 is not 1.1":            {Expectation{Versions: "1.1", Status: 200}, answer("GET", "/", "1.10", 200, ""), false},
		"the begin of a range":       {Expectation{Versions: "1.4-1.9", Status: 200}, answer("GET", "/", "1.4", 200, ""), true},
		"the end of a range":         {Expectation{Versions: "1.4-1.9", Status: 200}, answer("GET", "/", "1.9", 200, ""), true},
		"behind a range":             {Expectation{Versions: "1.4-1.9", Status: 200}, answer("GET", "/", "1.10", 200, ""), false},
		"from a version on":          {Expectation{Versions: "1.9+", Status: 200}, answer("GET", "/", "1.39", 200, ""), true},
		"before that version":        {Expectation{Versions: "1.9+", Status: 200}, answer("GET", "/", "1.8", 200, ""), false},
		"no version":                 {Expectation{Versions: "none", Status: 401}, answer("GET", "/", "", 401, ""), true},
		"a version where none is":    {Expectation{Versions: "none", Status: 401}, answer("GET", "/", "1.1", 401, ""), false},
		"any version":                {Expectation{Versions: "any", Status: 401}, answer("GET", "/", "", 401, ""), true},
		"another status":             {Expectation{Versions: "any", Status: 404}, answer("GET", "/", "1.1", 200, ""), false},
		"the code and the phrase":    {Expectation{Versions: "any", Status: 404, Code: "sea.gone", Phrase: "No tide"}, answer("GET", "/", "1.1", 404, gone), true},
		"another code":               {Expectation{Versions: "any", Status: 404, Code: "sea.dry"}, answer("GET", "/", "1.1", 404, gone), false},
		"another phrase":             {Expectation{Versions: "any", Status: 404, Phrase: "No ebb"}, answer("GET", "/", "1.1", 404, gone), false},
		"a code where there is none": {Expectation{Versions: "any", Status: 404, Code: "sea.gone"}, answer("GET", "/", "1.1", 404, "x"), false},
		"a phrase in another body":   {Expectation{Versions: "any", Status: 200, Phrase: `"height"`}, answer("GET", "/", "1.1", 200, `{"height": 3}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kept := c.row.Satisfied(c.seen); kept != c.kept {
				t.Errorf("got %v", kept)
			}
		})
	}
}

func TestScenario_ExpectationNeverMet_Reported(t *testing.T) {
	t.Parallel()
	list, err := ParsePromises([]byte(`
- request: GET /tides/{name}
  section: one
  rows:
    - [1.0, 200]
    - ["1.2", 404, sea.gone, No tide]
- request: GET /tides?month&day
  rows: [[any, 200]]
- request: '* (none)'
  rows: [[any, 404]]
- request: '* *'
  rows: [[any, 405]]
`))
	if err != nil {
		t.Fatal(err)
	}
	routes := []string{"/tides", "/tides/{name}"}
	seen := []*Exchange{
		answer("GET", "/tides/spring", "1.0", 200, ""),
		answer("GET", "/tides?day=1&month", "1.0", 200, ""),
		answer("PUT", "/moon", "1.0", 404, ""),
		answer("PUT", "/tides", "1.0", 405, ""),
	}
	want := []string{"GET /tides/{name} 1.2 -> 404 sea.gone No tide"}
	if got := list.Unsatisfied(seen, routes); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []string{
		"GET /tides/{name} 1.0 -> 200", "GET /tides/{name} 1.2 -> 404 sea.gone No tide",
		"GET /tides?month&day any -> 200", "* (none) any -> 404", "* * any -> 405",
	}
	others := []*Exchange{
		answer("GET", "/tides/", "1.0", 200, ""), answer("PUT", "/tides/spring", "1.0", 200, ""),
		answer("GET", "/tides?month=1", "1.0", 200, ""), answer("GET", "/tides/spring", "1.2", 404, ""),
	}
	if got := list.Unsatisfied(others, routes); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScenario_ExpectationSyntaxError_Rejected(t *testing.T) {
	t.Parallel()
	for _, row := range []string{"x", "[1.0]", "[1.0, ok]", "[2.0, 200]", "[1.9-1.4, 200]", "[1.x+, 200]", "[any, 200, a, b, c]"} {
		if list, err := ParsePromises([]byte("- request: GET /\n  rows: [" + row + "]")); err == nil {
			t.Errorf("%s: got %+v", row, list)
		}
	}
}

func FuzzParsePromises(f *testing.F) {
	f.Add("- request: GET /\n  section: a page\n  rows:\n    - [\"1.0\", 200]\n    - [none, 406, a.b, 'x']")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParsePromises([]byte(text))
		if err == nil {
			list.Unsatisfied([]*Exchange{answer("GET", "/", "1.0", 200, "{}")}, []string{"/"})
		}
	})
}
