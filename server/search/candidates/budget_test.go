package candidates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
)

// panels is a tree with twelve devices.
const panels = `
	INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_PANEL');
	INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE VALUES (1, gen_random_uuid(), 'roof', 1);
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
	SELECT n, gen_random_uuid(), 'panel ' || n, 1, 1 FROM generate_series(2, 13) AS n;
	INSERT INTO provider_generations (provider_id, generation) SELECT n, 0 FROM generate_series(1, 13) AS n;
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	SELECT n, 20000, 1, 100, 0, 1, 100, 1, 1, 0 FROM generate_series(2, 13) AS n`

// panelQuery has 12 to the power of groups combinations.
func panelQuery(groups int) (query candidates.Query) {
	for i := range groups {
		query.Groups = append(query.Groups, wants(fmt.Sprint(i+1), "CUSTOM_PANEL", 1))
	}
	return query
}

func TestCandidates_OverBudget_RejectedBeforeOutput(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), panels); err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	search := candidates.New(opened)
	for name, test := range map[string]struct {
		groups, limit, candidates int
		budget                    int64
		spread                    bool
	}{
		"without a limit":                          {groups: 8, budget: 1_000_000},
		"with the largest limit":                   {groups: 8, budget: 1_000_000, limit: math.MaxInt},
		"breadth first":                            {groups: 8, budget: 1_000_000, spread: true},
		"a limit is enough":                        {groups: 8, budget: 1_000_000, limit: 1000, candidates: 1000},
		"as many as the budget permits":            {groups: 4, budget: 1_000_000, candidates: 12 * 12 * 12 * 12},
		"a small tree is not counted":              {groups: 2, budget: 1, candidates: 12 * 12},
		"no budget and no limit":                   {groups: 3, candidates: 12 * 12 * 12},
		"the check ends at the limit of the query": {groups: 8, budget: 1_000_000, limit: 200_000, candidates: 200_000},
	} {
		query := panelQuery(test.groups)
		query.Limit, query.Budget, query.BreadthFirst = test.limit, test.budget, test.spread
		start := time.Now()
		if test.candidates > 0 {
			if found, _, err := answer(t.Context(), search, query); err != nil || len(found) != test.candidates {
				t.Errorf("%s: candidates = %d, error = %v", name, len(found), err)
			}
			continue
		}
		found, err := search.List(t.Context(), query)
		if err == nil {
			_ = found.Close()
		}
		refused := fault.As(err)
		if refused == nil || refused.Kind != fault.Invalid || !strings.Contains(refused.Detail, "more than 1000000 combinations") {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: rejected after %s", name, time.Since(start))
	}
}
