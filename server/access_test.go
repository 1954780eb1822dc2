package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/baremetal"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/placement"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// personas are who asks, in the order of the letters.
var personas = []struct {
	name    string
	headers []string
}{
	{"admin", []string{"X-Roles", "admin,member,reader"}},
	{"service", []string{"X-Roles", "service"}},
	{"admin and service", []string{"X-Roles", "admin,service"}},
	{"reader", []string{"X-Roles", "reader"}},
	{"member", []string{"X-Roles", "member"}},
	{"nobody in particular", nil},
	{"admin of the system", []string{"X-Roles", "admin,reader", "OpenStack-System-Scope", "all"}},
	{"service of a domain", []string{"X-Roles", "service,reader", "X-Domain-Id", "d"}},
}

// letters are what the personas may do, with the new defaults and with the deprecated
// checks: y allowed, - denied by the roles, s denied by the scope of the token.
type letters struct{ enforced, legacy string }

var (
	usual       = letters{"yyy --- ss", "yyy --- ss"}
	reshapes    = letters{"-yy --- ss", "yyy --- ss"}
	ownUsages   = letters{"yyy y-- ss", "yyy y-- ss"}
	otherUsages = usual
	machines    = letters{"yyy --- yy", "yyy --- yy"}
	open        = letters{"yyy yyy yy", "yyy yyy yy"}
)

// accessRows say which rule each operation asks and who passes. A new route needs a row.
var accessRows = []struct {
	request, rule string
	letters
}{
	{"GET /", "", open},
	{"GET /v1", "", open},

	{"GET /allocation_candidates", "placement:allocation_candidates:list", usual},
	{"POST /allocations", "placement:allocations:manage", usual},
	{"DELETE /allocations/{consumer_uuid}", "placement:allocations:delete", usual},
	{"GET /allocations/{consumer_uuid}", "placement:allocations:list", usual},
	{"PUT /allocations/{consumer_uuid}", "placement:allocations:update", usual},
	{"POST /reshaper", "placement:reshaper:reshape", reshapes},
	{"GET /resource_classes", "placement:resource_classes:list", usual},
	{"POST /resource_classes", "placement:resource_classes:create", usual},
	{"DELETE /resource_classes/{name}", "placement:resource_classes:delete", usual},
	{"GET /resource_classes/{name}", "placement:resource_classes:show", usual},
	{"PUT /resource_classes/{name}", "placement:resource_classes:update", usual},
	{"GET /resource_providers", "placement:resource_providers:list", usual},
	{"POST /resource_providers", "placement:resource_providers:create", usual},
	{"DELETE /resource_providers/{uuid}", "placement:resource_providers:delete", usual},
	{"GET /resource_providers/{uuid}", "placement:resource_providers:show", usual},
	{"PUT /resource_providers/{uuid}", "placement:resource_providers:update", usual},
	{"GET /resource_providers/{uuid}/aggregates", "placement:resource_providers:aggregates:list", usual},
	{"PUT /resource_providers/{uuid}/aggregates", "placement:resource_providers:aggregates:update", usual},
	{"GET /resource_providers/{uuid}/allocations", "placement:resource_providers:allocations:list", usual},
	{"DELETE /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:delete", usual},
	{"GET /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:list", usual},
	{"POST /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:create", usual},
	{"PUT /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:update", usual},
	{"DELETE /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:delete", usual},
	{"GET /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:show", usual},
	{"PUT /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:update", usual},
	{"DELETE /resource_providers/{uuid}/traits", "placement:resource_providers:traits:delete", usual},
	{"GET /resource_providers/{uuid}/traits", "placement:resource_providers:traits:list", usual},
	{"PUT /resource_providers/{uuid}/traits", "placement:resource_providers:traits:update", usual},
	{"GET /resource_providers/{uuid}/usages", "placement:resource_providers:usages", usual},
	{"GET /traits", "placement:traits:list", usual},
	{"DELETE /traits/{name}", "placement:traits:delete", usual},
	{"GET /traits/{name}", "placement:traits:show", usual},
	{"PUT /traits/{name}", "placement:traits:update", usual},
	{"GET /usages?project_id=mine", "placement:usages", ownUsages},
	{"GET /usages?project_id=other", "placement:usages", otherUsages},
	{"GET /usages", "placement:usages", otherUsages},

	{"GET /v1/allocations", "baremetal:allocation:list_all", machines},
	{"POST /v1/allocations", "baremetal:allocation:create", machines},
	{"DELETE /v1/allocations/{allocation}", "baremetal:allocation:delete", machines},
	{"GET /v1/allocations/{allocation}", "baremetal:allocation:get", machines},
	{"PATCH /v1/allocations/{allocation}", "baremetal:allocation:update", machines},
	{"POST /v1/allocations/{allocation}/retry", "baremetal:allocation:update", machines},
	{"GET /v1/conductors", "baremetal:conductor:get", machines},
	{"GET /v1/conductors/{hostname}", "baremetal:conductor:get", machines},
	{"GET /v1/drivers", "baremetal:driver:get", machines},
	{"GET /v1/drivers/{driver}", "baremetal:driver:get", machines},
	{"GET /v1/drivers/{driver}/properties", "baremetal:driver:get_properties", machines},
	{"GET /v1/nodes", "baremetal:node:list_all", machines},
	{"POST /v1/nodes", "baremetal:node:create", machines},
	{"GET /v1/nodes/detail", "baremetal:node:list_all", machines},
	{"GET /v1/nodes/validate", "baremetal:node:validate", machines},
	{"DELETE /v1/nodes/{node}", "baremetal:node:delete", machines},
	{"GET /v1/nodes/{node}", "baremetal:node:get", machines},
	{"PATCH /v1/nodes/{node}", "baremetal:node:update", machines},
	{"DELETE /v1/nodes/{node}/allocation", "baremetal:allocation:delete", machines},
	{"GET /v1/nodes/{node}/allocation", "baremetal:allocation:get", machines},
	{"DELETE /v1/nodes/{node}/maintenance", "baremetal:node:clear_maintenance", machines},
	{"PUT /v1/nodes/{node}/maintenance", "baremetal:node:set_maintenance", machines},
	{"GET /v1/nodes/{node}/ports", "baremetal:port:list_all", machines},
	{"GET /v1/nodes/{node}/states", "baremetal:node:get_states", machines},
	{"PUT /v1/nodes/{node}/states/power", "baremetal:node:set_power_state", machines},
	{"PUT /v1/nodes/{node}/states/provision", "baremetal:node:set_provision_state", machines},
	{"DELETE /v1/nodes/{node}/traits", "baremetal:node:traits:delete", machines},
	{"GET /v1/nodes/{node}/traits", "baremetal:node:traits:list", machines},
	{"PUT /v1/nodes/{node}/traits", "baremetal:node:traits:set", machines},
	{"DELETE /v1/nodes/{node}/traits/{trait}", "baremetal:node:traits:delete", machines},
	{"PUT /v1/nodes/{node}/traits/{trait}", "baremetal:node:traits:set", machines},
	{"GET /v1/nodes/{node}/validate", "baremetal:node:validate", machines},
	{"GET /v1/ports", "baremetal:port:list_all", machines},
	{"POST /v1/ports", "baremetal:port:create", machines},
	{"GET /v1/ports/detail", "baremetal:port:list_all", machines},
	{"DELETE /v1/ports/{port}", "baremetal:port:delete", machines},
	{"GET /v1/ports/{port}", "baremetal:port:get", machines},
	{"PATCH /v1/ports/{port}", "baremetal:port:update", machines},
}

// TestEveryOperationIsForThoseItIsMeantFor asks for every operation as everybody, with
// both sets of defaults. What is asked for does not exist and bodies say nothing: who
// passes the policy is told so by what stands behind it.
func TestEveryOperationIsForThoseItIsMeantFor(t *testing.T) {
	t.Parallel()
	handlers := map[bool]http.Handler{}
	for _, enforced := range []bool{true, false} {
		handlers[enforced] = handlerWith(t, policy.New(policy.Options{EnforceNewDefaults: enforced}))
	}
	covered := map[string]bool{}
	for _, row := range accessRows {
		method, target, _ := strings.Cut(row.request, " ")
		path, query, _ := strings.Cut(target, "?")
		for _, op := range server.Operations() {
			if op.Method != method || op.Path != path {
				continue
			}
			covered[op.ID] = true
			if op.Rule != row.rule {
				t.Errorf("%s asks %s, want %s", op.ID, op.Rule, row.rule)
			}
			t.Run(op.ID+" "+query, func(t *testing.T) {
				t.Parallel()
				for enforced, want := range map[bool]string{true: row.enforced, false: row.legacy} {
					if got := whoMay(t, handlers[enforced], op, query); got != strings.ReplaceAll(want, " ", "") {
						t.Errorf("new defaults enforced: %t: got %s, want %s", enforced, got, want)
					}
				}
			})
		}
	}
	for _, op := range server.Operations() {
		if !covered[op.ID] {
			t.Errorf("%s (%s %s) has no row", op.ID, op.Method, op.Path)
		}
	}
}

// handlerWith is a service with both APIs and one policy.
func handlerWith(t *testing.T, rules *policy.Policy) http.Handler {
	t.Helper()
	data, err := store.Open(t.Context(), store.Options{URL: dbtest.Guarded(t).URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	return server.New(server.Options{
		Store: data, Log: slog.New(slog.DiscardHandler), Policy: rules, BaremetalPolicy: rules, MaxBodyBytes: 1 << 20,
		Baremetal: &server.Baremetal{Conductor: "berth-1", Silence: time.Minute},
	})
}

// whoMay gives the letters of an operation.
func whoMay(t *testing.T, handler http.Handler, op *route.Operation, query string) string {
	t.Helper()
	var all strings.Builder
	for _, persona := range personas {
		answer := askAs(handler, op, query, persona.headers)
		body := answer.Body.String()
		byRoles := strings.Contains(body, "Policy does not allow "+op.Rule+" to be performed.")
		switch {
		case answer.Code == http.StatusForbidden && byRoles:
			all.WriteByte('-')
		case answer.Code == http.StatusForbidden && strings.Contains(body, op.Rule):
			all.WriteByte('s')
		case answer.Code < http.StatusInternalServerError && answer.Code != http.StatusUnauthorized && answer.Code != http.StatusForbidden &&
			answer.Code != http.StatusMethodNotAllowed && answer.Code != http.StatusNotAcceptable && answer.Code != http.StatusUnsupportedMediaType:
			all.WriteByte('y')
		default:
			t.Errorf("%s: status %d: %s", persona.name, answer.Code, body)
		}
	}
	return all.String()
}

func askAs(handler http.Handler, op *route.Operation, query string, headers []string) *httptest.ResponseRecorder {
	segments := strings.Split(op.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "CUSTOM_" + strings.ToUpper(strings.Trim(segment, "{}"))
		}
	}
	r := httptest.NewRequest(op.Method, strings.Join(segments, "/")+"?"+query, strings.NewReader("{}"))
	r.Header.Set("X-Auth-Token", "u:mine")
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(op.Path, "/v1") {
		r.Header.Set("X-OpenStack-Ironic-API-Version", newest(op, baremetal.API().Max))
		r.Header.Set(microversion.Header, microversion.ExtensionService+" "+microversion.ExtensionVersion)
	} else {
		r.Header.Set(microversion.Header, "placement "+newest(op, placement.API().Max))
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// newest is the last version that has an operation.
func newest(op *route.Operation, latest microversion.Version) string {
	if last := op.Variants[len(op.Variants)-1]; last.Gone {
		return (last.Since - 1).String()
	}
	return latest.String()
}

// TestPolicyFilesRuleBothAPIsWhileTheyServe changes a file under a running service.
func TestPolicyFilesRuleBothAPIsWhileTheyServe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(role string, age time.Duration) {
		text := fmt.Sprintf("%s: role:%s\n%s: role:%[2]s\n", policy.ProvidersList, role, policy.NodesList)
		at := time.Now().Add(-age)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("reader", time.Hour)
	rules, problems, err := policy.Open(policy.Options{EnforceNewDefaults: true}, policy.Files{Main: file})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	handler := handlerWith(t, rules)
	statuses := func() (all []int) {
		for _, op := range server.Operations() {
			if op.Rule != policy.ProvidersList && op.ID != "node-list" {
				continue
			}
			for _, role := range []string{"reader", "member", "admin"} {
				all = append(all, askAs(handler, op, "", []string{"X-Roles", role}).Code)
			}
		}
		return all
	}
	if got := statuses(); !slices.Equal(got, []int{200, 403, 403, 200, 403, 403}) {
		t.Errorf("at first: %v", got)
	}
	write("member", time.Minute)
	if changed, _, err := rules.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if got := statuses(); !slices.Equal(got, []int{403, 200, 403, 403, 200, 403}) {
		t.Errorf("after the change: %v", got)
	}
}
