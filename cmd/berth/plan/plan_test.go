package plan_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/plan"
	"github.com/berthd/berth/internal/test/dbtest"
)

// hosts inserts 200 providers with inventories of VCPU and MEMORY_MB.
const hosts = `
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n FROM generate_series(1, 200) AS n;
SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), 201);
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, 64, 0, 1, 2147483647, 1, 1
FROM resource_providers AS provider, resource_classes AS class WHERE class.name IN ('VCPU', 'MEMORY_MB');`

var (
	provider = dbtest.NumberedUUID("aa", 1)
	consumer = dbtest.NumberedUUID("cc", 1)
)

// claim returns the body of a claim of VCPU on the provider.
func claim(amount int) []byte {
	return fmt.Appendf(nil, `{"allocations": {"%s": {"resources": {"VCPU": %d}}}, "project_id": "p", "user_id": "u",
		"consumer_generation": null, "consumer_type": "INSTANCE"}`, provider, amount)
}

func newDatabase(t *testing.T) *dbtest.DB {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	if _, err := db.Pool.Exec(t.Context(), hosts); err != nil {
		t.Fatal(err)
	}
	return db
}

func explain(t *testing.T, options plan.Options, text string, body []byte) (*plan.Report, string) {
	t.Helper()
	request, err := plan.ParseRequest(text)
	if err != nil {
		t.Fatal(err)
	}
	request.Body = body
	report, err := plan.Explain(t.Context(), options, request)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := report.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	if options.Text {
		if err := report.WriteDetails(&page); err != nil {
			t.Fatal(err)
		}
	}
	return report, page.String()
}

func names(report *plan.Report) []string {
	var names []string
	for i := range report.Statements {
		names = append(names, report.Statements[i].Name)
	}
	return names
}

func TestCLI_PlanWithExtensions_ReportsBothVersions(t *testing.T) {
	t.Parallel()
	url := newDatabase(t).URL
	for target, want := range map[string]string{"/allocation_candidates?resources=VCPU:1": "1.39, berth 1.1", "/v1/allocations": "1.82"} {
		report, err := plan.Explain(t.Context(), plan.Options{URL: url}, plan.Request{Method: http.MethodGet, Target: target, Extension: "1.1"})
		if err != nil || report.Status != http.StatusOK || report.Microversion != want {
			t.Errorf("%s: %+v, %v, want %s", target, report, err, want)
		}
	}
}

func TestCLI_PlanOfCandidatePost_MatchesGet(t *testing.T) {
	t.Parallel()
	url := newDatabase(t).URL
	var statements []string
	for target, body := range map[string]string{
		"GET /allocation_candidates?resources=VCPU:1&order=id&limit=3": "",
		"POST /allocation_candidates":                                  `{"groups": {"": {"resources": {"VCPU": 1}}}, "order": "id", "limit": 3}`,
	} {
		request, err := plan.ParseRequest(target)
		if err != nil {
			t.Fatal(err)
		}
		request.Extension, request.Body = "1.1", []byte(body)
		report, err := plan.Explain(t.Context(), plan.Options{URL: url}, request)
		if err != nil || report.Status != http.StatusOK || report.Bytes == 0 || len(report.Statements) == 0 {
			t.Fatalf("%s: %+v, %v", target, report, err)
		}
		statements = append(statements, fmt.Sprint(report.Bytes, names(report), report.Statements[0].Arguments))
	}
	if statements[0] != statements[1] {
		t.Errorf("response size and statements = %s\nand %s, want the same", statements[0], statements[1])
	}
}

func TestCLI_PlanOfCandidates_ExplainsWarmStatements(t *testing.T) {
	t.Parallel()
	report, page := explain(t, plan.Options{URL: newDatabase(t).URL, Text: true}, "resources=VCPU:1&limit=10", nil)
	want := []string{"CandidatePage"}
	if report.Status != http.StatusOK || report.Microversion != "1.39" || report.RoundTrips != 1 ||
		!slices.Equal(names(report), want) {
		t.Errorf("report = %d, %s, %d round trips, %v", report.Status, report.Microversion, report.RoundTrips, names(report))
	}
	found := report.Statements[0]
	if got := found.Parts[len(found.Parts)-1]; got != (plan.Part{Name: "result", Rows: 31}) || found.Buffers.Hit == 0 ||
		len(found.Slowest) == 0 || !strings.Contains(found.Text, "Buffers: shared hit=") {
		t.Errorf("found = %+v", found)
	}
	// Planning this statement for the first time takes more than a millisecond.
	if found.Planning >= found.Time {
		t.Errorf("planning time = %v ms, execution %v ms: the statement was cold", found.Planning, found.Time)
	}
	for _, part := range []string{
		"1 round trip, 1 statement", "1  CandidatePage", "found 10 roots 10", "$1 = ",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("page lacks %q:\n%s", part, page)
		}
	}
}

func TestCLI_PlanOfGet_NamesItsQueries(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for request, want := range map[string][]string{
		"GET /resource_providers?resources=VCPU:1": {"ProviderListNames", "ProviderList"},
		"get /usages?project_id=o'neill%5C":        {"UsageList"},
		"/resource_providers/" + provider.String(): {"ProviderShow"},
		"/v1/nodes": {"NodeList"},
		"/":         nil,
		"/allocation_candidates?resources=COWS:1":    {"CandidateNames"},
		"/resource_providers/" + consumer.String():   {"ProviderShow"},
		"/allocations/" + consumer.String() + "?a=1": {"AllocationList"},
	} {
		report, _ := explain(t, plan.Options{URL: db.URL}, request, nil)
		if !slices.Equal(names(report), want) {
			t.Errorf("%s: statements = %v, want %v", request, names(report), want)
		}
	}
}

func TestCLI_PlanOfClaim_ChangesNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	before := dbtest.Snapshot(t, db)
	put := "PUT /allocations/" + consumer.String()
	post := fmt.Appendf(nil, `{"%s": %s}`, consumer, claim(2))
	for _, test := range []struct {
		request string
		body    []byte
		status  int
		failure string
	}{
		{put, claim(2), http.StatusNoContent, ""},
		{"POST /allocations", post, http.StatusNoContent, ""},
		{put, claim(200), http.StatusConflict, "PL012: "},
	} {
		report, page := explain(t, plan.Options{URL: db.URL, Text: true}, test.request, test.body)
		if report.Status != test.status || report.RoundTrips != 1 || len(report.Statements) != 1 {
			t.Fatalf("%s: report = %d, %d round trips, %v", test.request, report.Status, report.RoundTrips, names(report))
		}
		statement := report.Statements[0]
		if !strings.HasPrefix(statement.Error, test.failure) || (test.failure == "") != (statement.Error == "") {
			t.Errorf("%s: error = %q, want %q", test.request, statement.Error, test.failure)
		}
		if !slices.ContainsFunc(statement.Nested, func(n plan.Nested) bool {
			return strings.Contains(n.SQL, "inventories SET used") && n.Calls == 1 && n.Buffers.Hit > 0
		}) || len(statement.NestedText) == 0 || !strings.Contains(page, "Update on inventories") {
			t.Errorf("%s: page lacks the update of the inventory:\n%s", test.request, page)
		}
	}
	if changes := before.Diff(dbtest.Snapshot(t, db)); changes != nil {
		t.Errorf("the plans of claims changed the database:\n%s", strings.Join(changes, "\n"))
	}
}

// newRole creates a role with permission to read and write rows, and returns its database URL.
func newRole(t *testing.T, db *dbtest.DB) (role, at string) {
	t.Helper()
	role = db.Name + "_plan"
	for _, statement := range []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'x'", role),
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %s", role),
		fmt.Sprintf("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO %s", role),
	} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", role))
		if err != nil {
			t.Error(err)
		}
	})
	address, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	parameters := address.Query()
	parameters.Set("user", role)
	parameters.Set("password", "x")
	address.User, address.RawQuery = nil, parameters.Encode()
	return role, address.String()
}

func TestCLI_PlanWithoutAutoExplain_ReportsReason(t *testing.T) {
	t.Parallel()
	_, at := newRole(t, newDatabase(t))
	report, page := explain(t, plan.Options{URL: at}, "PUT /allocations/"+consumer.String(), claim(2))
	if report.Status != http.StatusNoContent || len(report.Statements) != 1 || report.Statements[0].Nested != nil {
		t.Errorf("report = %+v", report)
	}
	if !strings.Contains(report.NoNested, "auto_explain") ||
		!strings.Contains(page, "\nStatements inside functions are not shown") {
		t.Errorf("reason = %q, want auto_explain in it and a note on the page:\n%s", report.NoNested, page)
	}
}

// TestCLI_PlanWithGrantedAutoExplain_ShowsFunctions runs the statements of docs/database-reference.md.
func TestCLI_PlanWithGrantedAutoExplain_ShowsFunctions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	var version int
	if err := db.Pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version < 150000 {
		t.Skip("PostgreSQL 14 has no GRANT SET ON PARAMETER")
	}
	role, at := newRole(t, db)
	statements := []string{fmt.Sprintf("ALTER ROLE %s SET session_preload_libraries = 'auto_explain'", role)}
	for _, name := range []string{
		"log_min_duration", "log_nested_statements", "log_analyze", "log_buffers", "log_timing", "log_format", "log_level",
		"sample_rate", "log_verbose", "log_triggers",
	} {
		statements = append(statements, fmt.Sprintf("GRANT SET ON PARAMETER auto_explain.%s TO %s", name, role))
	}
	for _, statement := range statements {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	report, _ := explain(t, plan.Options{URL: at}, "PUT /allocations/"+consumer.String(), claim(2))
	if report.NoNested != "" || len(report.Statements) != 1 || len(report.Statements[0].Nested) == 0 {
		t.Errorf("report = %+v", report)
	}
}
