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

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// watched is a service with everything that watches it.
type watched struct {
	*service
	log   *lines
	admin http.Handler
}

// lines is a log that may be read while it is written.
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

func newWatched(t *testing.T, change func(*store.Options, *server.Options)) *watched {
	t.Helper()
	db := dbtest.Guarded(t)
	made := &watched{log: &lines{}}
	log := slog.New(slog.NewTextHandler(made.log, nil))
	opening := store.Options{URL: db.URL, MaxConns: 4, Log: log}
	options := server.Options{
		Log: log, EnforceNewDefaults: true, MaxCandidates: -1, MaxBodyBytes: 1 << 20,
		IncompleteProject: "p", IncompleteUser: "u",
		Baremetal: &server.Baremetal{Conductor: "berth-1", Silence: time.Minute},
		Watch: server.Watch{
			Version: "1.2.3", Revision: "abcdef", PostgresInterval: time.Minute, CapacityInterval: time.Minute,
			Tokens: func() map[string]int64 { return map[string]int64{"remembered": 3} },
			Admin:  func(handler http.Handler) { made.admin = handler },
		},
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
	options.Store = data
	made.service = &service{t: t, db: db, handler: server.New(options)}
	return made
}

// write sends a body as an administrator at 1.39.
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

// exercise does a little of everything that there are metrics for.
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

// metrics is what a scraper gets, parsed.
func (s *service) metrics() map[string]*dto.MetricFamily {
	s.t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(s.get("/metrics").Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return families
}

// value is that of one series, whose labels are given as name and value in turn.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, metric := range families[name].GetMetric() {
		matching := 0
		for _, label := range metric.GetLabel() {
			for i := 0; i < len(labels); i += 2 {
				if label.GetName() == labels[i] && label.GetValue() == labels[i+1] {
					matching++
				}
			}
		}
		if matching == len(labels)/2 {
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	t.Errorf("there is no %s%v", name, labels)
	return -1
}

func TestMetricsTellOfConflictsCandidatesCapacityAndPostgreSQL(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(opening *store.Options, _ *server.Options) { opening.SlowQuery = time.Nanosecond })
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
		{2, "berth_candidates_returned", nil},
		{1, "berth_candidates_empty_total", nil},
		{2, "berth_http_request_duration_seconds", []string{"api", "placement", "operation", "candidate-list", "microversion", "1.39"}},
		{1, "berth_http_request_duration_seconds", []string{"api", "baremetal", "operation", "node-list", "microversion", "1.60"}},
		{1, "berth_build_info", []string{"version", "1.2.3", "revision", "abcdef"}},
		{1, "berth_postgres_up", nil},
		{0, "berth_postgres_in_recovery", nil},
		{0, "berth_postgres_standbys", nil},
		{1, "berth_resource_providers", []string{"resource_class", "VCPU"}},
		{8, "berth_resource_total", []string{"resource_class", "VCPU"}},
		{32, "berth_resource_capacity", []string{"resource_class", "VCPU"}},
		{3, "berth_resource_used", []string{"resource_class", "VCPU"}},
		{24, "berth_resource_reserved", []string{"resource_class", "MEMORY_MB"}},
		{1000, "berth_resource_capacity", []string{"resource_class", "MEMORY_MB"}},
		{0, "berth_resource_overused_providers", []string{"resource_class", "VCPU"}},
		{1, "berth_baremetal_nodes", []string{"state", "available"}},
		{1, "berth_baremetal_allocations", []string{"state", "error"}},
		{1, "berth_baremetal_conductors", []string{"state", "alive"}},
		{0, "berth_look_failures_total", []string{"look", "capacity"}},
	} {
		if found := value(t, got, want.name, want.labels...); found != want.value {
			t.Errorf("%s%v is %v, not %v", want.name, want.labels, found, want.value)
		}
	}
	for _, name := range []string{"berth_postgres_database_size_bytes", "berth_postgres_connections", "berth_postgres_connections_max",
		"berth_postgres_transaction_id_age", "berth_postgres_version_number"} {
		if found := value(t, got, name); found <= 0 {
			t.Errorf("%s is %v", name, found)
		}
	}
	if found := value(t, got, "berth_sql_slow_queries_total", "query", "AllocationReplace"); found != 2 {
		t.Errorf("%v slow claims were counted", found)
	}
}

func TestASlowDatabaseDoesNotHoldUpAScrape(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*store.Options, *server.Options) {})
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
	if got["berth_resource_total"] != nil || got["berth_postgres_up"] == nil || got["berth_build_info"] == nil {
		t.Error("what waits for a lock is told, or what does not is left out")
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// The question that waited is answered, and not asked again.
		if value(t, s.metrics(), "berth_resource_classes_untold") == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what was asked for is never told")
		}
	}
}

func TestWhatIsSwitchedOffIsNotAskedFor(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *store.Options, options *server.Options) {
		options.Watch.PostgresInterval, options.Watch.CapacityInterval = 0, 0
	})
	for name := range s.metrics() {
		if strings.HasPrefix(name, "berth_postgres") || strings.HasPrefix(name, "berth_resource") || strings.HasPrefix(name, "berth_look") ||
			strings.HasPrefix(name, "berth_baremetal") {
			t.Errorf("%s is told", name)
		}
	}
}

func TestOnlyTwentyMicroversionsOfAnAPIAreToldApart(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*store.Options, *server.Options) {})
	for minor := range 40 {
		version := "placement 1." + string(rune('0'+minor/10)) + string(rune('0'+minor%10))
		s.get("/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", version)
	}
	versions := map[string]bool{}
	for _, metric := range s.metrics()["berth_http_request_duration_seconds"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "microversion" {
				versions[label.GetValue()] = true
			}
		}
	}
	if len(versions) != 21 || !versions["other"] || !versions["1.0"] || versions["1.39"] {
		t.Errorf("the versions are %v", versions)
	}
}

func TestMetricsMayBeKeptToTheAddressOfThoseWhoWatch(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *store.Options, options *server.Options) { options.Watch.HideMetrics = true })
	if answer := s.get("/metrics"); answer.Code != http.StatusUnauthorized {
		t.Errorf("in public: status %d", answer.Code)
	}
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/goroutine?debug=1"} {
		answer := httptest.NewRecorder()
		s.admin.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code != http.StatusOK || answer.Body.Len() == 0 {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
}

// readyz is the status and the answer of /readyz.
func (s *service) readyz() (int, string) {
	answer := s.get("/readyz")
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestASchemaThatIsBehindIsNotReady(t *testing.T) {
	t.Parallel()
	for state, want := range map[server.SchemaState]int{
		server.SchemaUpToDate: 200, server.SchemaNewer: 200, server.SchemaBehind: 503,
	} {
		s := newWatched(t, func(_ *store.Options, options *server.Options) {
			options.Watch.Schema = func(context.Context) (server.SchemaState, error) { return state, nil }
		})
		status, body := s.readyz()
		var answer struct {
			Status, Reason string
			Checks         map[string]string
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if status != want || answer.Checks["schema"] != string(state) || answer.Checks["database"] != "answers" ||
			(answer.Reason != "") != (want == 503) {
			t.Errorf("%s: %d %s", state, status, body)
		}
	}
}

func TestProbesShareWhatIsFoundOut(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1000)
	s := newWatched(t, func(_ *store.Options, options *server.Options) {
		options.Watch.Schema = func(context.Context) (server.SchemaState, error) {
			asked <- struct{}{}
			time.Sleep(50 * time.Millisecond)
			return "", errors.New("the database is away")
		}
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
		t.Errorf("the database was asked %d times for 50 probes", len(asked))
	}
	if said := strings.Count(s.log.String(), "not ready"); said != 1 || !strings.Contains(s.log.String(), "the database is away") {
		t.Errorf("the log says it %d times: %s", said, s.log)
	}
}

func TestADatabaseThatHangsIsNotReadyInTime(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *store.Options, options *server.Options) {
		options.Watch.Schema = func(ctx context.Context) (server.SchemaState, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it does not even hear that it is given up
			return "", ctx.Err()
		}
	})
	start := time.Now()
	status, body := s.readyz()
	if took := time.Since(start); took > 2900*time.Millisecond || status != http.StatusServiceUnavailable || !strings.Contains(body, "in time") {
		t.Errorf("after %s: %d %s", took, status, body)
	}
}

func TestAFullPoolIsNoDatabaseThatIsDown(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(opening *store.Options, _ *server.Options) { opening.MaxConns = 1 })
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
	for value(t, s.metrics(), "berth_sql_connections_open", "state", "busy") != 1 {
		time.Sleep(5 * time.Millisecond)
	}
	if status, body := s.readyz(); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestAServiceThatIsAboutToStopIsNotReady(t *testing.T) {
	t.Parallel()
	draining := make(chan struct{})
	s := newWatched(t, func(_ *store.Options, options *server.Options) { options.Watch.Draining = draining })
	if status, body := s.readyz(); status != http.StatusOK {
		t.Errorf("before: %d %s", status, body)
	}
	close(draining)
	if status, body := s.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"draining"`) {
		t.Errorf("then: %d %s", status, body)
	}
	if answer := s.get("/livez"); answer.Code != http.StatusOK {
		t.Errorf("it lives, and answers %d", answer.Code)
	}
	if answer := s.get("/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.39"); answer.Code != http.StatusOK {
		t.Errorf("a request that comes all the same: %d", answer.Code)
	}
}
