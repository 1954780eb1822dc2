package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/observe/requestlog"
)

// routes are all routes of a server with every part.
type routes struct {
	server.Handlers
	all []server.Route
}

// newRoutes returns a server with the Bare Metal API, the console and the profiles, whose routes are those of its tables.
func newRoutes(t *testing.T) *routes {
	t.Helper()
	data := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 2}}).Store
	var pages *console.Console
	made := &routes{Handlers: servertest.Handlers(data, func(options *server.Options) {
		options.Limits = server.Limits{Requests: 4, BodyRate: 1}
		options.Bodies = route.BodyLimits{Max: 1 << 30, Memory: 1}
		options.Baremetal = &baremetal.Options{Conductor: "berth-1", HeartbeatTimeout: time.Minute}
		options.Observability.PublicMetrics, options.Observability.Profiles = true, true
		options.Console = func(service http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
			var err error
			if pages, err = console.New(console.Options{API: service}); err != nil {
				t.Fatal(err)
			}
			return pages.Serve, pages.Close
		}
	})}
	t.Cleanup(func() { _ = made.Close() })
	variable := regexp.MustCompile(`\{[^}]*\}`)
	for _, pattern := range pages.Patterns() {
		method, path, _ := strings.Cut(strings.ReplaceAll(pattern, "{$}", ""), " ")
		made.all = append(made.all, server.Route{Method: method, Path: server.ConsolePath + path})
	}
	made.all = append(made.all, made.Routes()...)
	for i := range made.all {
		made.all[i].Path = variable.ReplaceAllString(made.all[i].Path, aProvider)
	}
	return made
}

// send sends a request of an administrator whose body has no declared length.
func (s *routes) send(ctx context.Context, of server.Route, body *endlessBody) *httptest.ResponseRecorder {
	handler := s.Public
	if of.IsAdmin {
		handler = s.Admin
	}
	r := httptest.NewRequestWithContext(ctx, of.Method, of.Path, nil)
	if body != nil {
		r.Body, r.ContentLength = body, -1
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.82, berth 1.4")
	if strings.HasPrefix(of.Path, server.ConsolePath) {
		r.Header.Del("OpenStack-API-Version")
	}
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder(), body: body}
	handler.ServeHTTP(w, r)
	return w.ResponseRecorder
}

// endlessBody is a body without an end. It counts the bytes that the server reads, also those for which the client has
// unlimited time.
type endlessBody struct {
	read, untimed int
	hasDeadline   bool
}

// maxEndless is more than a handler may read without memory for it.
const maxEndless = 4 << 20

func (b *endlessBody) Read(p []byte) (int, error) {
	if b.read >= maxEndless {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	if b.read += len(p); !b.hasDeadline {
		b.untimed += len(p)
	}
	return len(p), nil
}

func (b *endlessBody) Close() error { return nil }

// deadlineWriter is a connection that has a deadline of its reads.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	body *endlessBody
}

func (w *deadlineWriter) SetReadDeadline(at time.Time) error {
	if w.body != nil {
		w.body.hasDeadline = !at.IsZero()
	}
	return nil
}

// unslotted returns the routes that are served although no slot is free.
func (s *routes) unslotted(t *testing.T) (found []server.Route) {
	t.Helper()
	if err := s.TakeSlots(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, of := range s.all {
		w := s.send(t.Context(), of, nil)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "it takes no more") {
			found = append(found, of)
		}
	}
	return found
}

// unmetered returns the routes that read a body for which there is no memory, or for which the client has unlimited time.
func (s *routes) unmetered(t *testing.T) (found []server.Route) {
	t.Helper()
	if err := s.TakeMemory(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, of := range s.all {
		if of.IsAdmin && strings.HasPrefix(of.Path, "/debug/pprof/") && of.Path != "/debug/pprof/symbol" {
			continue // they read no body, and run for 30 seconds
		}
		body := &endlessBody{}
		s.send(ctx, of, body)
		if body.read > maxUnmetered || body.untimed > 0 {
			found = append(found, of)
		}
	}
	return found
}

// maxUnmetered is the size of a body for which a handler needs no memory of the budget, with the rest of a buffer.
const maxUnmetered = 128 << 10

func TestLimits_EveryHandler_TakesASlot(t *testing.T) {
	t.Parallel()
	s := newRoutes(t)
	if len(s.all) < 200 {
		t.Fatalf("%d routes", len(s.all))
	}
	for _, of := range s.unslotted(t) {
		t.Errorf("%+v is served without a slot", of)
	}
}

func TestLimits_EveryHandler_BoundsItsBody(t *testing.T) {
	t.Parallel()
	for _, of := range newRoutes(t).unmetered(t) {
		t.Errorf("%+v reads a body without memory or without a rate", of)
	}
}

// planted is a route beside the bounds.
var planted = server.Route{Method: http.MethodPost, Path: "/planted"}

// plant adds a handler that reads its body and takes no slot.
func (s *routes) plant() {
	next := s.Public
	s.Public = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == planted.Path {
			_, _ = io.ReadAll(r.Body)
			return
		}
		next.ServeHTTP(w, r)
	})
	s.all = append(s.all, planted)
}

func TestLimits_HandlerBesideTheBounds_IsFound(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*routes) []server.Route{
		"slots":  func(s *routes) []server.Route { return s.unslotted(t) },
		"bodies": func(s *routes) []server.Route { return s.unmetered(t) },
	} {
		s := newRoutes(t)
		s.all = s.all[:20] // the other tests send to all routes
		s.plant()
		if found := check(s); !slices.Equal(found, []server.Route{planted}) {
			t.Errorf("%s: found %+v, want the planted route", name, found)
		}
	}
}

// TestLimits_OneSlot_PagesAndTheirCallsDoNotDeadlock has more pages than slots, whose calls need the slot of the APIs.
func TestLimits_OneSlot_PagesAndTheirCallsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Limits = server.Limits{Requests: 1, Queue: 1000, Wait: time.Hour}
		withConsole(options)
	})
	var all sync.WaitGroup
	told := make([]string, 30)
	for i := range told {
		all.Go(func() {
			switch path := []string{"/console/providers?view=list", "/console/capacity?card=left", "/resource_providers"}[i%3]; path {
			case "/resource_providers":
				told[i] = fmt.Sprint(s.ask(http.MethodGet, path, http.NoBody).Code)
			default:
				told[i] = fmt.Sprint(s.get(path).Code)
			}
		})
	}
	all.Wait()
	for i, status := range told {
		if status != "200" {
			t.Errorf("request %d: status = %s, want 200", i, status)
		}
	}
}

// TestLimits_LongAddress_Returns414ForPagesOnly sends addresses and hosts beyond what a page may copy into its links.
func TestLimits_LongAddress_Returns414ForPagesOnly(t *testing.T) {
	t.Parallel()
	var log lines
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		withConsole(options)
		options.AccessLog, options.Observability.OsloRequestLines = true, true
		options.Log = slog.New(requestlog.NewOslo(&log, slog.LevelInfo, "berth"))
	})
	long := "?name=" + strings.Repeat("a", 20<<10)
	for path, want := range map[string]int{
		"/console": 414, "/console/providers/" + aProvider: 414, "/docs": 414, "/openapi/1.39.json": 414, "/livez": 414,
		"/resource_providers": 200, "/": 200, "/v1": 400, "/v1/nodes": 400,
	} {
		if got := s.ask(http.MethodGet, path+long, http.NoBody); got.Code != want {
			t.Errorf("%s: status = %d, want %d: %.200s", path, got.Code, want, got.Body)
		}
	}
	for path, want := range map[string]int{"/console": 414, "/resource_providers": 200, "/v1": 200, "/v1/nodes": 400} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Host = strings.Repeat("a", 20<<10)
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.60")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s at a long host: status = %d, want %d", path, w.Code, want)
		}
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 9<<10 {
			t.Errorf("a line of the log has %d bytes: %.200s", len(line), line)
		}
	}
}
