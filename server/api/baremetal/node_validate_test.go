package baremetal_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

func TestNode_ValidateFakeDriver_AllInterfacesPass(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	fine := map[string]any{"result": true}
	want := map[string]any{}
	for _, name := range []string{"power", "boot", "deploy", "management", "network", "bios", "console", "inspect", "raid", "rescue", "storage"} {
		want[name] = fine
	}
	for _, target := range []string{
		"/v1/nodes/rack-7/validate", "/v1/nodes/" + id + "/validate/", "/v1/nodes/validate?node=rack-7", "/v1/nodes/validate/?node=" + id,
	} {
		if got := s.get(target, "1.82").wants(http.StatusOK); !reflect.DeepEqual(got.body, asJSON(t, want)) {
			t.Errorf("%s: %s", target, got.raw)
		}
	}
	s.get("/v1/nodes/rack-8/validate", "1.82").refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	s.get("/v1/nodes/validate?node=rack-8", "1.82").refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	s.get("/v1/nodes/validate?node=rack-7", "1.4").refuses(http.StatusNotFound, "Node rack-7 could not be found.")
	s.get("/v1/nodes/validate", "1.82").refuses(http.StatusBadRequest, "The argument node is missing: the uuid or the name of a node.")
	s.get("/v1/nodes/rack-7/validate?color=red", "1.82").refuses(http.StatusBadRequest, "Unexpected arguments: color")
	if _, err := s.store.NodeUpdate(t.Context(), id, func(n *store.Node) error { n.Driver = "redfish"; return nil }); err != nil {
		t.Fatal(err)
	}
	s.get("/v1/nodes/rack-7/validate", "1.82").refuses(http.StatusBadRequest,
		"No driver redfish is built into this server, so that the node cannot be validated.")
}
