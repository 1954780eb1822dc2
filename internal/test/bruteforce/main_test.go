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
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/placement"
)

func TestMain(m *testing.M) {
	// What fails is reduced here, see reduce, and shown in full. Flags that are given
	// win, since they are parsed later.
	if err := errors.Join(flag.Set("rapid.shrinktime", "1ns"), flag.Set("rapid.nofailfile", "true")); err != nil {
		slog.Error("rapid's flags", "error", err)
		os.Exit(1)
	}
	storetest.Main(m)
}

// setting is how a server is told to answer. Only the most candidates it finds
// changes what may be answered.
type setting struct {
	name     string
	strategy string
	random   bool
	// most is -1 for all.
	most int
}

// settings are those that the answers are compared at.
var settings = []setting{
	{"depth-first", "depth-first", false, -1},
	{"breadth-first", "breadth-first", false, -1},
	{"randomized", "depth-first", true, -1},
	{"breadth-first and randomized", "breadth-first", true, -1},
	{"depth-first, at most 3", "depth-first", false, 3},
	{"breadth-first, at most 2", "breadth-first", false, 2},
}

// apply puts what a setting cuts off into an answer.
func (s setting) apply(answer *bruteforce.Answer) *bruteforce.Answer {
	if s.most > 0 && (answer.Limit == 0 || s.most < answer.Limit) {
		answer.Limit = s.most
	}
	return answer
}

// bundle is a database of its own, and a server on it for each of the settings.
type bundle struct {
	// ctx ends with the test, which is not the one that rapid runs.
	ctx      context.Context
	db       *dbtest.DB
	handlers []http.Handler
}

func setup(t testing.TB) *bundle {
	t.Helper()
	db := dbtest.New(t)
	dbtest.AddInvariantTriggers(t, db)
	started := servertest.New(t, servertest.Options{DB: db})
	made := &bundle{ctx: t.Context(), db: db}
	for _, each := range settings {
		made.handlers = append(made.handlers, servertest.Handlers(started.Store, func(options *server.Options) {
			options.Log = servertest.Log(t)
			options.Placement.Candidates = placement.CandidateOptions{Max: each.most, Strategy: each.strategy, Randomize: each.random}
		}).Public)
	}
	return made
}

// get asks the server of a setting for candidates.
func (b *bundle) get(setting int, query string, minor int) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(b.ctx, http.MethodGet, "/allocation_candidates?"+bruteforce.Expand(query), nil)
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", fmt.Sprintf("placement 1.%d", minor))
	recorder := httptest.NewRecorder()
	b.handlers[setting].ServeHTTP(recorder, request)
	return recorder
}

// failure is the body of an answer of 400.
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
		t.Fatalf("no error in %s: %v", body, err)
	}
	return read.Errors[0].Code, read.Errors[0].Detail
}
