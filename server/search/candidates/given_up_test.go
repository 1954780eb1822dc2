package candidates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/google/uuid"
)

// rack is a tree whose host has devices of 65 units: 37 groups of crateQuery fit on 9 of them, but not on 8, which takes more
// than 40,000 steps to prove.
const rack = `
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
	SELECT 100 * $1::bigint + n, ('00000000-0000-4000-8000-' || lpad((100 * $1::bigint + n)::text, 12, '0'))::uuid, 'rack ' || $1 || '-' || n, 100 * $1::bigint,
		CASE WHEN n > 0 THEN 100 * $1::bigint END
	FROM generate_series(0, $2::int) AS n`

// crateCloud creates racks with these numbers of devices, whose roots are 100, 200 and so on.
func crateCloud(t *testing.T, devices ...int) *candidates.Search {
	t.Helper()
	made := dbtest.New(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := made.Pool.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_CRATE')")
	for i, n := range devices {
		exec(rack, i+1, n)
	}
	exec("INSERT INTO provider_generations (provider_id, generation) SELECT id, 0 FROM resource_providers")
	exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
		SELECT id, 20000, root_id, 65, 0, 1, 65, 1, 1, 0 FROM resource_providers WHERE parent_id IS NOT NULL`)
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return candidates.New(opened)
}

// crateBudget is less than a rack of 8 devices takes.
const crateBudget = 16 << 10

func crateQuery() candidates.Query {
	query := candidates.Query{Limit: 2, Budget: crateBudget, Order: candidates.Order{By: candidates.OrderID}}
	for i := range 37 {
		amount := 3
		if i < 29 {
			amount = 16
		} else if i < 31 {
			amount = 17
		}
		query.Groups = append(query.Groups, wants(fmt.Sprint(i+1), "CUSTOM_CRATE", amount))
	}
	return query
}

// rackUUID is the host of a rack.
func rackUUID(number int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", 100*number))
}

func TestCandidates_TreeExceedsItsShare_OtherTreesAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*candidates.Query)
		found   int
		givenUp int64
	}{
		"in the order of ids":       {func(*candidates.Query) {}, 2, 1},
		"one of each tree":          {func(q *candidates.Query) { q.LimitPerTree = 1 }, 1, 2},
		"without a limit":           {func(q *candidates.Query) { q.Limit, q.LimitPerTree = 0, 1 }, 1, 2},
		"breadth first":             {func(q *candidates.Query) { q.Order, q.BreadthFirst, q.LimitPerTree = candidates.Order{}, true, 1 }, 1, 2},
		"with the largest limit":    {func(q *candidates.Query) { q.Limit, q.LimitPerTree = 1<<50, 3 }, 3, 2},
		"the tree alone has no end": {func(q *candidates.Query) { q.Groups[0].InTree = new(rackUUID(2)) }, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			search, query := crateCloud(t, 8, 9, 8), crateQuery()
			test.change(&query)
			for range 2 { // the second time the names are known
				before := search.TreesGivenUp()
				found, hosts, err := answer(t.Context(), search, query)
				if err != nil || len(found) != test.found || !slices.Equal(hosts, []string{rackUUID(2).String()}) {
					t.Errorf("candidates = %d of %v, error = %v, want %d of the second rack", len(found), hosts, err, test.found)
				}
				if count := search.TreesGivenUp() - before; count != test.givenUp {
					t.Errorf("trees given up = %d, want %d", count, test.givenUp)
				}
			}
		})
	}
}

// TestCandidates_ManyTreesExceedTheirShares_LastTreeAnswers: the trees without a candidate leave half of the budget.
func TestCandidates_ManyTreesExceedTheirShares_LastTreeAnswers(t *testing.T) {
	t.Parallel()
	search := crateCloud(t, append(slices.Repeat([]int{8}, 40), 9)...)
	result, err := search.List(t.Context(), crateQuery())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = result.Close() }()
	count := 0
	for _, err := range result.All() {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if spent := result.Spent(); count != 2 || search.TreesGivenUp() != 40 || spent == 0 || spent > crateBudget/2 {
		t.Errorf("candidates = %d, trees given up = %d, spent = %d, want 2, 40 and at most %d", count, search.TreesGivenUp(), spent, crateBudget/2)
	}
}

// TestCandidates_OnlyTreesThatExceedTheirShares_Rejected: a query without any candidate does not claim that there is none.
func TestCandidates_OnlyTreesThatExceedTheirShares_Rejected(t *testing.T) {
	t.Parallel()
	search, query := crateCloud(t, 8, 8), crateQuery()
	rejected := func(name string, err error) {
		t.Helper()
		refused := fault.As(err)
		if refused == nil || refused.Kind != fault.Invalid || !strings.Contains(refused.Detail, "it has found none") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	for range 2 {
		found, _, err := answer(t.Context(), search, query)
		rejected(fmt.Sprint(len(found)), err)
	}
	query.Groups[0].InTree = new(rackUUID(1))
	_, _, err := answer(t.Context(), search, query)
	rejected("in_tree", err)
	_, err = search.FindForClaim(t.Context(), []candidates.Query{crateQuery()}, candidates.ClaimOptions{Limit: 2})
	rejected("claim", err)
	_, err = search.FindPlacement(t.Context(), []candidates.Query{crateQuery()}, candidates.PlacementOptions{Members: 2})
	rejected("placement", err)
}

// TestCandidates_OtherSearchesGiveUpTrees_SayNotExact: what counts or places does not present the trees as full.
func TestCandidates_OtherSearchesGiveUpTrees_SayNotExact(t *testing.T) {
	t.Parallel()
	search, query := crateCloud(t, 8, 9, 8), crateQuery()
	claim, err := search.FindForClaim(t.Context(), []candidates.Query{query}, candidates.ClaimOptions{Limit: 8})
	if err != nil || len(claim.Candidates) != 4 || claim.Candidates[0].RootID != 200 {
		t.Errorf("claim = %+v, error = %v, want four candidates of the second rack", claim, err)
	}
	placement := mustPlace(t, search, 2, candidates.RelationNone, query)
	if placement.Fit != 1 || placement.IsExact {
		t.Errorf("placement = %+v, want one that is not exact", placement)
	}
	fit := mustFit(t, search, candidates.FitQuery{Query: query, Count: 3})
	if fit.Fit != 1 || fit.AtMost != 3 || fit.Stopped != candidates.StoppedAtEnd {
		t.Errorf("fit = %+v, want one, and at most 3", fit)
	}
	result, err := search.ListInSnapshot(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = result.Close() }()
	in := result.Snapshot()
	query.LimitPerTree = 1
	count, isAll, err := search.CountIn(t.Context(), in, query, time.Time{})
	if err != nil || count != 1 || isAll {
		t.Errorf("count = %d, all = %v, error = %v, want 1 and not all", count, isAll, err)
	}
	with, givenUp, err := search.TreesWithCandidates(t.Context(), in, query, []int64{100, 200, 300}, false)
	if err != nil || !slices.Equal(with, []int64{200}) || !slices.Equal(givenUp, []int64{100, 300}) {
		t.Errorf("with = %v, given up = %v, error = %v, want 200, and 100 and 300", with, givenUp, err)
	}
}
