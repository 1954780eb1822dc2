package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/tokens"
	"github.com/berthd/berth/server/work/conductor"
	"github.com/berthd/berth/server/work/history"
	"github.com/berthd/berth/server/work/leases"
)

// watched is a server with all metrics, logs and probes.
type watched struct {
	*service
	log   *lines
	admin http.Handler
}

// lines is a log that tests can read while it is written.
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

// tokensOf returns the collector of a file with one token.
func tokensOf(t *testing.T) *tokens.Authenticator {
	t.Helper()
	opened, _ := newTokens(t, tokenPersonas[:1])
	return opened
}

func newWatched(t *testing.T, change func(*postgres.Options, *server.Options)) *watched {
	t.Helper()
	made := &watched{log: &lines{}}
	log := slog.New(slog.NewTextHandler(made.log, nil))
	opening := postgres.Options{Log: log}
	options := server.Options{
		Log: log, Placement: placement.Options{IncompleteProject: "p", IncompleteUser: "u", Candidates: placement.CandidateOptions{Max: -1}}, Bodies: route.BodyLimits{Max: 1 << 20},
		Baremetal: &baremetal.Options{
			Conductor: "berth-1", HeartbeatTimeout: time.Minute, Collectors: new(conductor.Conductor).Collectors(),
		},
		Leases: leases.New(leases.Options{}).Collectors(), History: history.New(history.Options{}).Collectors(),
		Observability: server.Observability{
			Version: "1.2.3", Revision: "abcdef", PostgresInterval: time.Minute, CapacityInterval: time.Minute,
			PublicMetrics: true, Profiles: true,
			LogLinesLost: func() int64 { return 2 }, EmbeddedRestarts: func() int64 { return 1 },
			Tokens:         func() map[string]int64 { return map[string]int64{"cache_hit": 3} },
			Validations:    func() map[string]int64 { return map[string]int64{"running": 1} },
			Authentication: collectors{tokensOf(t), oidcOf(t)},
		},
	}
	change(&opening, &options)
	started := servertest.New(t, servertest.Options{Store: opening, StandardNames: true, Server: func(defaults *server.Options) {
		options.Store = defaults.Store
		*defaults = options
	}})
	made.admin = started.Admin
	made.service = &service{t: t, db: started.DB, handler: started.Handler}
	return made
}

// write sends a body as an administrator with microversion 1.39.
func (s *service) write(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.60")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

const (
	aProvider  = "10000000-0000-4000-8000-000000000001"
	aConsumer  = "20000000-0000-4000-8000-000000000001"
	anotherOne = "20000000-0000-4000-8000-000000000002"
)

// exercise sends requests that change every metric.
func (s *service) exercise() {
	s.t.Helper()
	for _, step := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/resource_providers", `{"name": "host", "uuid": "` + aProvider + `"}`, 200},
		{"POST", "/resource_providers", `{"name": "host"}`, 409},
		{"PUT", "/resource_providers/" + aProvider + "/inventories", `{"resource_provider_generation": 0, "inventories": {
			"VCPU": {"total": 8, "allocation_ratio": 4.0}, "MEMORY_MB": {"total": 1024, "reserved": 24}}}`, 200},
		{"PUT", "/resource_providers/" + aProvider + "/inventories", `{"resource_provider_generation": 7, "inventories": {}}`, 409},
		{"GET", "/allocation_candidates?resources=VCPU:1", "", 200},
		{"GET", "/allocation_candidates?resources=VCPU:100", "", 200},
		{"PUT", "/allocations/" + aConsumer, claim("VCPU", "3"), 204},
		{"PUT", "/allocations/" + anotherOne, claim("VCPU", "30"), 409},
		{"GET", "/v1/nodes", "", 200},
	} {
		answer := s.write(step.method, step.path, step.body)
		if answer.Code != step.status {
			s.t.Fatalf("%s %s: status %d: %s", step.method, step.path, answer.Code, answer.Body)
		}
	}
	if _, err := s.db.Pool.Exec(s.t.Context(), `
		INSERT INTO conductors (hostname, drivers) VALUES ('berth-1', '{}');
		INSERT INTO nodes (uuid, driver, provision_state) VALUES (gen_random_uuid(), 'fake', 'available');
		INSERT INTO node_allocations (uuid, state, resource_class) VALUES (gen_random_uuid(), 'error', 'x')`); err != nil {
		s.t.Fatal(err)
	}
}

func claim(class, amount string) string {
	return `{"allocations": {"` + aProvider + `": {"resources": {"` + class + `": ` + amount + `}}}, "project_id": "p", "user_id": "u",
		"consumer_generation": null, "consumer_type": "INSTANCE"}`
}

func TestMetrics_AfterTraffic_ReportAllCollectors(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(opening *postgres.Options, _ *server.Options) { opening.SlowQuery = time.Nanosecond })
	s.exercise()
	got := s.metrics()
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{1, "berth_http_conflicts_total", []string{"operation", "provider-create", "code", "placement.duplicate_name"}},
		{1, "berth_http_conflicts_total", []string{"operation", "inventory-replace", "code", "placement.concurrent_update"}},
		{1, "berth_http_conflicts_total", []string{"operation", "allocation-replace", "code", "placement.undefined_code"}},
		{2, "berth_allocation_candidates_returned", nil},
		{1, "berth_allocation_candidates_empty_total", []string{"reason", "never"}},
		{0, "berth_allocation_candidates_empty_total", []string{"reason", "tree"}},
		{2, "berth_http_request_duration_seconds", []string{"api", "placement", "operation", "candidate-list", "microversion", "1.39"}},
		{0, "berth_allocation_candidates_trees_given_up_total", nil},
		{1, "berth_http_request_duration_seconds", []string{"api", "baremetal", "operation", "node-list", "microversion", "1.60"}},
		{1, "berth_build_info", []string{"version", "1.2.3", "revision", "abcdef"}},
		{1, "berth_postgres_up", nil},
		{0, "berth_sql_disk_full_total", nil},
		{2, "berth_log_lines_lost_total", nil},
		{1, "berth_embedded_postgres_restarts_total", nil},
		{0, "berth_postgres_in_recovery", nil},
		{0, "berth_postgres_connected_standbys", nil},
		{1, "berth_resource_providers", []string{"resource_class", "VCPU"}},
		{8, "berth_resource_inventory", []string{"resource_class", "VCPU"}},
		{32, "berth_resource_capacity", []string{"resource_class", "VCPU"}},
		{3, "berth_resource_used", []string{"resource_class", "VCPU"}},
		{24, "berth_resource_reserved", []string{"resource_class", "MEMORY_MB"}},
		{1000, "berth_resource_capacity", []string{"resource_class", "MEMORY_MB"}},
		{0, "berth_resource_providers_over_capacity", []string{"resource_class", "VCPU"}},
		{1, "berth_baremetal_nodes", []string{"state", "available"}},
		{1, "berth_baremetal_allocations", []string{"state", "error"}},
		{1, "berth_baremetal_conductors", []string{"state", "alive"}},
		{0, "berth_collector_failures_total", []string{"collector", "capacity"}},
	} {
		if found := value(t, got, want.name, want.labels...); found != want.value {
			t.Errorf("%s%v is %v, not %v", want.name, want.labels, found, want.value)
		}
	}
	for _, name := range []string{"berth_postgres_database_size_bytes", "berth_postgres_connections", "berth_postgres_connections_max",
		"berth_postgres_transaction_id_age", "berth_postgres_server_version_num"} {
		if found := value(t, got, name); found <= 0 {
			t.Errorf("%s is %v", name, found)
		}
	}
	if found := value(t, got, "berth_sql_slow_queries_total", "query", "AllocationReplace"); found != 2 {
		t.Errorf("slow claims = %v", found)
	}
}

func TestMetrics_CandidateSearch_CountedAsQuery(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	answer := s.ask(http.MethodPost, "/allocation_candidates", strings.NewReader(`{"groups": {"": {"resources": {"VCPU": 1}}}}`),
		"Content-Type", "application/json", "OpenStack-API-Version", "placement 1.39, berth 1.1")
	got := s.metrics()
	for name, labels := range map[string][]string{
		"berth_allocation_candidates_returned": nil, "berth_allocation_candidates_empty_total": {"reason", "typo"},
	} {
		if found := value(t, got, name, labels...); found != 1 || answer.Code != http.StatusOK {
			t.Errorf("%s = %v, want 1; status = %d: %s", name, found, answer.Code, answer.Body)
		}
	}
}

func TestMetrics_SlowDatabase_ScrapeNotDelayed(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	locked, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "LOCK TABLE inventories IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got := s.metrics()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the scrape took %s", took)
	}
	if got["berth_resource_inventory"] != nil || got["berth_postgres_up"] == nil || got["berth_build_info"] == nil {
		t.Error("the scrape has a metric of a blocked query, or lacks one of another")
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// The blocked query returns its result and is not repeated.
		if value(t, s.metrics(), "berth_resource_classes_truncated") == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the result of the blocked query is never exported")
		}
	}
}

func TestMetrics_CollectorsOff_NotReported(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Observability.PostgresInterval, options.Observability.CapacityInterval = 0, 0
	})
	for name := range s.metrics() {
		if strings.HasPrefix(name, "berth_postgres") || strings.HasPrefix(name, "berth_resource") || strings.HasPrefix(name, "berth_collector") ||
			strings.HasPrefix(name, "berth_baremetal") && name != "berth_baremetal_allocations_failed_total" {
			t.Errorf("%s is told", name)
		}
	}
}

func TestMetrics_MicroversionLabels_LimitedTo20(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	for minor := range 40 {
		version := "placement 1." + string(rune('0'+minor/10)) + string(rune('0'+minor%10))
		s.get("/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", version)
	}
	versions := map[string]bool{}
	for _, sample := range s.metrics()["berth_http_request_duration_seconds"].samples {
		versions[sample.labels["microversion"]] = true
	}
	if len(versions) != 21 || !versions["other"] || !versions["1.0"] || versions["1.39"] {
		t.Errorf("versions = %v", versions)
	}
}

func TestMetrics_HiddenFromPublic_Returns401(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Observability.PublicMetrics = false })
	if answer := s.get("/metrics"); answer.Code != http.StatusUnauthorized {
		t.Errorf("public address: status = %d", answer.Code)
	}
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/goroutine?debug=1"} {
		answer := httptest.NewRecorder()
		s.admin.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code != http.StatusOK || answer.Body.Len() == 0 {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
}

func TestSettings_ProfilesHidden_AdminServesTheRest(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Observability.Profiles = false })
	for path, want := range map[string]int{
		"/metrics": http.StatusOK, "/livez": http.StatusOK,
		"/debug/pprof/": http.StatusNotFound, "/debug/pprof/cmdline": http.StatusNotFound, "/debug/pprof/goroutine": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		s.admin.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code != want {
			t.Errorf("%s: status = %d, want %d", path, answer.Code, want)
		}
	}
}

// readyz returns the status and the body of /readyz.
func (s *service) readyz() (int, string) {
	answer := s.get("/readyz")
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestReadiness_OutdatedSchemaState_Returns503(t *testing.T) {
	t.Parallel()
	for state, want := range map[migrate.State]int{
		migrate.StateUpToDate: 200, migrate.StateNewer: 200, migrate.StateOutdated: 503, migrate.StatePlacement: 503,
	} {
		s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
			server.SetSchemaState(options, func(context.Context) (migrate.State, error) { return state, nil })
		})
		status, body := s.readyz()
		var answer struct {
			Status, Reason string
			Checks         map[string]string
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if status != want || answer.Checks["schema"] != string(state) || answer.Checks["database"] != "ok" ||
			(answer.Reason != "") != (want == 503) {
			t.Errorf("%s: %d %s", state, status, body)
		}
	}
}

func TestReadiness_ConcurrentProbes_ShareOneQuery(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1000)
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		server.SetSchemaState(options, func(context.Context) (migrate.State, error) {
			asked <- struct{}{}
			time.Sleep(50 * time.Millisecond)
			return "", errors.New("the database is away")
		})
	})
	var probes sync.WaitGroup
	for range 50 {
		probes.Go(func() {
			if status, body := s.readyz(); status != http.StatusServiceUnavailable || strings.Contains(body, "away") {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	probes.Wait()
	if len(asked) != 1 {
		t.Errorf("%d queries for 50 probes", len(asked))
	}
	if said := strings.Count(s.log.String(), "not ready"); said != 1 || !strings.Contains(s.log.String(), "the database is away") {
		t.Errorf("%d log lines, want 1: %s", said, s.log)
	}
}

func TestReadiness_DatabaseHangs_Returns503InTime(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		server.SetSchemaState(options, func(ctx context.Context) (migrate.State, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it ignores its context
			return "", ctx.Err()
		})
	})
	start := time.Now()
	status, body := s.readyz()
	if took := time.Since(start); took > 2900*time.Millisecond || status != http.StatusServiceUnavailable || !strings.Contains(body, "in time") {
		t.Errorf("after %s: %d %s", took, status, body)
	}
}

func TestReadiness_AllConnectionsInUse_StaysReady(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(opening *postgres.Options, _ *server.Options) { opening.MaxConns = 1 })
	locked, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Rollback(context.WithoutCancel(t.Context()))
	if _, err := locked.Exec(t.Context(), "LOCK TABLE traits IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/traits", http.NoBody)
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
	})
	for value(t, s.metrics(), "berth_db_pool_connections", "state", "in_use") != 1 {
		time.Sleep(5 * time.Millisecond)
	}
	if status, body := s.readyz(); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestReadiness_Draining_Returns503(t *testing.T) {
	t.Parallel()
	draining := make(chan struct{})
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Observability.Draining = draining })
	if status, body := s.readyz(); status != http.StatusOK {
		t.Errorf("before: %d %s", status, body)
	}
	close(draining)
	if status, body := s.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"draining"`) {
		t.Errorf("then: %d %s", status, body)
	}
	if answer := s.get("/livez"); answer.Code != http.StatusOK {
		t.Errorf("livez: status = %d", answer.Code)
	}
	if answer := s.get("/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.39"); answer.Code != http.StatusOK {
		t.Errorf("request while draining: status = %d", answer.Code)
	}
}
