package baremetal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// persona is a caller: the headers that identify it without Keystone.
type persona struct{ token, roles, domain, system string }

// These are the callers. Each project caller has a separate project; "mine" owns one node and leases another.
var (
	systemAdmin   = persona{token: "root", roles: "admin,member,reader", system: "all"}
	systemMember  = persona{token: "operator", roles: "member,reader", system: "all"}
	systemReader  = persona{token: "auditor", roles: "reader", system: "all"}
	systemService = persona{token: "nova", roles: "service", system: "all"}
	projectAdmin  = persona{token: "ada:mine", roles: "admin,member,reader"}
	projectMember = persona{token: "bob:mine", roles: "member,reader"}
	projectReader = persona{token: "eve:mine", roles: "reader"}
	otherProject  = persona{token: "mallory:elsewhere", roles: "admin,member,reader"}
	domainAdmin   = persona{token: "dora", roles: "admin,member,reader", domain: "default"}
	roleless      = persona{token: "joe:mine", roles: ""}
)

// as sends a request of a caller.
func (s *service) as(who persona, method, target string, body string) *response {
	s.t.Helper()
	return s.asAt("", who, method, target, body)
}

// asAt is as with a value of the common header.
func (s *service) asAt(version string, who persona, method, target, body string) *response {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	if version != "" {
		r.Header.Set("OpenStack-API-Version", version)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", who.token)
	r.Header.Set("X-Roles", who.roles)
	if who.domain != "" {
		r.Header.Set("X-Domain-Id", who.domain)
	}
	if who.system != "" {
		r.Header.Set("OpenStack-System-Scope", who.system)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	got := &response{t: s.t, what: who.token + ": " + method + " " + target + " " + body, status: w.Code, header: w.Header(), raw: w.Body.String()}
	if got.raw != "" {
		if err := json.Unmarshal(w.Body.Bytes(), &got.body); err != nil {
			s.t.Fatalf("%s: %v in %s", got.what, err, got.raw)
		}
	}
	return got
}

// owned creates a node that the project mine owns, one that it leases, and one of another project. Each node has a
// port.
func (s *service) owned() (ports map[string]string) {
	ports = map[string]string{}
	for i, node := range []map[string]any{
		{"name": "own", "owner": "mine", "resource_class": "gold"}, {"name": "leased", "owner": "other", "lessee": "mine", "resource_class": "gold"},
		{"name": "foreign", "owner": "other", "resource_class": "gold"}, {"name": "common", "resource_class": "gold"},
	} {
		ports[node["name"].(string)] = s.port(s.machine(node), "02:00:00:00:00:0"+string(rune('1'+i)))
	}
	return ports
}

// statuses sends a request of each caller and compares the statuses.
func (s *service) statuses(method, target, body string, want map[persona]int) {
	s.t.Helper()
	for who, status := range want {
		if got := s.as(who, method, target, body); got.status != status {
			s.t.Errorf("%s: status = %d, want %d: %s", got.what, got.status, status, got.raw)
		}
	}
}

// names returns a member of each element in a list.
func names(list any, member string) []string {
	var all []string
	for _, one := range list.([]any) {
		name, _ := one.(map[string]any)[member].(string)
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestPolicy_DomainToken_IsNoAdministrator(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ports := s.owned()
	for _, request := range []string{
		"GET /v1/nodes", "GET /v1/nodes/detail", "POST /v1/nodes {\"driver\": \"fake-hardware\"}", "GET /v1/nodes/own", "GET /v1/nodes/unknown",
		"PATCH /v1/nodes/own []", "DELETE /v1/nodes/own", "GET /v1/nodes/own/states", "PUT /v1/nodes/own/states/power {\"target\":\"power on\"}",
		"PUT /v1/nodes/own/states/provision {\"target\":\"manage\"}", "PUT /v1/nodes/own/maintenance {}", "DELETE /v1/nodes/own/maintenance",
		"GET /v1/nodes/own/traits", "PUT /v1/nodes/own/traits {\"traits\":[]}", "GET /v1/nodes/own/ports", "GET /v1/nodes/own/validate",
		"GET /v1/nodes/validate?node=own", "GET /v1/nodes/own/allocation", "GET /v1/ports", "GET /v1/ports/" + ports["own"],
		"DELETE /v1/ports/" + ports["own"], "GET /v1/allocations", "POST /v1/allocations {\"resource_class\":\"gold\"}", "GET /v1/allocations/x",
		"DELETE /v1/allocations/x", "GET /v1/drivers", "GET /v1/conductors",
	} {
		parts := append(strings.SplitN(request, " ", 3), "")
		s.statuses(parts[0], parts[1], parts[2], map[persona]int{domainAdmin: http.StatusForbidden})
	}
}

func TestPolicy_NodeOfOwnerLesseeAndStranger_DecidesAsIronic(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ports := s.owned()
	const hidden, forbidden = http.StatusNotFound, http.StatusForbidden
	for _, test := range []struct {
		method, path, body                            string // %s is the node
		status                                        int
		ownReader, ownMember, leasedMember, leasedAdm int
	}{
		{http.MethodGet, "/v1/nodes/%s", "", 200, 200, 200, 200, 200},
		{http.MethodGet, "/v1/nodes/%s/states", "", 200, 200, 200, 200, 200},
		{http.MethodGet, "/v1/nodes/%s/traits", "", 200, 200, 200, 200, 200},
		{http.MethodGet, "/v1/nodes/%s/ports", "", 200, 200, 200, 200, 200},
		{http.MethodGet, "/v1/nodes/%s/validate", "", 200, forbidden, 200, forbidden, 200},
		{http.MethodGet, "/v1/nodes/validate?node=%s", "", 200, forbidden, 200, forbidden, 200},
		{http.MethodPut, "/v1/nodes/%s/states/power", `{"target": "power on"}`, 202, forbidden, 202, 202, 202},
		{http.MethodPut, "/v1/nodes/%s/maintenance", `{}`, 202, forbidden, 202, forbidden, 202},
		{http.MethodDelete, "/v1/nodes/%s/maintenance", "", 202, forbidden, 202, forbidden, 202},
		{http.MethodPut, "/v1/nodes/%s/traits", `{"traits": []}`, 204, forbidden, forbidden, forbidden, forbidden},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 200, forbidden, 200, 200, 200},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/description", "value": "d"}]`, 200, forbidden, 200, 200, 200},
		{http.MethodPatch, "/v1/nodes/%s", `[]`, 200, forbidden, 200, 200, 200},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/instance_info/a", "value": 1}]`, 200, forbidden, 200, forbidden, 200},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/driver_info/a", "value": 1}]`, 200, forbidden, 200, forbidden, forbidden},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/extra/a", "value": 1}, {"op": "add", "path": "/properties/a", "value": 1}]`,
			200, forbidden, 200, forbidden, forbidden},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/deploy_interface", "value": "direct"}]`, 200, forbidden, forbidden, forbidden, forbidden},
		{http.MethodPatch, "/v1/nodes/%s", `[{"op": "add", "path": "/conductor_group", "value": ""}]`, 200, forbidden, forbidden, forbidden, forbidden},
	} {
		at := func(node string) string { return strings.ReplaceAll(test.path, "%s", node) }
		s.statuses(test.method, at("own"), test.body, map[persona]int{
			projectReader: test.ownReader, projectMember: test.ownMember, otherProject: hidden, roleless: hidden, systemMember: test.status,
		})
		s.statuses(test.method, at("leased"), test.body, map[persona]int{projectMember: test.leasedMember, projectAdmin: test.leasedAdm, otherProject: hidden})
		for _, node := range []string{"foreign", "common"} {
			s.statuses(test.method, at(node), test.body, map[persona]int{
				projectReader: hidden, projectMember: hidden, projectAdmin: hidden, otherProject: hidden, systemAdmin: test.status,
			})
		}
		readers := map[persona]int{systemReader: forbidden}
		if test.method == http.MethodGet && !strings.Contains(test.path, "validate") {
			readers[systemReader] = test.status
		}
		s.statuses(test.method, at("foreign"), test.body, readers)
	}
	s.statuses(http.MethodPatch, "/v1/nodes/own", `[{"op": "add", "path": "/owner", "value": "elsewhere"}]`, map[persona]int{projectAdmin: forbidden})
	s.statuses(http.MethodPatch, "/v1/nodes/own", `[{"op": "add", "path": "/automated_clean", "value": "false"}]`,
		map[persona]int{projectAdmin: forbidden, systemMember: forbidden, systemAdmin: 200})
	s.becomes("own", "active", nil)
	s.as(systemMember, http.MethodPatch, "/v1/nodes/own", `[{"op": "add", "path": "/owner", "value": "other"}]`).wants(http.StatusConflict)
	s.becomes("own", "enroll", nil)

	s.statuses(http.MethodGet, "/v1/ports/"+ports["own"], "", map[persona]int{projectReader: 200, otherProject: hidden, systemReader: 200})
	s.statuses(http.MethodGet, "/v1/ports/"+ports["leased"], "", map[persona]int{projectReader: 200})
	s.statuses(http.MethodGet, "/v1/ports/"+ports["foreign"], "", map[persona]int{projectAdmin: hidden})
	s.statuses(http.MethodDelete, "/v1/ports/"+ports["leased"], "", map[persona]int{projectAdmin: forbidden})
	s.statuses(http.MethodDelete, "/v1/ports/"+ports["own"], "", map[persona]int{projectMember: forbidden, systemMember: forbidden})
	s.statuses(http.MethodDelete, "/v1/ports/"+ports["own"], "", map[persona]int{projectAdmin: 204})
	s.statuses(http.MethodDelete, "/v1/nodes/leased", "", map[persona]int{projectAdmin: forbidden})
	s.statuses(http.MethodDelete, "/v1/nodes/own", "", map[persona]int{projectMember: forbidden, systemMember: forbidden, otherProject: hidden})
	s.statuses(http.MethodDelete, "/v1/nodes/own", "", map[persona]int{projectAdmin: 204})
	s.statuses(http.MethodDelete, "/v1/nodes/common", "", map[persona]int{systemAdmin: 204})
}

func TestPolicy_ListsOfProject_ShowOwnedAndLeased(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.owned()
	for _, order := range []string{"", "?sort_key=name", "?sort_dir=desc"} {
		for _, test := range []struct {
			who  persona
			want []string
		}{
			{systemReader, []string{"common", "foreign", "leased", "own"}}, {projectReader, []string{"leased", "own"}}, {otherProject, nil},
			{systemService, []string{"common", "foreign", "leased", "own"}},
		} {
			if got := names(s.as(test.who, http.MethodGet, "/v1/nodes"+order, "").wants(200).body["nodes"], "name"); !slices.Equal(got, test.want) {
				t.Errorf("%s %s: nodes = %v, want %v", test.who.token, order, got, test.want)
			}
			order := strings.ReplaceAll(order, "name", "address")
			if got := len(names(s.as(test.who, http.MethodGet, "/v1/ports"+order, "").wants(200).body["ports"], "address")); got != len(test.want) {
				t.Errorf("%s %s: %d ports, want %d", test.who.token, order, got, len(test.want))
			}
		}
	}
	s.statuses(http.MethodGet, "/v1/nodes", "", map[persona]int{roleless: 403, domainAdmin: 403})
	s.statuses(http.MethodGet, "/v1/drivers", "", map[persona]int{projectAdmin: 403, systemReader: 200, systemService: 200})
	s.statuses(http.MethodGet, "/v1/conductors", "", map[persona]int{projectAdmin: 403, systemReader: 200})
}

func TestPolicy_NodeOfLessee_HidesMembersOfTheOperator(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.owned()
	s.patched("leased", `[{"op": "add", "path": "/driver_info/address", "value": "10.0.0.1"}]`).wants(200)
	const path = "/v1/nodes/leased"
	s.as(systemReader, http.MethodGet, path, "").shows(map[string]any{"driver_info": map[string]any{"address": "10.0.0.1"}, "last_error": nil})
	hidden := map[string]any{
		"driver_info": map[string]any{"content": "** Redacted - requires baremetal:node:get:driver_info permission. **"},
		"last_error":  "** Value Redacted - Requires baremetal:node:get:last_error permission. **",
		"reservation": "** Redacted - requires baremetal:node:get:reservation permission. **",
	}
	s.as(projectAdmin, http.MethodGet, path, "").shows(hidden)
	s.as(projectMember, http.MethodPatch, path, `[{"op": "add", "path": "/extra/a", "value": 1}]`).wants(200).shows(hidden)
	listed := s.as(projectReader, http.MethodGet, "/v1/nodes/detail", "").wants(200).raw
	if strings.Contains(listed, "10.0.0.1") {
		t.Errorf("the list contains driver_info: %s", listed)
	}
	s.as(projectReader, http.MethodGet, "/v1/nodes/own", "").shows(map[string]any{"driver_info": map[string]any{}, "last_error": nil})
}

func TestPolicy_CreatedByProject_BelongsToIt(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.owned()
	const node = `{"driver": "fake-hardware"}`
	s.statuses(http.MethodPost, "/v1/nodes", node, map[persona]int{projectMember: 403, systemMember: 403, systemReader: 403, systemAdmin: 201})
	s.as(projectAdmin, http.MethodPost, "/v1/nodes", node).wants(201).shows(map[string]any{"owner": "mine"})
	s.as(projectAdmin, http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "owner": "other"}`).wants(400)

	own := s.get("/v1/nodes/own", "1.82").body["uuid"].(string)
	foreign := s.get("/v1/nodes/foreign", "1.82").body["uuid"].(string)
	port := func(node string) string { return `{"node_uuid": "` + node + `", "address": "02:00:00:00:00:77"}` }
	s.statuses(http.MethodPost, "/v1/ports", port(own), map[persona]int{projectMember: 403, otherProject: 400})
	s.statuses(http.MethodPost, "/v1/ports", port(foreign), map[persona]int{projectAdmin: 400})
	made := s.as(projectAdmin, http.MethodPost, "/v1/ports", port(own)).wants(201).body["uuid"].(string)
	s.as(projectAdmin, http.MethodPatch, "/v1/ports/"+made, `[{"op": "replace", "path": "/node_uuid", "value": "`+foreign+`"}]`).wants(400)

	const request = `{"resource_class": "gold", "name": "a"}`
	s.statuses(http.MethodPost, "/v1/allocations", request, map[persona]int{projectReader: 403, systemReader: 403, systemService: 403, roleless: 403})
	s.as(projectMember, http.MethodPost, "/v1/allocations", request).wants(201).shows(map[string]any{"owner": "mine"})
	s.as(projectMember, http.MethodPost, "/v1/allocations", `{"resource_class": "gold", "owner": "other"}`).wants(403)
	s.as(projectMember, http.MethodPost, "/v1/allocations", `{"resource_class": "gold", "candidate_nodes": ["foreign"]}`).wants(400)
	s.as(projectMember, http.MethodPost, "/v1/allocations", `{"node": "foreign"}`).wants(400)
	s.as(systemMember, http.MethodPost, "/v1/allocations", `{"resource_class": "gold", "name": "b", "owner": "other"}`).wants(201)
	s.as(systemMember, http.MethodPost, "/v1/allocations", `{"resource_class": "gold", "name": "c"}`).wants(201).shows(map[string]any{"owner": nil})
	for who, want := range map[persona][]string{systemReader: {"a", "b", "c"}, projectReader: {"a"}, otherProject: nil} {
		if got := names(s.as(who, http.MethodGet, "/v1/allocations", "").wants(200).body["allocations"], "name"); !slices.Equal(got, want) {
			t.Errorf("%s: allocations = %v, want %v", who.token, got, want)
		}
	}
	s.statuses(http.MethodGet, "/v1/allocations?owner=other", "", map[persona]int{projectAdmin: 403, systemReader: 200})
	s.statuses(http.MethodGet, "/v1/allocations?node=foreign", "", map[persona]int{projectAdmin: 400, systemReader: 200})
	s.statuses(http.MethodGet, "/v1/allocations/b", "", map[persona]int{projectAdmin: 404, systemReader: 200})
	s.statuses(http.MethodDelete, "/v1/allocations/b", "", map[persona]int{projectAdmin: 404, systemReader: 403})
	s.statuses(http.MethodPatch, "/v1/allocations/a", `[{"op": "add", "path": "/extra/a", "value": 1}]`,
		map[persona]int{projectReader: 403, otherProject: 404, systemReader: 403, projectMember: 200})
	s.statuses(http.MethodDelete, "/v1/allocations/a", "", map[persona]int{projectReader: 403, otherProject: 404})
	s.statuses(http.MethodDelete, "/v1/allocations/a", "", map[persona]int{projectMember: 204})
}

// A request without a token, or with one without a project, has system scope.
func TestPolicy_NoToken_IsAdministratorOfTheSystem(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"name": "common"})
	s.get("/v1/drivers", "1.82").wants(200)
	s.statuses(http.MethodGet, "/v1/drivers", "", map[persona]int{{token: "admin", roles: "admin,service"}: 200, {token: "admin:mine", roles: "admin"}: 403})
}
