package badinput

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/cors"
)

var (
	requests = flag.Int("badinput.requests", 2_000, "number of requests that TestErrors_InvalidInput sends; with -short a tenth")
	seed     = flag.Uint64("badinput.seed", 1, "seed of the random requests")
)

// enough is the number of requests after which each operation must have succeeded. The rarest
// operations succeed about six times then.
const enough = 40_000

// senders is the number of concurrent senders. The requests of each depend only on the seed and its
// number.
const senders = 8

// tested is a handler with its own database.
type tested struct {
	t       *testing.T
	db      *dbtest.DB
	handler http.Handler
	log     *lines
}

func newTested(t *testing.T, change func(*postgres.Options, *server.Options)) *tested {
	t.Helper()
	made := &tested{t: t, db: dbtest.New(t), log: &lines{}}
	log := slog.New(slog.NewTextHandler(made.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opening := postgres.Options{MaxConns: senders, Log: log}
	options := server.Defaults(nil, log)
	options.Bodies.Max, options.Placement.Candidates.Budget = 1<<20, 100_000
	options.CORS = cors.Defaults("https://a.example")
	options.Events.MaxAge = 20 * time.Millisecond
	options.Baremetal = &baremetal.Options{Conductor: conductors[0], HeartbeatTimeout: heartbeatTimeout}
	change(&opening, &options)
	started := servertest.New(t, servertest.Options{DB: made.db, Store: opening, StandardNames: true, Server: func(defaults *server.Options) {
		options.Store = defaults.Store
		options.Explanations = explainlog.New(explainlog.Options{
			Store: defaults.Store, Log: log, Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000},
		})
		*defaults = options
	}})
	made.conduct(started.Store, log)
	made.handler = started.Handler
	return made
}

// lines is a log that is safe for concurrent writes.
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

// with returns the lines that contain a text.
func (l *lines) with(text string) string {
	var found []string
	for line := range strings.SplitSeq(l.String(), "\n") {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

// TestErrors_InvalidInput_WellFormedWithoutInternals sends invalid requests, generated from the
// documents of all versions of both APIs, and checks every response and the database afterwards.
// `make badinput` sends 100,000. Each operation must succeed sometimes, because otherwise the
// requests do not get beyond its first checks.
func TestErrors_InvalidInput_WellFormedWithoutInternals(t *testing.T) {
	t.Parallel()
	count := *requests
	if testing.Short() {
		count /= 10
	}
	all := byName(operations(t))
	s := newTested(t, func(*postgres.Options, *server.Options) {})
	dbtest.AddInvariantTriggers(t, s.db)
	dbtest.TurnRecordOn(t, s.db) // for GET /events
	if failure := s.furnish(); failure != "" {
		t.Fatal(failure)
	}
	seen := &tally{statuses: map[int]int{}, sent: map[string]int{}, succeeded: map[string]int{}}
	var sending sync.WaitGroup
	for number := range senders {
		sending.Go(func() {
			d := dice{rand.New(rand.NewPCG(*seed, uint64(number)))}
			for i := range count / senders {
				if i%200 == 199 {
					s.furnish() // creates deleted rows again
				}
				m := d.make(pick(d, pick(d, all)))
				m.sentBy(number)
				err := s.play(&m, number)
				if err == nil {
					err = s.send(&m, seen)
				}
				if err != nil && seen.fails() {
					t.Errorf("request %d of sender %d of seed %d to %s %s of %s %s: %v\n%s",
						i, number, *seed, m.of.method, m.of.path, m.of.api, m.of.version, err, m.curl())
				}
			}
		})
	}
	sending.Wait()
	t.Log(seen)
	if count < enough {
		return
	}
	for _, same := range all {
		if name := same[0].name(); seen.succeeded[name] == 0 {
			t.Errorf("%s never succeeded in %d requests", name, seen.sent[name])
		}
	}
}

// operations returns the operations of all documents in a fixed order.
func operations(t testing.TB) []operation {
	t.Helper()
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// send parses the request as net/http does, serves it and checks the response.
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
			err = fmt.Errorf("the handler aborted the response: %v", value)
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
