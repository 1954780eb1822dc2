package scenario

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// Suite runs files against servers of one kind.
type Suite struct {
	// Serve makes the server of a file.
	Serve func(t testing.TB, file *File) Server
	// Always lists what is wrong with an answer whatever the step expects.
	Always func(*Exchange) []string
}

// Server is what a file's requests go to.
type Server struct {
	Handler http.Handler
	// DB is where its data is; nil: no step says what it changes.
	DB *dbtest.DB
}

// Run runs the files at the same time, and returns what they saw when all have
// ended. complete tells whether all ran, which a test filter may prevent.
func (s *Suite) Run(t *testing.T, files []*File) (seen []*Exchange, complete bool) {
	t.Helper()
	var mutex sync.Mutex
	ran := 0
	// The group ends when its parallel subtests have.
	t.Run("files", func(t *testing.T) {
		for _, file := range files {
			t.Run(file.Theme, func(t *testing.T) {
				t.Parallel()
				found := s.runFile(t, file)
				mutex.Lock()
				defer mutex.Unlock()
				seen = append(seen, found...)
				ran++
			})
		}
	})
	return seen, ran == len(files)
}

// run is one file being run.
type run struct {
	suite   *Suite
	file    *File
	names   *names
	address string
	db      *dbtest.DB
	// state is what is in the database, as long as it is known.
	state *dbtest.State
	seen  []*Exchange
}

func (s *Suite) runFile(t *testing.T, file *File) []*Exchange {
	server := s.Serve(t, file)
	listener := httptest.NewServer(server.Handler)
	t.Cleanup(listener.Close)
	r := &run{
		suite: s, file: file, db: server.DB, address: listener.Listener.Addr().String(),
		names: &names{theme: file.Theme, saved: map[string]any{"BASE": listener.URL}},
	}
	for name, value := range file.Values {
		r.names.saved[name] = string(value)
	}
	for i := range file.Given {
		step := &file.Given[i]
		if wrong := r.step(t, step, r.version(step)); len(wrong) > 0 {
			t.Fatalf("given %s\n%s", step.Request, strings.Join(wrong, "\n"))
		}
	}
	for i := range file.Steps {
		step := &file.Steps[i]
		if len(step.Versions) == 0 {
			r.report(t, step.Name, step, r.version(step))
			continue
		}
		for _, version := range step.Versions {
			r.report(t, step.Name+" at "+version, step, version)
		}
	}
	return r.seen
}

// report makes a step a subtest. The step runs in any case: if a filter picks
// another step, that one may build on this.
func (r *run) report(t *testing.T, name string, step *Step, version string) {
	wrong := r.step(t, step, version)
	t.Run(name, func(t *testing.T) {
		if len(wrong) > 0 {
			t.Errorf("%s at %q\n%s", step.Request, version, strings.Join(wrong, "\n"))
		}
	})
}

// version is what a step asks for; empty: it says nothing.
func (r *run) version(step *Step) string {
	wanted, given := optional(&step.Version)
	if !given {
		wanted, _ = optional(&r.file.Version)
	}
	if wanted == nil {
		return ""
	}
	return *wanted
}

// step runs a step once and lists what is wrong.
func (r *run) step(t *testing.T, step *Step, version string) []string {
	var body []byte
	hasBody := step.Raw != nil || step.Body.Kind != 0
	switch {
	case step.Raw != nil:
		body = []byte(r.names.fill(*step.Raw))
	case hasBody:
		var err error
		if body, err = r.names.json(&step.Body); err != nil {
			return []string{"the body: " + err.Error()}
		}
	}
	if step.Changes != nil && r.state == nil {
		r.state = dbtest.Snapshot(t, r.db)
	}
	exchange := r.names.newExchange(step, version, body, hasBody)
	if err := exchange.do(t.Context(), r.address, body); err != nil {
		return []string{err.Error()}
	}
	r.seen = append(r.seen, exchange)
	wrong := r.check(step, exchange)
	wrong = append(wrong, r.changes(t, step)...)
	if err := r.names.save(step.Save, exchange.JSON); err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		wrong = append(wrong, fmt.Sprintf("the answer: %d %v %s", exchange.Status, exchange.Header, abridged(string(exchange.Body))))
	}
	return wrong
}

// changes compares the database before and after. The state is kept for the next
// step; a step that does not say what it changes leaves it unknown.
func (r *run) changes(t *testing.T, step *Step) []string {
	before := r.state
	r.state = nil
	if step.Changes == nil {
		return nil
	}
	r.state = dbtest.Snapshot(t, r.db)
	want := make([]string, len(*step.Changes))
	for i, line := range *step.Changes {
		want[i] = r.names.fill(line)
	}
	got := before.Diff(r.state)
	if slices.Equal(got, want) {
		return nil
	}
	return []string{"changes: got\n" + bulleted(got) + "want\n" + bulleted(want)}
}

func bulleted(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&out, "      - %q\n", line)
	}
	return out.String()
}

// check compares the answer with what is expected.
func (r *run) check(step *Step, e *Exchange) []string {
	var wrong []string
	switch {
	case step.Status == 0 && (e.Status < 200 || e.Status > 299):
		wrong = append(wrong, fmt.Sprintf("status: got %d, want success", e.Status))
	case step.Status != 0 && step.Status != e.Status:
		wrong = append(wrong, fmt.Sprintf("status: got %d, want %d", e.Status, step.Status))
	}
	for name, want := range step.ResponseHeaders {
		wrong = append(wrong, r.checkHeader(name, want, e.Header)...)
	}
	for _, text := range step.Text {
		if want := r.names.fill(text); !strings.Contains(string(e.Body), want) {
			wrong = append(wrong, fmt.Sprintf("text: %q is not in the body", want))
		}
	}
	wrong = append(wrong, r.checkJSON(step, e)...)
	wrong = append(wrong, r.checkFailure(step.Error, e)...)
	if r.suite.Always != nil {
		wrong = append(wrong, r.suite.Always(e)...)
	}
	return wrong
}

func (r *run) checkHeader(name string, want *string, got http.Header) []string {
	values := got.Values(name)
	joined := strings.Join(values, ", ")
	switch {
	case want == nil && len(values) > 0:
		return []string{fmt.Sprintf("header %s: got %q, want none", name, joined)}
	case want != nil && len(values) == 0:
		return []string{fmt.Sprintf("header %s: is missing, want %q", name, *want)}
	case want != nil && !matchText(r.names.fill(*want), joined):
		return []string{fmt.Sprintf("header %s: got %q, want %q", name, joined, r.names.fill(*want))}
	}
	return nil
}

func (r *run) checkJSON(step *Step, e *Exchange) []string {
	node, part := &step.JSON, false
	if node.Kind == 0 {
		node, part = &step.JSONHas, true
	}
	if node.Kind == 0 {
		return nil
	}
	text, err := r.names.json(node)
	if err != nil {
		return []string{"the expected JSON: " + err.Error()}
	}
	want, err := parseJSON(text)
	if err != nil {
		return []string{"the expected JSON: " + err.Error()}
	}
	if e.JSON == nil {
		return []string{"the body is not JSON"}
	}
	return compare("$", want, e.JSON, part)
}

func (r *run) checkFailure(want *Failure, e *Exchange) []string {
	if want == nil {
		return nil
	}
	code, detail, ok := e.failure()
	if !ok {
		return []string{"the body is not one error in JSON"}
	}
	var wrong []string
	if phrase := r.names.fill(want.Phrase); !strings.Contains(detail, phrase) {
		wrong = append(wrong, fmt.Sprintf("error: %q is not in the detail %q", phrase, detail))
	}
	if wanted, given := optional(&want.Code); given && !sameText(wanted, code) {
		wrong = append(wrong, fmt.Sprintf("error: got code %s, want %s", shown(code), shown(wanted)))
	}
	return wrong
}

func sameText(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func shown(text *string) string {
	if text == nil {
		return "none"
	}
	return *text
}
