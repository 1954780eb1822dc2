package badinput

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

var (
	requests = flag.Int("badinput.requests", 100_000, "how many requests TestBadInput sends; with -short a tenth")
	seed     = flag.Uint64("badinput.seed", 1, "what they are made from")
)

// senders send at once. What each sends depends on the seed and its number only.
const senders = 8

// tested is a handler on a database of its own.
type tested struct {
	t       *testing.T
	db      *dbtest.DB
	handler http.Handler
	log     *lines
}

func newTested(t *testing.T, change func(*store.Options, *server.Options)) *tested {
	t.Helper()
	made := &tested{t: t, db: dbtest.New(t), log: &lines{}}
	log := slog.New(slog.NewTextHandler(made.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opening := store.Options{URL: made.db.URL, MaxConns: senders, Log: log}
	options := server.Options{
		Log: log, EnforceNewDefaults: true, MaxCandidates: -1, MaxBodyBytes: 1 << 20, CandidateBudget: 100_000,
		IncompleteProject: "p", IncompleteUser: "u", CORSAllowedOrigins: []string{"https://a.example"},
		Baremetal: &server.Baremetal{Conductor: "berth-1", Silence: time.Hour},
	}
	change(&opening, &options)
	data, err := store.Open(t.Context(), opening)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	if err := data.SyncStandardNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := data.ConductorRegister(t.Context(), "berth-1", []string{"manual-management"}); err != nil {
		t.Fatal(err)
	}
	options.Store = data
	made.handler = server.New(options)
	return made
}

// lines is a log that several write to.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// with are the lines that hold a text.
func (l *lines) with(text string) string {
	var found []string
	for line := range strings.SplitSeq(l.String(), "\n") {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

// tally is how many answers of each status there were. 0 stands for what net/http
// refuses before any handler is asked.
type tally struct {
	mutex    sync.Mutex
	statuses map[int]int
	touched  map[string]bool
	slowest  time.Duration
	wrong    int
}

// TestBadInputIsAnsweredWithAWellFormedErrorAndNothingOfTheInside sends what no client
// should, made from the documents of every version of both APIs, and looks at every
// answer and at the database afterwards. `make badinput` sends 100,000.
func TestBadInputIsAnsweredWithAWellFormedErrorAndNothingOfTheInside(t *testing.T) {
	t.Parallel()
	count := *requests
	if testing.Short() {
		count /= 10
	}
	all := operations(t)
	for _, one := range all {
		compilePatterns(one.body, map[*openapi3.Schema]bool{})
		for _, param := range one.params {
			compilePatterns(valueOf(param.Schema), map[*openapi3.Schema]bool{})
		}
	}
	s := newTested(t, func(*store.Options, *server.Options) {})
	dbtest.Guard(t, s.db)
	if refused := s.furnish(); refused != "" {
		t.Fatal(refused)
	}
	seen := &tally{statuses: map[int]int{}, touched: map[string]bool{}}
	var sending sync.WaitGroup
	for number := range senders {
		sending.Go(func() {
			d := dice{rand.New(rand.NewPCG(*seed, uint64(number)))}
			for i := range count / senders {
				if i%400 == 399 {
					s.furnish() // what was deleted comes back
				}
				m := d.make(pick(d, all))
				if err := s.send(&m, seen); err != nil && seen.fails() {
					t.Errorf("request %d of sender %d of seed %d to %s %s of %s %s: %v\n%s",
						i, number, *seed, m.of.method, m.of.path, m.of.api, m.of.version, err, m.curl())
				}
			}
		})
	}
	sending.Wait()
	t.Logf("statuses %v, %d operations, slowest %s", seen.statuses, len(seen.touched), seen.slowest)
	// What never succeeds is not tested beyond its first check.
	if want := touchable(all); count >= 20_000 && len(seen.touched) < want*8/10 {
		t.Errorf("only %d operations succeeded at least once, of %d: %q", len(seen.touched), want, slices.Sorted(maps.Keys(seen.touched)))
	}
}

// fails says whether to report one more.
func (s *tally) fails() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.wrong++
	return s.wrong <= 20
}

// touchable is how many operations there are, whatever the version.
func touchable(all []operation) int {
	names := map[string]bool{}
	for _, one := range all {
		names[one.method+" "+one.path] = true
	}
	return len(names)
}

// send reads the request as net/http does, serves it and judges the answer.
func (s *tested) send(m *message, seen *tally) (err error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.wire())))
	if err != nil {
		seen.note(m, 0, 0)
		return nil
	}
	r.RemoteAddr = "192.0.2.1:1"
	path := r.URL.Path
	answer := httptest.NewRecorder()
	start := time.Now()
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the answer was broken off: %v", value)
		}
	}()
	s.handler.ServeHTTP(answer, r.WithContext(s.t.Context()))
	seen.note(m, answer.Code, time.Since(start))
	if err = judge(m, path, answer); err != nil {
		if cause := s.log.with(answer.Header().Get("X-Openstack-Request-Id")); cause != "" {
			err = fmt.Errorf("%w\nlog: %.3000s", err, cause)
		}
	}
	return err
}

func (s *tally) note(m *message, status int, took time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.statuses[status]++
	s.slowest = max(s.slowest, took)
	if status >= 200 && status < 300 && m.method == m.of.method {
		s.touched[m.of.method+" "+m.of.path] = true
	}
}
