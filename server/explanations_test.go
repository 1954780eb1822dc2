package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
)

const (
	withExplanations = "placement 1.39, berth 1.2"
	emptyQuery       = "/allocation_candidates?resources=VCPU:4"
)

// explaining is a server that records empty results.
type explaining struct {
	*servertest.Server
	t   *testing.T
	log *explainlog.Log
}

// newExplaining starts a server on a database. Its explanations have the query as their summary.
func newExplaining(t *testing.T, db *dbtest.DB, keep time.Duration) *explaining {
	t.Helper()
	made := &explaining{t: t}
	made.Server = servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
		made.log = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: keep, Rows: 1000, Timeout: time.Second}, Store: options.Store,
			Log: slog.New(slog.DiscardHandler), Explain: func(_ context.Context, asked explainlog.Query) (*explain.Explanation, error) {
				return &explain.Explanation{Kind: asked.Kind, Reason: asked.Reason, Summary: "of " + asked.Text}, nil
			},
		})
		options.Explanations = made.log
	}})
	made.log.Start()
	t.Cleanup(func() { made.log.Close(context.Background()) })
	return made
}

// get sends a request, with headers as pairs.
func (s *explaining) get(target, version string, headers ...string) *httptest.ResponseRecorder {
	return s.sendText(http.MethodGet, target, "", version, headers...)
}

// sendText sends a request with a JSON body, with headers as pairs.
func (s *explaining) sendText(method, target, body, version string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", version)
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

// decode returns the body of a 200.
func decode[B any](t *testing.T, from *httptest.ResponseRecorder) (body B) {
	t.Helper()
	if from.Code != http.StatusOK {
		t.Fatalf("status = %d: %s", from.Code, from.Body)
	}
	if err := json.Unmarshal(from.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

type shownExplanations struct {
	Explanations []struct {
		RequestID       string  `json:"request_id"`
		GlobalRequestID *string `json:"global_request_id"`
		Microversion    string
		Berth           *string
		Question        string
		Options         map[string]any
		SameQuestion    struct{ Requests int } `json:"same_question"`
		Explanation     struct{ Kind, Reason, Summary string }
		MadeAt          *time.Time `json:"made_at"`
	}
}

func TestExplain_EmptyResult_ShownByItsIDs(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s, other := newExplaining(t, db, 24*time.Hour), newExplaining(t, db, 24*time.Hour)
	global := "req-" + uuid.NewString()
	old := s.get(emptyQuery, "placement 1.10", "X-Openstack-Request-Id", global).Header().Get("X-Openstack-Request-Id")
	extended := s.get(emptyQuery+"&can_split=VCPU", withExplanations, "X-Openstack-Request-Id", global).Header().Get("X-Openstack-Request-Id")
	s.log.Close(t.Context())
	for id, want := range map[string][]string{old: {old}, extended: {extended}, global: {old, extended}} {
		shown := decode[shownExplanations](t, other.get("/explanations/"+id, withExplanations)).Explanations
		var ids []string
		for _, one := range shown {
			ids = append(ids, one.RequestID)
			if *one.GlobalRequestID != global || one.Explanation.Summary != "of "+one.Question || one.Explanation.Reason != "amount" ||
				one.MadeAt == nil || one.SameQuestion.Requests != 1 || one.Options["strategy"] != "depth-first" {
				t.Errorf("shown = %+v, want its explanation", one)
			}
			if one.RequestID == old && (one.Microversion != "1.10" || one.Berth != nil) ||
				one.RequestID == extended && (one.Microversion != "1.39" || *one.Berth != "1.2") {
				t.Errorf("versions = %s, %v", one.Microversion, one.Berth)
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("requests of %s = %v, want %v", id, ids, want)
		}
	}
	page := decode[struct {
		Explanations []struct {
			Summary    *string
			RequestIDs []string `json:"request_ids"`
		}
		Links []struct{ Href string } `json:"explanations_links"`
	}](t, other.get("/explanations?limit=1&sort=-last_asked_at&since=1h&kind=candidates", withExplanations))
	if len(page.Explanations) != 1 || page.Explanations[0].Summary == nil || len(page.Links) != 1 ||
		!slices.Equal(page.Explanations[0].RequestIDs, []string{extended}) {
		t.Fatalf("page = %+v, want the newest query and a link", page)
	}
	next := other.get(page.Links[0].Href, withExplanations)
	if body := next.Body.String(); next.Code != http.StatusOK || !strings.Contains(body, old) || strings.Contains(body, "explanations_links") {
		t.Errorf("next page = %d %s, want the last query", next.Code, body)
	}
	if wrong := other.get(page.Links[0].Href+"&sort=-requests", withExplanations); !strings.Contains(wrong.Body.String(), "berth.query.duplicate_key") {
		t.Errorf("repeated sort = %d %s", wrong.Code, wrong.Body)
	}
	if wrong := other.get(strings.Replace(page.Links[0].Href, "sort=-last_asked_at", "sort=-requests", 1), withExplanations); !strings.Contains(wrong.Body.String(), "berth.page.bad_marker") {
		t.Errorf("marker of another order = %d %s", wrong.Code, wrong.Body)
	}
}

func TestExplain_InvalidRequests_ReturnErrors(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s, none := newExplaining(t, db, 24*time.Hour), newExplaining(t, db, 0)
	const unknown = "req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"
	notFound := func(id string) string {
		return "No explanation is kept for " + id + ". Empty answers and refused claims of the last 24h0m0s can be explained, if they were recorded."
	}
	for _, c := range []struct {
		on              *explaining
		target, version string
		status          int
		want            string
	}{
		{s, "/explanations/" + unknown, withExplanations, 404, notFound(unknown)},
		{s, "/explanations/" + unknown, withExplanations, 404, `"code":"berth.explanation.not_found"`},
		{s, "/explanations/gold", withExplanations, 404, notFound("gold")},
		{none, "/explanations/" + unknown, withExplanations, 404, "This service keeps no explanations (explain-keep is 0)."},
		{s, "/explanations/" + unknown + "?limit=1", withExplanations, 400, "'limit' was unexpected"},
		{s, "/explanations?color=red", withExplanations, 400, "'color' was unexpected"},
		{s, "/explanations?limit=1&limit=2", withExplanations, 400, "Query parameter 'limit' may be specified only once."},
		{s, "/explanations?limit=1&limit=2", withExplanations, 400, `"code":"berth.query.duplicate_key"`},
		{s, "/explanations?limit=0", withExplanations, 400, "'0' does not match"},
		{s, "/explanations?limit=1001", withExplanations, 400, "'1001' does not match"},
		{s, "/explanations?kind=gold", withExplanations, 400, "'gold' is not one of ['candidates', 'claim']"},
		{s, "/explanations?sort=requests", withExplanations, 400, "'requests' is not one of"},
		{s, "/explanations?since=yesterday", withExplanations, 400, "'yesterday' is not a 'date-time'"},
		{s, "/explanations?since=2026-11-20T00:00:00", withExplanations, 400, "is not a 'date-time'"},
		{s, "/explanations?marker=gold", withExplanations, 400, "The marker does not belong to this list. Begin again without it."},
		{s, "/explanations?marker=gold", withExplanations, 400, `"code":"berth.page.bad_marker"`},
		{s, "/explanations", "placement 1.39, berth 1.1", 404, ""},
		{s, "/explanations/" + unknown, "placement 1.39", 404, ""},
	} {
		w := c.on.get(c.target, c.version)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.target, w.Code, w.Body, c.status, c.want)
		}
	}
	if w := s.get("/explanations", withExplanations, "Accept", "text/plain"); w.Code != http.StatusNotAcceptable {
		t.Errorf("status = %d, want 406", w.Code)
	}
}

// TestExplain_PostgresCrashed_LookupReturns404 empties the tables as PostgreSQL does with unlogged ones after a crash.
func TestExplain_PostgresCrashed_LookupReturns404(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	var unlogged int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relname IN ('explanations', 'explanation_requests') AND relpersistence = 'u'").
		Scan(&unlogged); err != nil || unlogged != 2 {
		t.Fatalf("unlogged tables = %d, %v, want both", unlogged, err)
	}
	s := newExplaining(t, db, 24*time.Hour)
	id := s.get(emptyQuery, "placement 1.39").Header().Get("X-Openstack-Request-Id")
	s.log.Close(t.Context())
	if w := s.get("/explanations/"+id, withExplanations); w.Code != http.StatusOK {
		t.Fatalf("status = %d: %s", w.Code, w.Body)
	}
	if _, err := db.Pool.Exec(t.Context(), "TRUNCATE explanations, explanation_requests RESTART IDENTITY"); err != nil {
		t.Fatal(err)
	}
	if w := s.get("/explanations/"+id, withExplanations); w.Code != http.StatusNotFound {
		t.Errorf("status = %d: %s, want 404", w.Code, w.Body)
	}
	if w := s.get(emptyQuery, "placement 1.39"); w.Code != http.StatusOK {
		t.Errorf("status = %d: %s, want 200", w.Code, w.Body)
	}
}

// TestExplain_Tables_ContainNoCaller searches all columns for what identifies a caller, after an empty result and a claim
// that does not fit.
func TestExplain_Tables_ContainNoCaller(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s := newExplaining(t, db, 24*time.Hour)
	provider, consumer := uuid.NewString(), uuid.NewString()
	s.sendText(http.MethodPost, "/resource_providers", fmt.Sprintf(`{"name": "host-1", "uuid": %q}`, provider), "placement 1.39")
	s.sendText(http.MethodPut, "/resource_providers/"+provider+"/inventories",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`, "placement 1.39")
	secrets := []string{"token-5ec7e7", "user-5ec7e7", "project-5ec7e7", "role-5ec7e7", "192.0.2.1", "agent-5ec7e7", "claimed-5ec7e7", "INSTANCE_5EC7E7"}
	caller := []string{"X-Auth-Token", secrets[0] + ":" + secrets[2], "X-User-Id", secrets[1], "X-Roles", "admin,service," + secrets[3],
		"User-Agent", secrets[5], "X-Forwarded-For", secrets[4]}
	s.get("/allocation_candidates?resources=VCPU:8", "placement 1.39", caller...)
	body := fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 8}}}, "project_id": %q, "user_id": %q, "consumer_generation": null, "consumer_type": %q}`,
		provider, secrets[6], secrets[6], secrets[7])
	if w := s.sendText(http.MethodPut, "/allocations/"+consumer, body, "placement 1.39", caller...); w.Code != http.StatusConflict {
		t.Fatalf("claim = %d %s, want 409", w.Code, w.Body)
	}
	s.log.Close(t.Context())
	var text string
	if err := db.Pool.QueryRow(t.Context(), "SELECT string_agg(row::text, '') FROM (SELECT e::text FROM explanations AS e "+
		"UNION ALL SELECT r::text FROM explanation_requests AS r) AS all_rows (row)").Scan(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"resources=VCPU:8", consumer, provider} {
		if !strings.Contains(text, want) {
			t.Errorf("tables = %s, want %s", text, want)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("the tables contain %s: %s", secret, text)
		}
	}
}

// TestExplain_DatabaseReadOnly_AnswersDoNotChange compares responses with those of a server that records nothing, and
// checks recorded + dropped = empty results.
func TestExplain_DatabaseReadOnly_AnswersDoNotChange(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	none := newExplaining(t, db, 0)
	want := none.get(emptyQuery, "placement 1.39")
	store := servertest.New(t, servertest.Options{DB: db}) // a server does not start on a read-only database
	if _, err := db.Pool.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = on", db.Name)); err != nil {
		t.Fatal(err)
	}
	recorder := explainlog.New(explainlog.Options{
		Settings: explainlog.Settings{Keep: time.Hour, Rows: 10, Timeout: time.Second}, Store: store.Store, Log: slog.New(slog.DiscardHandler),
	})
	handlers := servertest.Handlers(store.Store, func(options *server.Options) { options.Explanations = recorder })
	recorder.Start()
	s := &explaining{Server: &servertest.Server{Handler: handlers.Public}, t: t, log: recorder}
	for range 5 {
		if got := s.get(emptyQuery, "placement 1.39"); got.Code != want.Code || got.Body.String() != want.Body.String() {
			t.Errorf("response = %d %s, want %d %s", got.Code, got.Body, want.Code, want.Body)
		}
	}
	recorder.Close(t.Context())
	metrics := s.get("/metrics", "placement 1.39").Body.String()
	for _, line := range []string{
		`berth_allocation_candidates_empty_total{reason="typo"} 5`, `berth_allocation_candidates_empty_total{reason="tree"} 0`,
		`berth_explanations_dropped_total{why="database"} 5`, `berth_explanations_dropped_total{why="queue"} 0`,
		`berth_explanations_dropped_total{why="rate"} 0`, `berth_explanations_total{when="lookup"} 0`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}
