package scenario

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// harbour is a small server that returns the received request and stores ships.
func harbour(t testing.TB, db *dbtest.DB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Said", r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("OpenStack-API-Version"))
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/ships":
			if _, err := db.Pool.Exec(r.Context(), "INSERT INTO ships (name) VALUES ($1)", string(body)); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusCreated)
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"errors": [{"code": "sea.gone", "detail": "No such ship."}]}`)
		default:
			fmt.Fprintf(w, `{"token": %q, "roles": %q, "body": %q, "number": 5}`,
				strings.Join(r.Header["X-Auth-Token"], "|"), strings.Join(r.Header["X-Roles"], "|"), body)
		}
	})
}

// start returns a run of a file that has not started.
func start(t *testing.T, text string, db *dbtest.DB) *run {
	t.Helper()
	file, err := Parse("harbour", []byte("about: x\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(harbour(t, db))
	t.Cleanup(listener.Close)
	return &run{
		suite: &Suite{}, file: file, db: db, address: listener.Listener.Addr().String(),
		names: &names{theme: "harbour", saved: map[string]any{"BASE": listener.URL}},
	}
}

func TestScenario_StepFailure_ListsDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ step, want string }{
		"nothing":              {"status: 200, json: {token: admin, roles: 'admin,service', body: '', number: 5}", ""},
		"the status":           {"status: 201", "status: got 200, want 201"},
		"a header":             {"status: 200, response_headers: {X-Said: x}", `header X-Said: got "GET /x placement 1.3", want "x"`},
		"a header too few":     {"status: 200, response_headers: {X-Mystery: x}", `header X-Mystery: is missing, want "x"`},
		"a header too many":    {"status: 200, response_headers: {X-Said: null}", `header X-Said: got "GET /x placement 1.3", want none`},
		"the JSON":             {"status: 200, json: {number: 6}", `$.number: got 5, want 6`},
		"a part of the JSON":   {"status: 200, json_has: {number: 5}", ""},
		"the text":             {"status: 200, text: mystery", `text: "mystery" is not in the body`},
		"no error":             {"status: 200, error: {phrase: x}", "the body is not one error in JSON"},
		"what cannot be saved": {"status: 200, save: {A: $.mystery}", "save A: the answer has no .mystery of $.mystery"},
		"a header of its own":  {"status: 200, headers: {X-Auth-Token: cook, X-Roles: null}, json_has: {token: cook, roles: ''}", ""},
		"a repeated header":    {"status: 200, headers: {X-Roles: [a, b]}, json_has: {roles: a|b}", ""},
		"another version":      {"status: 200, version: 1.10, response_headers: {X-Said: GET /x placement 1.10}", ""},
		"no version":           {"status: 200, version: null, response_headers: {X-Said: GET /x}", ""},
		"a body as JSON":       {"status: 200, body: {b: 1.0, a: $BASE}, json_has: {body: '{\"b\":1.0,\"a\":\"$BASE\"}'}", ""},
		"a body as it is":      {"status: 200, raw: '{', json_has: {body: '{'}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, "version: 1.3\nsteps: [{name: n, request: GET /x, "+c.step+"}]", nil)
			step := &r.file.Steps[0]
			wrong := r.step(t, step, r.file.version(step))
			if c.want == "" && wrong != nil || c.want != "" && !slices.Contains(wrong, c.want) {
				t.Errorf("got %q, want %q", wrong, c.want)
			}
		})
	}
}

func TestScenario_ErrorResponse_Compared(t *testing.T) {
	t.Parallel()
	for expected, want := range map[string]string{
		"{code: sea.gone, phrase: No such}": "",
		"{phrase: No such ship.}":           "",
		"{code: sea.dry}":                   "error: got code sea.gone, want sea.dry",
		"{code: null}":                      "error: got code sea.gone, want none",
		"{phrase: mystery}":                 `error: "mystery" is not in the detail "No such ship."`,
	} {
		r := start(t, "steps: [{name: n, request: GET /gone, status: 404, error: "+expected+"}]", nil)
		wrong := r.step(t, &r.file.Steps[0], "")
		if want == "" && wrong != nil || want != "" && !slices.Contains(wrong, want) {
			t.Errorf("%s: got %q, want %q", expected, wrong, want)
		}
	}
}

func TestScenario_Changes_MustBeComplete(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE ships (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text)"); err != nil {
		t.Fatal(err)
	}
	r := start(t, `
steps:
  - {name: told, request: POST /ships, raw: $ELBE, status: 201, changes: ["+ ships{id: 1, name: $ELBE}"]}
  - {name: not asked, request: POST /ships, raw: two, status: 201}
  - {name: none, request: GET /x, status: 200, changes: []}
  - {name: not told, request: POST /ships, raw: three, status: 201, changes: []}
  - {name: told wrongly, request: GET /x, status: 200, changes: ["+ ships{id: 4, name: four}"]}
`, db)
	want := map[string]string{
		"not told":     "changes: got\n      - \"+ ships{id: 3, name: three}\"\nwant\n",
		"told wrongly": "changes: got\nwant\n      - \"+ ships{id: 4, name: four}\"\n",
	}
	for i := range r.file.Steps {
		step := &r.file.Steps[i]
		wrong := r.step(t, step, "")
		if want[step.Name] == "" && wrong != nil || want[step.Name] != "" && !slices.Contains(wrong, want[step.Name]) {
			t.Errorf("%s: got %q, want %q", step.Name, wrong, want[step.Name])
		}
	}
}

func TestScenario_Suite_RunsFilesInOrder(t *testing.T) {
	t.Parallel()
	var files []*File
	for _, theme := range []string{"one", "two"} {
		file, err := Parse(theme, []byte(`
about: Steps build on each other.
values: {WORD: ahoi}
given: [{request: GET /first, save: {N: $.number}}]
steps:
  - {name: what was saved is known, request: POST /x, raw: $WORD $N, status: 200, json_has: {body: ahoi 5}}
  - {name: at two versions, request: GET /x, versions: ["1.1", "1.2"], status: 200}
`))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	suite := Suite{
		Serve:  func(t testing.TB, _ *File) Server { return Server{Handler: harbour(t, nil)} },
		Always: func(*Exchange) []string { return nil },
	}
	seen, complete := suite.Run(t, files)
	var requests []string
	for _, exchange := range seen {
		requests = append(requests, strings.TrimSpace(exchange.Method+" "+exchange.Target+" "+exchange.Version))
	}
	slices.Sort(requests)
	want := []string{"GET /first", "GET /first", "GET /x 1.1", "GET /x 1.1", "GET /x 1.2", "GET /x 1.2", "POST /x", "POST /x"}
	if !slices.Equal(requests, want) || !complete {
		t.Errorf("got %q, %v, want %q", requests, complete, want)
	}
}

func TestScenario_AlwaysCheck_RunsForEveryResponse(t *testing.T) {
	t.Parallel()
	r := start(t, "steps: [{name: n, request: GET /x, status: 200}]", nil)
	r.suite.Always = func(e *Exchange) []string { return []string{"as always: " + e.Target} }
	if wrong := r.step(t, &r.file.Steps[0], ""); !slices.Contains(wrong, "as always: /x") {
		t.Errorf("got %q", wrong)
	}
}
