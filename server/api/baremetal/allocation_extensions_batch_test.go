package baremetal_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// batch returns the names and states in a response with several node allocations.
func (r *response) batch() (shown []string) {
	r.t.Helper()
	list, _ := r.body["allocations"].([]any)
	for _, one := range list {
		member := one.(map[string]any)
		name, _ := member["name"].(string)
		shown = append(shown, name+" "+member["state"].(string))
	}
	return shown
}

func TestNodeAllocation_Batch_AllOrNothing(t *testing.T) {
	t.Parallel()
	for name, placement := range map[string]bool{"nodes alone": false, "nodes as resource providers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			if err := s.store.SetBaremetalBackend(t.Context(), placement); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				s.free("node-"+uuid.NewString(), "gold")
			}
			s.works()
			ask := func(body map[string]any, want ...string) *response {
				t.Helper()
				body["resource_class"], body["wait"] = "gold", 60
				got := s.createExtended(body).wants(http.StatusCreated)
				if !slices.Equal(got.batch(), want) {
					t.Errorf("%v: got %v, want %v", body, got.batch(), want)
				}
				return got
			}
			ask(map[string]any{"count": 2, "name": "a"}, "a-1 active", "a-2 active")
			short := ask(map[string]any{"count": 4, "name": "b"}, "b-1 error", "b-2 error", "b-3 error", "b-4 error")
			for _, one := range short.body["allocations"].([]any) {
				text, _ := one.(map[string]any)["last_error"].(string)
				if !strings.Contains(text, ": only 3 of at least 4 nodes could be reserved for the batch: no available nodes match the resource class gold (nodes of the class: 5; ") {
					t.Errorf("last_error = %q", text)
				}
			}
			ask(map[string]any{"count": 4, "minimum": 2}, " active", " active", " active", " error")
			// After the decision the allocations of a batch are independent.
			s.send(http.MethodDelete, "/v1/allocations/a-1", "1.82", nil).wants(http.StatusNoContent)
			s.send(http.MethodPost, "/v1/allocations/b-3/retry", extendedVersion, map[string]any{"wait": 60}).wants(http.StatusOK).shows(
				map[string]any{"state": "active"})
			s.get("/v1/allocations?state=active", "1.82").wants(http.StatusOK)
			if names, _ := s.listedAll("state=active"); names != 5 {
				t.Errorf("%d of 5 nodes are assigned", names)
			}
		})
	}
}

// listedAll returns the number of node allocations in a list, and their nodes.
func (s *service) listedAll(query string) (number int, nodes map[any]bool) {
	s.t.Helper()
	nodes = map[any]bool{}
	for _, one := range s.get("/v1/allocations?"+query, "1.82").wants(http.StatusOK).body["allocations"].([]any) {
		number++
		nodes[one.(map[string]any)["node_uuid"]] = true
	}
	return number, nodes
}

func TestNodeAllocation_ConcurrentBatches_EachAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for range 10 {
		s.free("node-"+uuid.NewString(), "gold")
	}
	s.works()
	const batches = 6
	states := make(chan []string, batches)
	raced(batches, func(int) int {
		got := s.createExtended(map[string]any{"resource_class": "gold", "count": 3, "wait": 60})
		states <- got.batch()
		return got.status
	})
	whole := 0
	for range batches {
		switch shown := <-states; {
		case slices.Equal(shown, []string{" active", " active", " active"}):
			whole++
		case !slices.Equal(shown, []string{" error", " error", " error"}):
			t.Errorf("partial batch: %v", shown)
		}
	}
	number, nodes := s.listedAll("state=active")
	if number != 3*whole || len(nodes) != number || whole == 0 {
		t.Errorf("%d complete batches, %d allocations, %d nodes", whole, number, len(nodes))
	}
}

func TestNodeAllocation_InvalidBatch_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for body, want := range map[string]string{
		`{"count": 2, "minimum": 3}`: "The minimum 3 is more than the count 2.",
		`{"minimum": 3}`:             "The minimum 3 requires count.",
		`{"count": 2, "uuid": "ba5eba11-0000-4000-8000-000000000001"}`: "With count, uuid and node cannot be sent: the allocations have uuids of their own, and nodes are chosen.",
		`{"count": 2, "node": "a"}`:                                    "With count, uuid and node cannot be sent: the allocations have uuids of their own, and nodes are chosen.",
		`{"count": 0}`:                                                 "JSON does not validate: 0 is less than the minimum of 1",
		`{"count": 101}`:                                               "JSON does not validate: 101 is greater than the maximum of 100",
		`{"count": 2, "candidate_nodes": ["x"]}`:                       "Nodes cannot be found: x",
		`{"count": 2, "name": "` + strings.Repeat("x", 252) + `"}`:     "With count, a name has up to 251 characters, because a number follows it.",
	} {
		var members map[string]any
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			t.Fatal(err)
		}
		members["resource_class"] = "gold"
		s.createExtended(members).invalid(want)
	}
	s.allocate(map[string]any{"resource_class": "gold", "name": "a-2"}).wants(http.StatusCreated)
	s.createExtended(map[string]any{"resource_class": "gold", "name": "a", "count": 3}).refuses(http.StatusConflict,
		"An allocation with one of the names a-1 to a-3 already exists.")
	if names, _ := s.listed(""); !slices.Equal(names, []string{"a-2"}) {
		t.Errorf("remaining allocations = %v", names)
	}
}
