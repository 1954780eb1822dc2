package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/session"
	"github.com/berthd/berth/server/data/store"
)

// harmlessSettings are settings of a database with which all answers stay the same, also behind a transaction pooler.
var harmlessSettings = []string{
	"client_encoding = latin1", "standard_conforming_strings = off", "datestyle = 'german, dmy'",
	"default_transaction_isolation = 'repeatable read'", "default_transaction_isolation = serializable", "default_transaction_deferrable = on",
	"intervalstyle = iso_8601", "timezone = 'Asia/Kathmandu'", "lc_messages = 'C'", "lc_numeric = 'C'", "xmlbinary = hex", "xmloption = document",
	"row_security = off", "check_function_bodies = off", "quote_all_identifiers = on", "backslash_quote = off", "escape_string_warning = off",
	"client_min_messages = debug1", "default_statistics_target = 1", "default_toast_compression = pglz", "synchronize_seqscans = on",
	"plan_cache_mode = force_custom_plan", "jit = on", "jit_above_cost = 0", "enable_indexscan = off", "enable_bitmapscan = off",
	"enable_hashjoin = off", "enable_mergejoin = off", "enable_nestloop = off", "enable_seqscan = off", "enable_sort = off", "enable_material = off",
	"from_collapse_limit = 1", "join_collapse_limit = 1", "geqo_threshold = 2", "constraint_exclusion = on", "parallel_setup_cost = 0",
	"min_parallel_table_scan_size = 0", "max_parallel_workers_per_gather = 0", "force_parallel_mode = on", "debug_parallel_query = on",
	"work_mem = '64kB'", "temp_buffers = 100", "temp_file_limit = 0", "gin_fuzzy_search_limit = 1", "max_stack_depth = '100kB'",
	"plpgsql.variable_conflict = use_column", "plpgsql.extra_errors = 'all'", "plpgsql.extra_warnings = 'all'", "plpgsql.check_asserts = off",
	"session_replication_role = local", "synchronous_commit = on", "synchronous_commit = off", "deadlock_timeout = '10ms'",
	"statement_timeout = '20s'", "lock_timeout = '10s'", "idle_in_transaction_session_timeout = '20s'", "track_activities = off", "compute_query_id = on",
}

// settingsForPoolers are settings that Berth overrides, but not behind a transaction pooler: there it does not start.
var settingsForPoolers = []string{
	"bytea_output = escape", "extra_float_digits = -15", "array_nulls = off", "transform_null_equals = on", "exit_on_error = on",
}

// unsuitableSettings are settings with which Berth does not start.
var unsuitableSettings = []string{"search_path = missing", "session_replication_role = replica", "default_transaction_read_only = on"}

// TestSettings_OfDatabase_ChangeNoAnswer runs one scenario with each setting, directly and as behind a transaction pooler,
// and compares all answers with those of a database without it.
func TestSettings_OfDatabase_ChangeNoAnswer(t *testing.T) {
	t.Parallel()
	want, err := answersWith(t, dbtest.New(t), false)
	if err != nil {
		t.Fatal(err)
	}
	isUnsuitable := map[string][2]bool{}
	for _, setting := range settingsForPoolers {
		isUnsuitable[setting] = [2]bool{false, true}
	}
	for _, setting := range unsuitableSettings {
		isUnsuitable[setting] = [2]bool{true, true}
	}
	settings := append(append([]string{}, harmlessSettings...), append(settingsForPoolers, unsuitableSettings...)...)
	for _, setting := range settings {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			configure(t, db, setting)
			for way, pooled := range []bool{false, true} {
				got, err := answersWith(t, db, pooled)
				name, _, _ := strings.Cut(setting, " ")
				switch {
				case isUnsuitable[setting][way]:
					if !errors.Is(err, session.ErrUnsuitable) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "; and ") {
						t.Errorf("pooler %t: error = %v, want one sentence about %s", pooled, err, name)
					}
				case err != nil:
					t.Errorf("pooler %t: error = %v", pooled, err)
				case got != want:
					t.Errorf("pooler %t: got\n%s\nwant\n%s", pooled, got, want)
				}
			}
		})
	}
}

// configure sets a setting of a database. It skips the test if this PostgreSQL has no such setting, or if the role may not
// set it.
func configure(t *testing.T, db *dbtest.DB, setting string) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), "LOAD 'plpgsql'; ALTER DATABASE "+pgx.Identifier{db.Name}.Sanitize()+" SET "+setting)
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok && (reported.Code == "42704" || reported.Code == "42501") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// settingSteps are requests: method, path and body. The last ones delete all that the others create.
var settingSteps = [][3]string{
	{"POST", "/resource_providers", `{"name": "a\\b 'é", "uuid": "5f0d2a1e-0001-4000-8000-000000000001"}`},
	{"POST", "/resource_providers", `{"name": "below", "uuid": "5f0d2a1e-0002-4000-8000-000000000001", "parent_provider_uuid": "5f0d2a1e-0001-4000-8000-000000000001"}`},
	{"PUT", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/inventories", `{"resource_provider_generation": 0, "inventories": {
		"VCPU": {"total": 16, "allocation_ratio": 1.2345678901234567}, "MEMORY_MB": {"total": 4096, "reserved": 512}}}`},
	{"PUT", "/traits/CUSTOM_GOLD", ""},
	{"PUT", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/traits", `{"resource_provider_generation": 1, "traits": ["CUSTOM_GOLD", "HW_CPU_X86_VMX"]}`},
	{"PUT", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/aggregates", `{"resource_provider_generation": 2, "aggregates": ["5f0d2a1e-0003-4000-8000-000000000001"]}`},
	{"PUT", "/allocations/5f0d2a1e-0004-4000-8000-000000000001", `{"allocations": {"5f0d2a1e-0001-4000-8000-000000000001": {"resources": {"VCPU": 2, "MEMORY_MB": 64}}},
		"project_id": "prøject", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`},
	{"PUT", "/allocations/5f0d2a1e-0005-4000-8000-000000000001", `{"allocations": {"5f0d2a1e-0001-4000-8000-000000000001": {"resources": {"VCPU": 20}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`},
	{"GET", "/resource_providers?name=a%5Cb%20%27%C3%A9", ""},
	{"GET", "/resource_providers?resources=VCPU:1&required=CUSTOM_GOLD&member_of=5f0d2a1e-0003-4000-8000-000000000001", ""},
	{"GET", "/resource_providers?include=inventories,usages,traits,aggregates&total=true", ""},
	{"GET", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/inventories", ""},
	{"GET", "/resource_providers/5f0d2a1e-0002-4000-8000-000000000001", ""},
	{"GET", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/tree?include=inventories,usages,traits,aggregates,sharing,consumers", ""},
	{"GET", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001/allocations", ""},
	{"GET", "/allocations/5f0d2a1e-0004-4000-8000-000000000001", ""},
	{"GET", "/consumers?total=true&include=allocations&created_after=2020-01-01T00:00:00Z", ""},
	{"GET", "/usages?project_id=pr%C3%B8ject", ""},
	{"GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:8&required=CUSTOM_GOLD", ""},
	{"GET", "/allocation_candidates?resources=VCPU:18", ""},
	{"GET", "/capacity?resource_class=in:VCPU,MEMORY_MB&group_by=tree", ""},
	{"DELETE", "/allocations/5f0d2a1e-0004-4000-8000-000000000001", ""},
	{"DELETE", "/resource_providers/5f0d2a1e-0002-4000-8000-000000000001", ""},
	{"DELETE", "/resource_providers/5f0d2a1e-0001-4000-8000-000000000001", ""},
	{"DELETE", "/traits/CUSTOM_GOLD", ""},
}

// changing are the parts of an answer that differ in each run: times and request ids. Only their form is compared.
var changing = regexp.MustCompile(`\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?|req-[0-9a-f-]{36}`)

// answersWith returns all answers of the scenario. The error is that of opening the store.
func answersWith(t *testing.T, db *dbtest.DB, pooled bool) (string, error) {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 2, Pooler: pooled})
	if err != nil {
		return "", err
	}
	defer opened.Close()
	if err := opened.SyncStandardNames(t.Context()); err != nil {
		return "", err
	}
	handler := servertest.Handlers(opened, func(options *server.Options) { options.Placement.Candidates.Randomize = false }).Public
	var answers strings.Builder
	for _, step := range settingSteps {
		r := httptest.NewRequestWithContext(t.Context(), step[0], step[1], strings.NewReader(step[2]))
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
		r.Header.Set("Content-Type", "application/json")
		if step[0] == http.MethodPut && strings.HasPrefix(step[1], "/allocations/") {
			r.Header.Set("Idempotency-Key", step[1]+fmt.Sprint(pooled))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", step[0], step[1], w.Code, body)
		}
		fmt.Fprintf(&answers, "%s %s: %d %s\n", step[0], step[1], w.Code, changing.ReplaceAllString(string(body), "…"))
	}
	return answers.String(), nil
}

// TestReadiness_WritesMayBeLost_SaysSo: the server of the tests may have other such settings.
func TestReadiness_WritesMayBeLost_SaysSo(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	configure(t, db, "zero_damaged_pages = on")
	made := servertest.New(t, servertest.Options{DB: db})
	w := httptest.NewRecorder()
	made.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `"durability":"acknowledged writes may be lost: `) ||
		!strings.Contains(body, "zero_damaged_pages = on") {
		t.Errorf("status %d, %s", w.Code, body)
	}
}

// TestReadiness_UnsuitableSetting_Returns503: an operator changes the database while the server runs.
func TestReadiness_UnsuitableSetting_Returns503(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	made := servertest.New(t, servertest.Options{DB: db})
	configure(t, db, "session_replication_role = replica")
	w := httptest.NewRecorder()
	made.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(body, "Berth cannot work with a setting of the database") {
		t.Errorf("status %d, %s", w.Code, body)
	}
}
