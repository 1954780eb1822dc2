package baremetal_test

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	mac      = "52:54:00:0a:1b:2c"
	otherMAC = "52:54:00:0a:1b:2d"
)

// port creates a port and returns its UUID.
func (s *service) port(node, address string) string {
	s.t.Helper()
	id, _ := s.send(http.MethodPost, "/v1/ports", "1.82", map[string]any{"node_uuid": node, "address": address}).
		wants(http.StatusCreated).body["uuid"].(string)
	return id
}

func portLinks(id string) []map[string]string {
	return []map[string]string{{"href": base + "/v1/ports/" + id, "rel": "self"}, {"href": base + "/ports/" + id, "rel": "bookmark"}}
}

func TestPort_Members_HaveTheirMicroversion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.machine(nil)
	made := s.send(http.MethodPost, "/v1/ports", "1.1", map[string]any{"node_uuid": node, "address": strings.ToUpper(mac), "uuid": idA})
	made.wants(http.StatusCreated)
	if location := made.header.Get("Location"); location != base+"/v1/ports/"+idA {
		t.Errorf("Location = %q", location)
	}
	want := map[string]any{
		"uuid": idA, "address": mac, "node_uuid": node, "extra": map[string]any{}, "created_at": made.body["created_at"],
		"updated_at": nil, "links": portLinks(idA),
	}
	for _, step := range []struct {
		version string
		adds    map[string]any
	}{
		{"1.1", nil}, {"1.17", nil}, {"1.18", map[string]any{"internal_info": map[string]any{}}},
		{"1.19", map[string]any{"local_link_connection": map[string]any{}, "pxe_enabled": true}}, {"1.23", nil},
		{"1.24", map[string]any{"portgroup_uuid": nil}}, {"1.33", nil}, {"1.34", map[string]any{"physical_network": nil}},
		{"1.52", nil}, {"1.53", map[string]any{"is_smartnic": false}}, {"1.82", nil},
	} {
		maps.Copy(want, step.adds)
		if got := s.get("/v1/ports/"+idA, step.version).wants(http.StatusOK); !reflect.DeepEqual(got.body, asJSON(t, want)) {
			t.Errorf("%s: %s", step.version, got.raw)
		}
	}
	s.get("/v1/ports/"+idA+"?fields=address", "1.8").shows(map[string]any{"address": mac, "links": portLinks(idA)})
	s.get("/v1/ports/"+idA+"?fields=pxe_enabled", "1.18").wants(http.StatusNotAcceptable)
	s.send(http.MethodPost, "/v1/ports", "1.18", `{"pxe_enabled": true}`).wants(http.StatusNotAcceptable)
}

func TestPort_InvalidCreate_Rejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.machine(map[string]any{"name": "rack-7"})
	s.send(http.MethodPost, "/v1/ports", "1.82", map[string]any{"node_uuid": node, "address": mac, "uuid": idA}).wants(http.StatusCreated)
	for _, test := range []struct {
		node, address, more string
		status              int
		want                string
	}{
		{"rack-7", otherMAC, "", 400, "Expected UUID for node_uuid: rack-7"},
		{idB, otherMAC, "", 400, "Node " + idB + " could not be found."},
		{node, "52-54", "", 400, "Expected a MAC address but received 52-54."},
		{node, "52:54:00:0a:1b:2c:00:01", "", 400, "Expected a MAC address but received 52:54:00:0a:1b:2c:00:01."},
		{node, otherMAC, `, "uuid": "abc"`, 400, "Expected UUID for uuid: abc"},
		{node, otherMAC, `, "portgroup_uuid": "abc"`, 400, "Portgroup abc could not be found."},
		{node, otherMAC, `, "extra": {"a": 1e9999}`, 400, "Invalid value for /extra: the number 1e9999 cannot be kept."},
		{node, strings.ToUpper(mac), "", 409, "A port with MAC address " + mac + " already exists."},
		{node, otherMAC, `, "uuid": "` + idA + `"`, 409, "A port with UUID " + idA + " already exists."},
	} {
		body := `{"node_uuid": "` + test.node + `", "address": "` + test.address + `"` + test.more + `}`
		s.send(http.MethodPost, "/v1/ports", "1.82", body).refuses(test.status, test.want)
	}
	for _, body := range []string{``, `[]`, `{}`, `{"address": "` + mac + `"}`, `{"node_uuid": "` + node + `"}`, `{"node_uuid": 1, "address": 1}`} {
		s.send(http.MethodPost, "/v1/ports", "1.82", body).wants(http.StatusBadRequest)
	}
	s.send(http.MethodPost, "/v1/ports", "1.82", `{"node_uuid": "`+node+`", "address": "`+otherMAC+`", "internal_info": {}}`).
		invalid("JSON does not validate: Additional properties are not allowed ('internal_info' was unexpected)")
}

func TestPort_PatchAndDelete_Applied(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node, other := s.machine(nil), s.machine(nil)
	id := s.port(node, mac)
	s.port(node, "52:54:00:0a:1b:2e")
	patch := func(patch string) *response { return s.send(http.MethodPatch, "/v1/ports/"+id, "1.82", patch) }
	patch(`[]`).wants(http.StatusOK).shows(map[string]any{"updated_at": nil})
	patch(`[{"op": "replace", "path": "/address", "value": "` + strings.ToUpper(otherMAC) + `"}, {"op": "add", "path": "/extra/a", "value": 1},
		{"op": "add", "path": "/node_uuid", "value": "` + other + `"}, {"op": "add", "path": "/pxe_enabled", "value": "False"},
		{"op": "add", "path": "/local_link_connection", "value": {"port_id": "1"}}, {"op": "add", "path": "/physical_network", "value": "net"}]`).
		wants(http.StatusOK).shows(map[string]any{
		"address": otherMAC, "extra": map[string]any{"a": 1}, "node_uuid": other, "pxe_enabled": false,
		"local_link_connection": map[string]any{"port_id": "1"}, "physical_network": "net",
	})
	patch(`[{"op": "remove", "path": "/extra"}, {"op": "remove", "path": "/pxe_enabled"}, {"op": "remove", "path": "/physical_network"}]`).
		wants(http.StatusOK).shows(map[string]any{"extra": map[string]any{}, "pxe_enabled": true, "physical_network": nil})
	patch(`[{"op": "remove", "path": "/uuid"}]`).refuses(http.StatusBadRequest, "Cannot patch /uuid. Only the following can be updated: "+
		"address, extra, is_smartnic, local_link_connection, node_uuid, physical_network, portgroup_uuid, pxe_enabled")
	patch(`[{"op": "remove", "path": "/address"}]`).wants(http.StatusBadRequest)
	patch(`[{"op": "add", "path": "/node_uuid", "value": "`+idB+`"}]`).refuses(http.StatusBadRequest, "Node "+idB+" could not be found.")
	patch(`[{"op": "add", "path": "/address", "value": "52:54:00:0a:1b:2e"}]`).refuses(http.StatusConflict,
		"A port with MAC address 52:54:00:0a:1b:2e already exists.")
	s.send(http.MethodPatch, "/v1/ports/"+id, "1.18", `[{"op": "add", "path": "/pxe_enabled", "value": true}]`).wants(http.StatusNotAcceptable)
	s.send(http.MethodDelete, "/v1/ports/"+id, "1.82", nil).wants(http.StatusNoContent)
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		s.send(method, "/v1/ports/"+id, "1.82", `[]`).refuses(http.StatusNotFound, "Port "+id+" could not be found.")
		s.send(method, "/v1/ports/abc", "1.82", `[]`).refuses(http.StatusBadRequest, "Expected a UUID but received abc.")
	}
}

func TestPort_List_FilteredByNodeAndAddress(t *testing.T) {
	t.Parallel()
	s := newService(t)
	one, two := s.machine(map[string]any{"name": "rack-7"}), s.machine(map[string]any{"name": "rack-8"})
	s.machine(map[string]any{"name": "rack-9"})
	macs := []string{"52:54:00:00:00:03", "52:54:00:00:00:01", "52:54:00:00:00:02"}
	id := s.port(one, macs[0])
	s.port(one, macs[1])
	s.port(two, macs[2])
	for target, want := range map[string][]string{
		"/v1/ports?": macs, "/v1/ports/?node=rack-7": macs[:2], "/v1/ports?node=" + two: macs[2:], "/v1/ports?node_uuid=" + one: macs[:2],
		"/v1/ports?address=52:54:00:00:00:02": macs[2:], "/v1/ports?node=rack-9": {}, "/v1/ports/detail?node=rack-7": macs[:2],
		"/v1/ports?sort_key=address": {macs[1], macs[2], macs[0]}, "/v1/ports?marker=" + id: macs[1:],
		"/v1/nodes/rack-7/ports?": macs[:2], "/v1/nodes/" + two + "/ports?": macs[2:], "/v1/nodes/rack-9/ports?": {},
		"/v1/ports?detail=True": macs, "/v1/ports?address=52:54:00:00:00:09": {},
	} {
		got := []string{}
		list, _ := s.get(target, "1.82").wants(http.StatusOK).body["ports"].([]any)
		for _, port := range list {
			address, _ := port.(map[string]any)["address"].(string)
			got = append(got, address)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	s.get("/v1/nodes/rack-7/ports?limit=1", "1.82").shows(map[string]any{
		"ports": []any{map[string]any{"uuid": id, "address": macs[0], "links": portLinks(id)}},
		"next":  base + "/v1/nodes/rack-7/ports?sort_key=id&sort_dir=asc&limit=1&marker=" + id,
	})
	s.get("/v1/ports?fields=address&limit=1", "1.82").shows(map[string]any{
		"ports": []any{map[string]any{"address": macs[0], "links": portLinks(id)}},
	})
	s.get("/v1/ports?node=rack-1", "1.82").refuses(http.StatusBadRequest, "Node rack-1 could not be found.")
	s.get("/v1/ports?node=a+b", "1.82").refuses(http.StatusBadRequest, "Expected a logical name or UUID but received a b.")
	s.get("/v1/ports?node_uuid=rack-7", "1.82").refuses(http.StatusBadRequest, "Expected UUID for node_uuid: rack-7")
	s.get("/v1/ports?address=1", "1.82").refuses(http.StatusBadRequest, "Expected a MAC address but received 1.")
	s.get("/v1/ports?marker="+idB, "1.82").refuses(http.StatusNotFound, "The marker "+idB+" could not be found.")
	s.get("/v1/nodes/rack-1/ports", "1.82").refuses(http.StatusNotFound, "Node rack-1 could not be found.")
	s.get("/v1/ports?node=rack-7", "1.5").wants(http.StatusNotAcceptable)
}
