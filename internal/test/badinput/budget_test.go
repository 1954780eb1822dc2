package badinput

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// manyPlaces are six hundred providers with one inventory, and after them a tree with twelve.
const manyPlaces = `
	INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_PLACE');
	INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
	SELECT n, gen_random_uuid(), 'garage ' || n, n FROM generate_series(1, 601) AS n;
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
	SELECT n, gen_random_uuid(), 'place ' || n, 601, 601 FROM generate_series(602, 613) AS n;
	INSERT INTO provider_generations (provider_id, generation) SELECT n, 0 FROM generate_series(1, 613) AS n;
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	SELECT n, 20000, least(n, 601), 100, 0, 1, 100, 1, 1, 0 FROM generate_series(1, 613) AS n WHERE n <> 601`

// TestCandidates_BudgetExceededMidStream_AbortsResponse checks that an error after a part of the
// response has been generated is returned as any other error.
func TestCandidates_BudgetExceededMidStream_AbortsResponse(t *testing.T) {
	t.Parallel()
	s := newTested(t, func(_ *postgres.Options, options *server.Options) { options.Placement.Candidates.Budget = 100_000 })
	if _, err := s.db.Pool.Exec(t.Context(), manyPlaces); err != nil {
		t.Fatal(err)
	}
	target := "/allocation_candidates?group_policy=none"
	for _, suffix := range []string{"1", "2", "3", "4", "5", "6"} {
		target += "&resources" + suffix + "=CUSTOM_PLACE:1"
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader([]byte(head("GET", target)))))
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, r.WithContext(t.Context()))
	if answer.Code != http.StatusBadRequest || !json.Valid(answer.Body.Bytes()) || !strings.Contains(answer.Body.String(), "more than 100000 combinations") {
		t.Errorf("status %d: %.500s", answer.Code, answer.Body)
	}
	if modified := answer.Header().Get("Last-Modified"); modified != "" {
		t.Errorf("Last-Modified of the error = %s, want none", modified)
	}
}
