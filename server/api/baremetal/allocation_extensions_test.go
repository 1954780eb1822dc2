package baremetal_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/microversion"
)

// extendedVersion is the header of a request for extensions.
const extendedVersion = "baremetal 1.82, berth 1.0"

// createExtended creates a node allocation with extensions.
func (s *service) createExtended(body any) *response {
	s.t.Helper()
	return s.send(http.MethodPost, "/v1/allocations", extendedVersion, body)
}

func TestNodeAllocation_NoExtensionVersion_ExtensionsRejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, version := range []string{"1.82", "baremetal 1.82", "baremetal 1.82, berth", "baremetal 1.82, placement 1.39"} {
		for member, value := range map[string]any{"wait": 1, "count": 2, "minimum": 1, "sticky": true} {
			s.send(http.MethodPost, "/v1/allocations", version, map[string]any{"resource_class": "gold", member: value}).invalid(
				"JSON does not validate: Additional properties are not allowed ('" + member + "' was unexpected)")
		}
		for _, trait := range []string{"!CUSTOM_A", "in:CUSTOM_A,CUSTOM_B"} {
			s.send(http.MethodPost, "/v1/allocations", version, map[string]any{"resource_class": "gold", "traits": []string{trait}}).invalid(
				"Invalid trait '" + trait + "': it is neither a standard one nor CUSTOM_ and then capital letters, digits and underscores, 255 characters at most.")
		}
		s.send(http.MethodPost, "/v1/allocations/a/retry", version, nil).wants(http.StatusNotFound)
	}
	s.send(http.MethodPost, "/v1/allocations", "baremetal 1.82, berth 1.99", map[string]any{"resource_class": "gold"}).refuses(
		http.StatusNotAcceptable, (&microversion.ExtensionError{Text: "1.99"}).Error())
	s.get("/v1/allocations", "1.82").is(map[string]any{"allocations": []any{}})
}

func TestNodeAllocation_ExtensionVersion_StandardAPIUnchanged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.createExtended(map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated)
	made.is(made.plain(map[string]any{"name": "a"}))
	if got, want := made.header.Get("Location"), base+"/v1/allocations/"+made.body["uuid"].(string); got != want {
		t.Errorf("Location = %s, want %s", got, want)
	}
	s.get("/v1/allocations/a", extendedVersion).wants(http.StatusOK).is(made.body)
	s.createExtended(map[string]any{"resource_class": "gold", "name": "a"}).refuses(http.StatusConflict, "An allocation with name a already exists.")
	s.createExtended(nil).refuses(http.StatusBadRequest, "The resource_class field is mandatory when not backfilling")
	s.createExtended(map[string]any{"resource_class": "gold", "color": 1}).invalid(
		"JSON does not validate: Additional properties are not allowed ('color' was unexpected)")
	s.send(http.MethodPost, "/v1/allocations", "baremetal 1.57, berth 1.0", map[string]any{"resource_class": "gold", "node": "a"}).invalid(
		"JSON does not validate: Additional properties are not allowed ('node' was unexpected)")
	s.get("/v1/allocations", "baremetal 1.51, berth 1.0").wants(http.StatusNotFound)
}

func TestNodeAllocation_NoNodeFound_ErrorCountsCandidates(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-7", "gold")
	s.free("rack-8", "gold", "CUSTOM_A")
	s.node(store.Node{ResourceClass: new("gold"), ProvisionState: "manageable"})
	body := map[string]any{"resource_class": "gold", "traits": []string{"CUSTOM_B"}}
	prefix := func(id string) string {
		return "Failed to process allocation " + id + ": no suitable nodes have the requested traits CUSTOM_B"
	}
	plain := s.allocate(body).wants(http.StatusCreated).body["uuid"].(string)
	s.decide(plain).shows(map[string]any{"last_error": prefix(plain) + "."})
	extended := s.createExtended(body).wants(http.StatusCreated).body["uuid"].(string)
	s.decide(extended).shows(map[string]any{"last_error": prefix(extended) + " (nodes of the class: 3; available, powered, " +
		"without instance and maintenance: 2; of these allowed by owner and candidates: 2; with the traits: 0; " +
		"not claimed through Placement: 0)."})
}

func TestNodeAllocation_RetryInError_Processed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.works()
	failed := s.createExtended(map[string]any{"resource_class": "gold", "name": "a", "wait": 60}).wants(http.StatusCreated)
	failed.shows(map[string]any{"state": "error"})
	node := s.free("rack-7", "gold")
	again := s.send(http.MethodPost, "/v1/allocations/a/retry", extendedVersion, map[string]any{"wait": 60}).wants(http.StatusOK)
	again.is(failed.plain(map[string]any{
		"name": "a", "state": "active", "node_uuid": node.UUID, "updated_at": again.body["updated_at"],
	}))
	s.send(http.MethodPost, "/v1/allocations/a/retry", extendedVersion, nil).refuses(http.StatusConflict,
		"Allocation a cannot be retried, because it is in state active and not in error.")
	s.send(http.MethodPost, "/v1/allocations/b/retry", extendedVersion, nil).refuses(http.StatusNotFound, "Allocation b could not be found.")
	s.send(http.MethodPost, "/v1/allocations/no%20name/retry", extendedVersion, nil).refuses(http.StatusBadRequest,
		"Expected a logical name or UUID but received no name.")
	s.send(http.MethodPost, "/v1/allocations/a/retry", extendedVersion, map[string]any{"now": 1}).invalid(
		"JSON does not validate: Additional properties are not allowed ('now' was unexpected)")
}

func TestNodeAllocation_Retry_RespondsBeforeDecision(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated)
	s.decide("a").shows(map[string]any{"state": "error"})
	again := s.send(http.MethodPost, "/v1/allocations/a/retry/", extendedVersion, nil).wants(http.StatusOK)
	again.is(made.plain(map[string]any{"name": "a", "updated_at": again.body["updated_at"]}))
	s.decide("a").shows(map[string]any{"state": "error"})
	if got := s.raced(8, http.MethodPost, "/v1/allocations/a/retry", nil); got[http.StatusNotFound] != 8 {
		t.Errorf("without extensions: %v", got)
	}
	if got := raced(8, func(int) int { return s.send(http.MethodPost, "/v1/allocations/a/retry", extendedVersion, nil).status }); !maps.Equal(got, map[int]int{200: 1, 409: 7}) {
		t.Errorf("%v", got)
	}
}
