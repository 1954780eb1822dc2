package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
)

// personas lists the callers, in the order of the letters.
var personas = []struct {
	name    string
	headers []string
}{
	{"admin", []string{"X-Roles", "admin,member,reader"}},
	{"service", []string{"X-Roles", "service"}},
	{"admin and service", []string{"X-Roles", "admin,service"}},
	{"reader", []string{"X-Roles", "reader"}},
	{"member", []string{"X-Roles", "member"}},
	{"anonymous", nil},
	{"admin of the system", []string{"X-Roles", "admin,reader", "OpenStack-System-Scope", "all"}},
	{"service of a domain", []string{"X-Roles", "service,reader", "X-Domain-Id", "d"}},
}

// letters has the expected decisions for the personas, with the new defaults and with the deprecated
// checks: y permitted, - denied by the roles, s denied by the scope of the token.
type letters struct{ enforced, legacy string }

var (
	usual       = letters{"yyy --- ss", "yyy --- ss"}
	reshapes    = letters{"-yy --- ss", "yyy --- ss"}
	onlyAdmins  = letters{"y-y --- ss", "y-y --- ss"}
	ownUsages   = letters{"yyy y-- ss", "yyy y-- ss"}
	otherUsages = usual
	// For a caller that may not see a node or allocation, everything on it does not exist.
	hidden      = letters{"yyy yyy ys", "yyy yyy ys"}
	ownThings   = letters{"yyy yy- ys", "yyy yy- ys"}
	ownNodes    = letters{"yyy --- ys", "yyy --- ys"}
	allocations = letters{"y-y -y- ys", "yyy -y- ys"}
	ofSystem    = letters{"sss sss ys", "sss sss ys"}
	open        = letters{"yyy yyy yy", "yyy yyy yy"}
)

// accessRows lists the rule of each operation and the expected decisions. A new route needs a row.
var accessRows = []struct {
	request, rule string
	letters
}{
	{"GET /", "", open},
	{"GET /v1", "", open},

	{"GET /allocation_candidates", "placement:allocation_candidates:list", usual},
	{"POST /allocation_candidates", "placement:allocation_candidates:list", usual},
	{"POST /allocations", "placement:allocations:manage", usual},
	{"DELETE /allocations/{consumer_uuid}", "placement:allocations:delete", usual},
	{"GET /allocations/{consumer_uuid}", "placement:allocations:list", usual},
	{"PUT /allocations/{consumer_uuid}", "placement:allocations:update", usual},
	{"PATCH /allocations/{consumer_uuid}", "placement:allocations:update", usual},
	{"POST /capacity", "berth:capacity:show", usual},
	{"POST /claims", "berth:claims:create", usual},
	{"POST /leases", "berth:leases:renew", usual},
	{"GET /history", "berth:history:list", usual},
	{"GET /events", "berth:events:watch", usual},
	{"GET /history/settings", "berth:history:list", usual},
	{"PUT /history/settings", "berth:history:update", onlyAdmins},
	{"GET /consumers", "berth:consumers:list", otherUsages},
	{"GET /consumers?project_id=mine", "berth:consumers:list", ownUsages},
	{"GET /consumers?project_id=other", "berth:consumers:list", otherUsages},
	{"GET /consumers/{consumer_uuid}", "berth:consumers:show", usual},
	{"POST /reshaper", "placement:reshaper:reshape", reshapes},
	{"PATCH /reshaper", "placement:reshaper:reshape", reshapes},
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
	{"PATCH /resource_providers/{uuid}/aggregates", "placement:resource_providers:aggregates:update", usual},
	{"GET /resource_providers/{uuid}/allocations", "placement:resource_providers:allocations:list", usual},
	{"DELETE /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:delete", usual},
	{"GET /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:list", usual},
	{"POST /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:create", usual},
	{"PUT /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:update", usual},
	{"PATCH /resource_providers/{uuid}/inventories", "placement:resource_providers:inventories:update", usual},
	{"DELETE /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:delete", usual},
	{"GET /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:show", usual},
	{"PUT /resource_providers/{uuid}/inventories/{resource_class}", "placement:resource_providers:inventories:update", usual},
	{"DELETE /resource_providers/{uuid}/traits", "placement:resource_providers:traits:delete", usual},
	{"GET /resource_providers/{uuid}/traits", "placement:resource_providers:traits:list", usual},
	{"PUT /resource_providers/{uuid}/traits", "placement:resource_providers:traits:update", usual},
	{"PATCH /resource_providers/{uuid}/traits", "placement:resource_providers:traits:update", usual},
	{"GET /resource_providers/{uuid}/tree", "berth:tree:show", usual},
	{"PUT /resource_providers/{uuid}/tree", "berth:tree:update", reshapes},
	{"GET /resource_providers/{uuid}/usages", "placement:resource_providers:usages", usual},
	{"GET /capacity", "berth:capacity:show", usual},
	{"GET /explanations", "berth:explanations:list", usual},
	{"GET /aggregates", "berth:aggregates:list", usual},
	{"GET /explanations/{request_id}", "berth:explanations:show", usual},
	{"GET /traits", "placement:traits:list", usual},
	{"DELETE /traits/{name}", "placement:traits:delete", usual},
	{"GET /traits/{name}", "placement:traits:show", usual},
	{"PUT /traits/{name}", "placement:traits:update", usual},
	{"GET /usages?project_id=mine", "placement:usages", ownUsages},
	{"GET /usages?project_id=other", "placement:usages", otherUsages},
	{"GET /usages", "placement:usages", otherUsages},

	{"GET /v1/allocations", "baremetal:allocation:list_all", ownThings},
	{"POST /v1/allocations", "baremetal:allocation:create", allocations},
	{"DELETE /v1/allocations/{allocation}", "baremetal:allocation:delete", hidden},
	{"GET /v1/allocations/{allocation}", "baremetal:allocation:get", hidden},
	{"PATCH /v1/allocations/{allocation}", "baremetal:allocation:update", hidden},
	{"GET /v1/allocations/{allocation}/explanation", "baremetal:allocation:get", hidden},
	{"POST /v1/allocations/{allocation}/retry", "baremetal:allocation:update", hidden},
	{"GET /v1/conductors", "baremetal:conductor:get", ofSystem},
	{"GET /v1/conductors/{hostname}", "baremetal:conductor:get", ofSystem},
	{"GET /v1/drivers", "baremetal:driver:get", ofSystem},
	{"GET /v1/drivers/{driver}", "baremetal:driver:get", ofSystem},
	{"GET /v1/drivers/{driver}/properties", "baremetal:driver:get_properties", ofSystem},
	{"GET /v1/nodes", "baremetal:node:list_all", ownThings},
	{"POST /v1/nodes", "baremetal:node:create", ownNodes},
	{"GET /v1/nodes/detail", "baremetal:node:list_all", ownThings},
	{"GET /v1/nodes/validate", "baremetal:node:validate", hidden},
	{"DELETE /v1/nodes/{node}", "baremetal:node:delete", hidden},
	{"GET /v1/nodes/{node}", "baremetal:node:get", hidden},
	{"PATCH /v1/nodes/{node}", "baremetal:node:update", hidden},
	{"DELETE /v1/nodes/{node}/allocation", "baremetal:allocation:delete", hidden},
	{"GET /v1/nodes/{node}/allocation", "baremetal:allocation:get", hidden},
	{"DELETE /v1/nodes/{node}/maintenance", "baremetal:node:clear_maintenance", hidden},
	{"PUT /v1/nodes/{node}/maintenance", "baremetal:node:set_maintenance", hidden},
	{"GET /v1/nodes/{node}/ports", "baremetal:port:list_all", hidden},
	{"GET /v1/nodes/{node}/states", "baremetal:node:get_states", hidden},
	{"PUT /v1/nodes/{node}/states/power", "baremetal:node:set_power_state", hidden},
	{"PUT /v1/nodes/{node}/states/provision", "baremetal:node:set_provision_state", hidden},
	{"DELETE /v1/nodes/{node}/traits", "baremetal:node:traits:delete", hidden},
	{"GET /v1/nodes/{node}/traits", "baremetal:node:traits:list", hidden},
	{"PUT /v1/nodes/{node}/traits", "baremetal:node:traits:set", hidden},
	{"DELETE /v1/nodes/{node}/traits/{trait}", "baremetal:node:traits:delete", hidden},
	{"PUT /v1/nodes/{node}/traits/{trait}", "baremetal:node:traits:set", hidden},
	{"GET /v1/nodes/{node}/validate", "baremetal:node:validate", hidden},
	{"GET /v1/ports", "baremetal:port:list_all", ownThings},
	{"POST /v1/ports", "baremetal:port:create", ownNodes},
	{"GET /v1/ports/detail", "baremetal:port:list_all", ownThings},
	{"DELETE /v1/ports/{port}", "baremetal:port:delete", hidden},
	{"GET /v1/ports/{port}", "baremetal:port:get", hidden},
	{"PATCH /v1/ports/{port}", "baremetal:port:update", hidden},
}

// TestPolicy_Operations_GrantExpectedRoles sends a request for every operation as every persona, with both
// sets of defaults. The targets do not exist and bodies are empty, so the status shows whether the request
// passed the policy.
func TestPolicy_Operations_GrantExpectedRoles(t *testing.T) {
	t.Parallel()
	handlers := map[bool]http.Handler{}
	for _, enforced := range []bool{true, false} {
		handlers[enforced] = handlerWith(t, policy.New(policy.Options{EnforceNewDefaults: enforced, EnforceScope: true}))
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
						t.Errorf("EnforceNewDefaults = %t: decisions = %s, want %s", enforced, got, want)
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

// handlerWith returns a server with both APIs and one policy.
func handlerWith(t *testing.T, rules *policy.Policy, change ...func(*server.Options)) http.Handler {
	t.Helper()
	return servertest.New(t, servertest.Options{Server: func(options *server.Options) {
		servertest.Baremetal("berth-1")(options)
		options.Policy, options.BaremetalPolicy = rules, rules
		for _, add := range change {
			add(options)
		}
	}}).Handler
}

// whoMay returns the letters of an operation.
func whoMay(t *testing.T, handler http.Handler, op *route.Operation, query string) string {
	t.Helper()
	var all strings.Builder
	for _, persona := range personas {
		answer := askAs(handler, op, query, noauth2(persona.headers))
		all.WriteByte(letterOf(t, persona.name, op, answer))
	}
	return all.String()
}

// letterOf returns the letter of a response.
func letterOf(t *testing.T, persona string, op *route.Operation, answer *httptest.ResponseRecorder) byte {
	t.Helper()
	body := answer.Body.String()
	switch {
	case answer.Code == http.StatusForbidden && strings.Contains(body, "Policy does not allow "+op.Rule+" to be performed."):
		return '-'
	case answer.Code == http.StatusForbidden && strings.Contains(body, op.Rule):
		return 's'
	case answer.Code < http.StatusInternalServerError && answer.Code != http.StatusUnauthorized && answer.Code != http.StatusForbidden &&
		answer.Code != http.StatusMethodNotAllowed && answer.Code != http.StatusNotAcceptable && answer.Code != http.StatusUnsupportedMediaType:
		return 'y'
	default:
		t.Errorf("%s: status %d: %s", persona, answer.Code, body)
		return '?'
	}
}

// noauth2 returns headers with the token of a user of the project mine.
func noauth2(headers []string) []string {
	return append([]string{"X-Auth-Token", "u:mine"}, headers...)
}

// askAs sends a request for an operation with the given headers, which identify the caller.
func askAs(handler http.Handler, op *route.Operation, query string, headers []string) *httptest.ResponseRecorder {
	segments := strings.Split(op.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "CUSTOM_" + strings.ToUpper(strings.Trim(segment, "{}"))
		}
	}
	r := httptest.NewRequest(op.Method, strings.Join(segments, "/")+"?"+query, strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(op.Path, "/v1") {
		r.Header.Set("X-OpenStack-Ironic-API-Version", newest(op, baremetal.API(nil).Max).String())
		r.Header.Set(microversion.Header, microversion.ExtensionMax.HeaderValue())
	} else {
		r.Header.Set(microversion.Header, newest(op, microversion.Berth(uint8(microversion.ExtensionMax))).HeaderValue())
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// newest returns the last version that has an operation.
func newest(op *route.Operation, latest microversion.Version) microversion.Version {
	if last := op.Variants[len(op.Variants)-1]; last.Gone {
		return last.Since - 1
	}
	return latest
}

// TestPolicy_FileChanged_AppliesToBothAPIs changes a file while the server runs.
func TestPolicy_FileChanged_AppliesToBothAPIs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(role string, age time.Duration) {
		text := fmt.Sprintf("%s: role:%s\n%s: role:%[2]s\n%[4]s: role:%[2]s\n", policy.ProvidersList, role, policy.NodesList, policy.NodesListOwn)
		at := time.Now().Add(-age)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("reader", time.Hour)
	rules, problems, err := policy.Open(policy.Defaults(), policy.Files{Main: file})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	handler := handlerWith(t, rules)
	// In the Bare Metal API the role admin implies member, and member implies reader.
	statuses := func() (all []int) {
		for _, op := range server.Operations() {
			if op.Rule != policy.ProvidersList && op.ID != "node-list" {
				continue
			}
			for _, role := range []string{"reader", "member", "admin"} {
				all = append(all, askAs(handler, op, "", noauth2([]string{"X-Roles", role})).Code)
			}
		}
		return all
	}
	if got := statuses(); !slices.Equal(got, []int{200, 403, 403, 200, 200, 200}) {
		t.Errorf("at first: %v", got)
	}
	write("member", time.Minute)
	if changed, _, err := rules.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if got := statuses(); !slices.Equal(got, []int{403, 200, 403, 403, 200, 200}) {
		t.Errorf("statuses after the change = %v", got)
	}
}
