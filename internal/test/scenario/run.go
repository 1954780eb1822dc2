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

// Suite is a set of files that run against servers of one kind.
type Suite struct {
	// Serve starts the server of a file.
	Serve func(t testing.TB, file *File) Server
	// Always returns what is wrong with a response regardless of the expectations of the step.
	Always func(*Exchange) []string
}

// Server is the server of a file.
type Server struct {
	Handler http.Handler
	// DB is the database of the server; nil: steps cannot expect changes.
	DB *dbtest.DB
}

// Run runs the files in parallel and returns their exchanges when all have ended. complete reports
// whether all steps ran, which a test filter may prevent.
func (s *Suite) Run(t *testing.T, files []*File) (seen []*Exchange, complete bool) {
	t.Helper()
	var mutex sync.Mutex
	ran := 0
	// The group ends after its parallel subtests.
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

// run is the execution of one file.
type run struct {
	suite   *Suite
	file    *File
	names   *names
	address string
	db      *dbtest.DB
	// state is the contents of the database, if known.
	state *dbtest.State
	seen  []*Exchange
}

func (s *Suite) runFile(t *testing.T, file *File) []*Exchange {
	server := s.Serve(t, file)
	listener := httptest.NewServer(server.Handler)
	t.Cleanup(listener.Close)
	r := &run{
		suite: s, file: file, db: server.DB, address: listener.Listener.Addr().String(),
		names: newNames(file, listener.URL),
	}
	for i := range file.Given {
		step := &file.Given[i]
		if wrong := r.step(t, step, file.version(step)); len(wrong) > 0 {
			t.Fatalf("given %s\n%s", step.Request, strings.Join(wrong, "\n"))
		}
	}
	for _, one := range file.requests() {
		name := one.Step.Name
		if len(one.Step.Versions) > 0 {
			name += " at " + one.Version
		}
		r.report(t, name, one.Step, one.Version)
	}
	return r.seen
}

// report reports a step as a subtest. The step runs even if a filter excludes it, because later
// steps may depend on it.
func (r *run) report(t *testing.T, name string, step *Step, version string) {
	wrong := r.step(t, step, version)
	t.Run(name, func(t *testing.T) {
		if len(wrong) > 0 {
			t.Errorf("%s at %q\n%s", step.Request, version, strings.Join(wrong, "\n"))
		}
	})
}

// step runs a step once and returns what is wrong.
func (r *run) step(t *testing.T, step *Step, version string) []string {
	exchange, body, err := r.names.request(step, version)
	if err != nil {
		return []string{err.Error()}
	}
	if step.Changes != nil && r.state == nil {
		r.state = dbtest.Snapshot(t, r.db)
	}
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

// changes compares the database before and after a step. It keeps the state for the next step. A
// step without expected changes leaves the state unknown.
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

// check compares the response with the expectations.
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
