package baremetal_test

import (
	"net/http"
	"reflect"
	"testing"
)

const base = "http://example.com"

func driverLinks(name string) []map[string]string {
	return []map[string]string{
		{"href": base + "/v1/drivers/" + name, "rel": "self"}, {"href": base + "/drivers/" + name, "rel": "bookmark"},
	}
}

func propertyLinks(name string) []map[string]string { return driverLinks(name + "/properties") }

func TestNode_DriverList_OnlyOfAliveConductors(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for host, drivers := range map[string][]string{"berth-0": {"redfish", fakeDriver}, "gone": {"ipmi"}} {
		if err := s.store.ConductorRegister(t.Context(), host, drivers); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.store.ConductorUnregister(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	fake := map[string]any{
		"name": fakeDriver, "hosts": []string{"berth-0", conductor}, "links": driverLinks(fakeDriver), "properties": propertyLinks(fakeDriver),
	}
	redfish := map[string]any{
		"name": "redfish", "hosts": []string{"berth-0"}, "links": driverLinks("redfish"), "properties": propertyLinks("redfish"),
	}
	s.get("/v1/drivers", "1.29").wants(http.StatusOK).shows(map[string]any{"drivers": []any{fake, redfish}})
	fake["type"], redfish["type"] = "dynamic", "dynamic"
	s.get("/v1/drivers/", "1.30").wants(http.StatusOK).shows(map[string]any{"drivers": []any{fake, redfish}})
	s.get("/v1/drivers?type=dynamic", "1.82").wants(http.StatusOK).shows(map[string]any{"drivers": []any{fake, redfish}})
	s.get("/v1/drivers?type=classic", "1.82").wants(http.StatusOK).shows(map[string]any{"drivers": []any{}})
	whole := s.get("/v1/drivers?detail=True", "1.82").wants(http.StatusOK).body["drivers"].([]any)[1].(map[string]any)
	for _, part := range []string{
		"bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor",
	} {
		name := "fake"
		if part == "network" || part == "storage" {
			name = "noop"
		}
		redfish["default_"+part+"_interface"], redfish["enabled_"+part+"_interfaces"] = name, []string{name}
	}
	if !reflect.DeepEqual(any(whole), asJSON(t, redfish)) {
		t.Errorf("got %v, want %v", whole, redfish)
	}
	if early := len(s.get("/v1/drivers/redfish", "1.30").body); early != 5+2*9 {
		t.Errorf("%d members before drivers had interfaces for BIOS, storage and rescue", early)
	}
	s.get("/v1/drivers?fields=name", "1.77").shows(map[string]any{"drivers": []any{
		map[string]any{"name": fakeDriver, "links": driverLinks(fakeDriver)}, map[string]any{"name": "redfish", "links": driverLinks("redfish")},
	}})
	s.get("/v1/drivers?fields=name&detail=true", "1.77").wants(http.StatusBadRequest)
	s.get("/v1/drivers/redfish/properties", "1.82").wants(http.StatusOK).shows(map[string]any{})
	s.get("/v1/drivers/ipmi/properties", "1.82").wants(http.StatusNotFound)
	s.get("/v1/drivers?type=odd", "1.82").refuses(http.StatusBadRequest,
		"Invalid value 'odd' for type: it is neither dynamic nor classic.")
	if got := s.get("/v1/drivers/redfish/", "1.82").wants(http.StatusOK).body; !reflect.DeepEqual(got, asJSON(t, redfish)) {
		t.Errorf("got %v, want %v", got, redfish)
	}
	s.get("/v1/drivers/ipmi", "1.82").refuses(http.StatusNotFound,
		"Could not find the following driver(s) or hardware type(s): ipmi.")
}
