package bruteforce_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explainlog"
)

func TestMain(m *testing.M) {
	// The function reduce shrinks failing cases instead of rapid, and the tests print them in full.
	// Flags on the command line take precedence, because they are parsed later.
	if err := errors.Join(flag.Set("rapid.shrinktime", "1ns"), flag.Set("rapid.nofailfile", "true")); err != nil {
		slog.Error("rapid's flags", "error", err)
		os.Exit(1)
	}
	storetest.Main(m)
}

// setting is the configuration of a server. Only the maximum number of candidates changes the
// correct responses.
type setting struct {
	name     string
	strategy string
	random   bool
	// most is the maximum number of candidates; -1: no maximum.
	most int
	// pooler opens the connections as through a pooler, so that rows have the text format.
	pooler bool
	// eager has the server change its way to find trees after each tree, and read trees one by one.
	eager bool
}

// plenty is a maximum that no query exceeds. With a maximum, one statement finds the candidates in most cases.
const plenty = 1000

// settings are the configurations of the compared servers.
var settings = []setting{
	{name: "depth-first", strategy: "depth-first", most: -1},
	{name: "breadth-first", strategy: "breadth-first", most: -1},
	{name: "randomized", strategy: "depth-first", random: true, most: -1},
	{name: "breadth-first and randomized", strategy: "breadth-first", random: true, most: -1},
	{name: "depth-first, at most 3", strategy: "depth-first", most: 3},
	{name: "breadth-first, at most 2", strategy: "breadth-first", most: 2},
	{name: "depth-first, at most 1000", strategy: "depth-first", most: plenty},
	{name: "randomized, at most 1000", strategy: "depth-first", random: true, most: plenty},
	{name: "randomized, at most 2", strategy: "depth-first", random: true, most: 2},
	{name: "through a pooler", strategy: "depth-first", most: -1, pooler: true},
	{name: "through a pooler, at most 1000", strategy: "breadth-first", most: plenty, pooler: true},
	{name: "eager", strategy: "depth-first", most: plenty, eager: true},
	{name: "eager and randomized, at most 3", strategy: "breadth-first", random: true, most: 3, eager: true},
}

// isCutting reports whether the maximum can drop candidates.
func (s setting) isCutting() bool { return s.most > 0 && s.most < plenty }

// apply applies the maximum of a setting to an answer.
func (s setting) apply(answer *bruteforce.Response) *bruteforce.Response {
	if s.most > 0 && (answer.Limit == 0 || s.most < answer.Limit) {
		answer.Limit = s.most
	}
	return answer
}

// bundle is a database with one server for each setting.
type bundle struct {
	// ctx ends with the test, because rapid passes another one.
	ctx      context.Context
	db       *dbtest.DB
	handlers []http.Handler
}

func setup(t testing.TB) *bundle {
	t.Helper()
	return setupWith(t, func(*server.Options) {})
}

// setupWith is setup with other options of the servers.
func setupWith(t testing.TB, change func(*server.Options)) *bundle {
	t.Helper()
	db := dbtest.New(t)
	dbtest.AddInvariantTriggers(t, db)
	direct := servertest.New(t, servertest.Options{DB: db})
	pooled := servertest.New(t, servertest.Options{DB: db, Store: postgres.Options{Pooler: true}})
	made := &bundle{ctx: t.Context(), db: db}
	for _, each := range settings {
		on := direct.Store
		if each.pooler {
			on = pooled.Store
		}
		made.handlers = append(made.handlers, servertest.Handlers(on, func(options *server.Options) {
			options.Log = servertest.Log(t)
			// Enough time for complete explanations, also on a busy machine.
			options.Explanations = explainlog.New(explainlog.Options{Settings: explainlog.Settings{Timeout: time.Minute}, Store: on, Log: options.Log})
			options.Placement.Candidates = placement.CandidateOptions{Max: each.most, Strategy: each.strategy, Randomize: each.random}
			if each.eager {
				options.Placement.Search = candidates.NewWithThresholds(on.Pool(), candidates.Thresholds{Count: 1, PageSize: 1})
			}
			change(options)
		}).Public)
	}
	return made
}

// get sends a candidate query to the server of a setting.
func (b *bundle) get(setting int, query string, minor int) *httptest.ResponseRecorder {
	return b.send(question{query: query, minor: minor, setting: setting})
}

// send sends a question with GET, or with POST if it has a body.
func (b *bundle) send(q question) *httptest.ResponseRecorder {
	if body := q.body(); body != "" {
		return b.request(q.setting, http.MethodPost, "/allocation_candidates", q.version(), body)
	}
	query := strings.ReplaceAll(bruteforce.Expand(q.query), " ", "+")
	return b.request(q.setting, http.MethodGet, "/allocation_candidates?"+query, q.version(), "")
}

// version returns the header of a question: berth 1.3 if it has a parameter of that version.
func (q question) version() string {
	if q.minor == bruteforce.Berth && strings.Contains("&"+q.query, "&not_in_tree=") {
		return "placement 1.39, berth 1.3"
	}
	return versionHeader(q.minor)
}

func versionHeader(minor int) string {
	if minor == bruteforce.Berth {
		return "placement 1.39, berth 1.1"
	}
	return fmt.Sprintf("placement 1.%d", minor)
}

// request sends a request with a JSON body, or none, to the server of a setting.
func (b *bundle) request(setting int, method, target, version, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(b.ctx, method, target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return b.do(setting, request, version)
}

func (b *bundle) do(setting int, request *http.Request, version string) *httptest.ResponseRecorder {
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", version)
	recorder := httptest.NewRecorder()
	b.handlers[setting].ServeHTTP(recorder, request)
	return recorder
}

// failure is the body of a 400.
type failure struct {
	Errors []struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"errors"`
}

func decodeFailure(t testing.TB, body []byte) (code, detail string) {
	t.Helper()
	var read failure
	if err := json.Unmarshal(body, &read); err != nil || len(read.Errors) != 1 {
		t.Fatalf("body %s has no error: %v", body, err)
	}
	return read.Errors[0].Code, read.Errors[0].Detail
}
