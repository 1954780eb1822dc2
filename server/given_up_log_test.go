package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// TestMetrics_TreesGivenUp_CountedAndLogged asks for 37 groups that fit on a host with 9 devices, but not on five with 8, which
// takes more combinations to prove than the setting permits.
func TestMetrics_TreesGivenUp_CountedAndLogged(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Placement.Candidates.Budget = 16 << 10 })
	s.exec("INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_CRATE')")
	s.exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		SELECT 100 * host + n, ('00000000-0000-4000-8000-' || lpad((100 * host + n)::text, 12, '0'))::uuid, 'rack ' || host || '-' || n, 100 * host, CASE WHEN n > 0 THEN 100 * host END
		FROM generate_series(1, 6) AS host, generate_series(0, CASE host WHEN 6 THEN 9 ELSE 8 END) AS n`)
	s.exec("INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers")
	s.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		SELECT id, 20000, root_id, 65, 0, 1, 65, 1, 1 FROM resource_providers WHERE parent_id IS NOT NULL`)
	version := []string{"OpenStack-API-Version", "placement 1.39, berth 1.1"}
	path := "/allocation_candidates?group_policy=none&limit=2&order=id"
	for i := range 37 {
		path += fmt.Sprintf("&resources%d=CUSTOM_CRATE:%d", i, []int{16, 17, 3}[min(2, max(0, i-27)/2)])
	}
	if answer := s.ask(http.MethodGet, path, nil, version...); answer.Code != http.StatusOK || strings.Count(answer.Body.String(), `"mappings"`) != 2 {
		t.Errorf("status = %d: %s", answer.Code, answer.Body)
	}
	if found := value(t, s.metrics(), "berth_allocation_candidates_trees_given_up_total"); found != 5 {
		t.Errorf("trees given up = %v, want 5", found)
	}
	if logged := strings.Count(s.log.String(), "gave up a provider tree"); logged != 1 {
		t.Errorf("lines = %d, want 1 in an interval", logged)
	}
	answer := s.ask(http.MethodGet, path+"&in_tree0=00000000-0000-4000-8000-000000000100", nil, version...)
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "it has found none") {
		t.Errorf("status = %d: %s", answer.Code, answer.Body)
	}
}
