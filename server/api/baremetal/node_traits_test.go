package baremetal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestNode_Traits_ReplacedAddedDeleted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	const path = "/v1/nodes/rack-7/traits"
	has := func(traits ...string) {
		t.Helper()
		s.get(path, "1.37").wants(http.StatusOK).shows(map[string]any{"traits": append([]string{}, traits...)})
		s.get("/v1/nodes/"+id, "1.37").shows(map[string]any{"traits": append([]string{}, traits...)})
	}
	has()
	s.send(http.MethodPut, path, "1.37", `{"traits": ["HW_CPU_X86_VMX", "CUSTOM_B", "CUSTOM_A", "CUSTOM_B"]}`).wants(http.StatusNoContent)
	has("CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX")
	for range 2 {
		added := s.send(http.MethodPut, path+"/CUSTOM_C", "1.37", nil).wants(http.StatusNoContent)
		if location := added.header.Get("Location"); location != base+path+"/CUSTOM_C" {
			t.Errorf("Location = %q", location)
		}
	}
	has("CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_VMX")
	s.send(http.MethodDelete, path+"/CUSTOM_A", "1.37", nil).wants(http.StatusNoContent)
	s.send(http.MethodDelete, path+"/CUSTOM_A", "1.37", nil).refuses(http.StatusNotFound, "Node "+id+" doesn't have a trait 'CUSTOM_A'")
	has("CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_VMX")
	s.send(http.MethodPut, path, "1.37", `{"traits": ["CUSTOM_Z"]}`).wants(http.StatusNoContent)
	has("CUSTOM_Z")
	longest := "CUSTOM_" + strings.Repeat("A", 248)
	s.send(http.MethodPut, path+"/"+longest, "1.37", nil).wants(http.StatusNoContent)
	has(longest, "CUSTOM_Z")
	for _, sent := range []*response{
		s.send(http.MethodPut, path+"/"+longest+"A", "1.37", nil),
		s.send(http.MethodPut, path, "1.37", `{"traits": ["`+longest+`A"]}`),
		s.send(http.MethodPost, "/v1/allocations", "1.82", `{"resource_class": "x", "traits": ["`+longest+`A"]}`),
	} {
		sent.wants(http.StatusBadRequest)
	}
	has(longest, "CUSTOM_Z")
	s.send(http.MethodDelete, path, "1.37", nil).wants(http.StatusNoContent)
	has()
	s.send(http.MethodPut, path, "1.37", `{"traits": []}`).wants(http.StatusNoContent)
}

func TestNode_InvalidTrait_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	path := "/v1/nodes/" + id + "/traits"
	for _, name := range []string{"gold", "CUSTOM_gold", "CUSTOM_", "HW_NO_SUCH_THING", "CUSTOM-A"} {
		want := "Invalid trait '" + name + "': it is neither a standard one nor CUSTOM_ and then capital letters, digits and underscores, 255 characters at most."
		s.send(http.MethodPut, path+"/"+name, "1.82", nil).refuses(http.StatusBadRequest, want)
		s.send(http.MethodPut, path, "1.82", map[string]any{"traits": []string{"CUSTOM_A", name}}).refuses(http.StatusBadRequest, want)
	}
	for _, body := range []string{``, `{}`, `[]`, `{"traits": null}`, `{"traits": [1]}`, `{"traits": [], "color": 1}`} {
		s.send(http.MethodPut, path, "1.82", body).wants(http.StatusBadRequest)
	}
	s.get(path, "1.82").shows(map[string]any{"traits": []string{}})
}

func TestNode_MoreThan50Traits_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	path := "/v1/nodes/" + id + "/traits"
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("CUSTOM_%02d", i)
	}
	refusal := "Node " + id + " can have at most 50 traits."
	s.send(http.MethodPut, path, "1.82", map[string]any{"traits": many}).refuses(http.StatusBadRequest, refusal)
	s.send(http.MethodPut, path, "1.82", map[string]any{"traits": many[:50]}).wants(http.StatusNoContent)
	s.send(http.MethodPut, path+"/CUSTOM_49", "1.82", nil).wants(http.StatusNoContent)
	s.send(http.MethodPut, path+"/CUSTOM_50", "1.82", nil).refuses(http.StatusBadRequest, refusal)
	s.get(path, "1.82").shows(map[string]any{"traits": many[:50]})
}

func TestNode_TraitRemovedWhileAllocated_Succeeds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
	s.send(http.MethodPut, "/v1/nodes/"+node+"/traits/CUSTOM_A", "1.82", nil).wants(http.StatusNoContent)
	s.send(http.MethodDelete, "/v1/nodes/"+node+"/traits/CUSTOM_A", "1.82", nil).wants(http.StatusNoContent)
	s.get("/v1/nodes/"+node, "1.82").shows(map[string]any{"allocation_uuid": allocation})
}

func TestNode_TraitsBeforeVersion37_Return404(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	for path, methods := range map[string][]string{
		"/v1/nodes/" + id + "/traits": {http.MethodGet, http.MethodPut, http.MethodDelete}, "/v1/nodes/" + id + "/traits/CUSTOM_A": {http.MethodPut, http.MethodDelete},
	} {
		for _, method := range methods {
			s.send(method, path, "1.36", `{"traits": []}`).wants(http.StatusNotFound)
		}
	}
	for method, path := range map[string]string{http.MethodGet: "traits", http.MethodDelete: "traits", http.MethodPut: "traits/CUSTOM_A"} {
		s.send(method, "/v1/nodes/"+idB+"/"+path, "1.37", nil).refuses(http.StatusNotFound, "Node "+idB+" could not be found.")
	}
	s.send(http.MethodDelete, "/v1/nodes/"+idB+"/traits/CUSTOM_A", "1.37", nil).refuses(http.StatusNotFound, "Node "+idB+" could not be found.")
}
