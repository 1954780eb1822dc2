package baremetal_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/google/uuid"
)

// raced sends number equal requests concurrently and counts the statuses.
func (s *service) raced(number int, method, target string, body any) map[int]int {
	s.t.Helper()
	return raced(number, func(int) int { return s.send(method, target, "1.82", body).status })
}

func raced(number int, send func(i int) int) map[int]int {
	statuses := make(chan int, number)
	start := make(chan struct{})
	for i := range number {
		go func() {
			<-start
			statuses <- send(i)
		}()
	}
	close(start)
	counts := map[int]int{}
	for range number {
		counts[<-statuses]++
	}
	return counts
}

func TestNodeAllocation_ConcurrentSameName_OneSucceeds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const id = "ba5eba11-0000-4000-8000-000000000001"
	for _, body := range []map[string]any{{"resource_class": "gold", "name": "a"}, {"resource_class": "gold", "uuid": id}} {
		if got := s.raced(16, http.MethodPost, "/v1/allocations", body); !maps.Equal(got, map[int]int{201: 1, 409: 15}) {
			t.Errorf("%v: %v", body, got)
		}
	}
	s.free("rack-7", "gold")
	s.decide("a").shows(map[string]any{"state": "active"})
	if got := s.raced(8, http.MethodDelete, "/v1/allocations/a", nil); !maps.Equal(got, map[int]int{204: 1, 404: 7}) {
		t.Errorf("deleted: %v", got)
	}
}

func TestNodeAllocation_MoreRequestsThanNodes_AssignsEachNodeOnce(t *testing.T) {
	t.Parallel()
	for name, placement := range map[string]bool{"nodes alone": false, "nodes as resource providers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			if err := s.store.SetBaremetalBackend(t.Context(), placement); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				s.free("node-"+uuid.NewString(), "gold")
			}
			s.works()
			if got := s.raced(50, http.MethodPost, "/v1/allocations", map[string]any{"resource_class": "gold"}); !maps.Equal(got, map[int]int{201: 50}) {
				t.Fatalf("made: %v", got)
			}
			states, nodes := map[string]int{}, map[any]bool{}
			for _, one := range s.get("/v1/allocations", "1.82").wants(http.StatusOK).body["allocations"].([]any) {
				shown := s.decided(one.(map[string]any)["uuid"].(string)).body
				states[shown["state"].(string)]++
				nodes[shown["node_uuid"]] = true
			}
			if want := map[string]int{"active": 20, "error": 30}; !maps.Equal(states, want) || len(nodes) != 21 {
				t.Errorf("%v on %d nodes, want %v on 20", states, len(nodes)-1, want)
			}
		})
	}
}
