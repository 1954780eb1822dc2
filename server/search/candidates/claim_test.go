package candidates_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// mustFind searches for a claim.
func mustFind(t *testing.T, search *candidates.Search, options candidates.ClaimOptions, questions ...candidates.Query) *candidates.ClaimSearch {
	t.Helper()
	found, err := search.FindForClaim(t.Context(), questions, options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rootsOf returns the anchors of candidates, each as often as it appears.
func rootsOf(of *candidates.ClaimSearch) (roots []int64) {
	for i := range of.Candidates {
		roots = append(roots, of.Candidates[i].RootID)
	}
	return roots
}

// TestCandidates_ForClaim_TreesTakeTurns has 40 hosts of which the even ones have two more providers with slots.
func TestCandidates_ForClaim_TreesTakeTurns(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 40)
	cloud.addHosts(101, 140)
	cloud.exec("UPDATE resource_providers SET parent_id = 2 * ((id - 101) / 2 % 20 + 1), root_id = 2 * ((id - 101) / 2 % 20 + 1) WHERE id > 100")
	search, query := cloud.open(), slots(5, 0)
	query.LimitPerTree, query.Limit, query.Randomize = 1, 1, false // these have no effect
	for _, limit := range []int{8, 40, 64, 512} {
		for range 2 { // the second search knows the names
			roots := rootsOf(mustFind(t, search, candidates.ClaimOptions{Limit: limit}, query))
			if want := min(limit, 80); len(roots) != want {
				t.Fatalf("limit %d: %d candidates, want %d", limit, len(roots), want)
			}
			first := slices.Sorted(slices.Values(roots[:min(limit, 40)]))
			if len(slices.Compact(first)) != min(limit, 40) {
				t.Errorf("limit %d: the first candidates have the roots %v, want one of each", limit, first)
			}
		}
	}
}

// TestCandidates_ForClaimWithOrder_FourOfATree has two trees of six providers with slots. The emptiest provider of all is in
// the second one.
func TestCandidates_ForClaimWithOrder_FourOfATree(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 12)
	cloud.exec("UPDATE resource_providers SET parent_id = 1, root_id = 1 WHERE id BETWEEN 2 AND 6")
	cloud.exec("UPDATE resource_providers SET parent_id = 7, root_id = 7 WHERE id > 7")
	cloud.exec("UPDATE inventories SET used = 10 + provider_id")
	cloud.exec("UPDATE inventories SET used = 1 WHERE provider_id = 9")
	query := slots(5, 0)
	query.Extended, query.Order = true, candidates.Order{By: candidates.OrderSpread, Class: "CUSTOM_SLOT"}
	found := mustFind(t, cloud.open(), candidates.ClaimOptions{Limit: 64}, query)
	if roots, want := rootsOf(found), []int64{7, 7, 7, 7, 1, 1, 1, 1}; !slices.Equal(roots, want) {
		t.Errorf("roots = %v, want %v", roots, want)
	}
	if use := found.Candidates[0].Uses[0]; use.ProviderID != 9 {
		t.Errorf("the first candidate uses provider %d, want 9", use.ProviderID)
	}
}

// sharedPool makes host 1 a pool that shares class 20000 with hosts 2 and 3, which have class 20001 instead.
func sharedPool(t *testing.T) *cloud {
	t.Helper()
	cloud := newCloud(t, 4)
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_CPU')")
	cloud.exec("UPDATE inventories SET class_id = 20001 WHERE provider_id > 1")
	cloud.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (1, $1)", dbtest.NumberedUUID("a9", 1))
	cloud.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT n, 1 FROM generate_series(1, 3) AS n")
	cloud.exec("INSERT INTO provider_traits SELECT 1, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'")
	return cloud
}

// poolQuestion asks for slots of the pool and CPUs of a host.
func poolQuestion(slots int) candidates.Query {
	return candidates.Query{Extended: true, Order: candidates.Order{By: candidates.OrderID}, Groups: []candidates.Group{
		wants("_S", "CUSTOM_SLOT", slots), wants("_C", "CUSTOM_CPU", 2), wants("_D", "CUSTOM_CPU", 3),
	}}
}

func TestCandidates_ForClaim_UsesGuardsAndLinks(t *testing.T) {
	t.Parallel()
	cloud := sharedPool(t)
	cloud.exec("UPDATE resource_providers SET name = name || '-new' WHERE id = 3")
	var revisions [4]int64
	for id := range revisions {
		if err := cloud.Pool.QueryRow(t.Context(), "SELECT COALESCE((SELECT revision FROM resource_providers WHERE id = $1), 0)", id).Scan(&revisions[id]); err != nil {
			t.Fatal(err)
		}
	}
	if revisions[3] <= revisions[2] {
		t.Fatalf("revisions = %v, want a larger one of 3", revisions)
	}
	found := mustFind(t, cloud.open(), candidates.ClaimOptions{Limit: 8}, poolQuestion(5))
	if roots, want := rootsOf(found), []int64{2, 3}; !slices.Equal(roots, want) {
		t.Fatalf("roots = %v, want %v", roots, want)
	}
	for i, id := range []int64{2, 3} {
		got, host := found.Candidates[i], hostUUID(int(id))
		wantUses := []candidates.ClaimUse{
			{ProviderID: 1, Provider: hostUUID(1), ClassID: 20000, Class: "CUSTOM_SLOT", Amount: 5},
			{ProviderID: id, Provider: host, ClassID: 20001, Class: "CUSTOM_CPU", Amount: 5},
		}
		wantGuards := []candidates.ClaimGuard{{ProviderID: 1, Revision: revisions[1]}, {ProviderID: id, Revision: revisions[id]}}
		if got.Root != host || !slices.Equal(got.Uses, wantUses) || !slices.Equal(got.Guards, wantGuards) ||
			!slices.Equal(got.Links, []candidates.ClaimLink{{RootID: id, ProviderID: 1}}) {
			t.Errorf("candidate = %+v", got)
		}
		for suffix, want := range map[string]uuid.UUID{"_S": hostUUID(1), "_C": host, "_D": host} {
			if !slices.Equal(got.Mappings[suffix], []uuid.UUID{want}) {
				t.Errorf("mapping of %s = %v, want %s", suffix, got.Mappings[suffix], want)
			}
		}
	}
}

func TestCandidates_ForClaimWithFreed_TheirTreesFirst(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 300)
	cloud.fill(100, 1, 300)
	search := cloud.open()
	freed := candidates.ClaimOptions{Limit: 8, Freed: []candidates.FreedAmount{{ProviderID: 250, ClassID: 20000, Amount: 40}}}
	for amount, want := range map[int][]int64{40: {250}, 41: nil} {
		if roots := rootsOf(mustFind(t, search, freed, slots(amount, 0))); !slices.Equal(roots, want) {
			t.Errorf("%d slots: roots = %v, want %v", amount, roots, want)
		}
	}
	cloud.fill(0, 1, 20)
	for _, order := range []candidates.OrderBy{candidates.OrderDefault, candidates.OrderID, candidates.OrderPack, candidates.OrderSpread, candidates.OrderRandom} {
		query := slots(40, 0)
		query.Extended, query.Order = true, candidates.Order{By: order, Class: "CUSTOM_SLOT"}
		roots := rootsOf(mustFind(t, search, freed, query))
		if len(roots) != 8 || roots[0] != 250 || slices.Contains(roots[1:], 250) {
			t.Errorf("order %d: roots = %v, want 8, and 250 first", order, roots)
		}
	}
}

func TestCandidates_ForClaimWithFreedPool_TreesThatReachIt(t *testing.T) {
	t.Parallel()
	cloud := sharedPool(t)
	cloud.fill(100, 1, 1)
	search := cloud.open()
	freed := candidates.ClaimOptions{Limit: 8, Freed: []candidates.FreedAmount{{ProviderID: 1, ClassID: 20000, Amount: 7}}}
	for amount, want := range map[int][]int64{7: {2, 3}, 8: nil} {
		if roots := rootsOf(mustFind(t, search, freed, poolQuestion(amount))); !slices.Equal(roots, want) {
			t.Errorf("%d slots: roots = %v, want %v", amount, roots, want)
		}
	}
	if roots := rootsOf(mustFind(t, search, candidates.ClaimOptions{Limit: 8}, poolQuestion(7))); roots != nil {
		t.Errorf("without freed amounts: roots = %v, want none", roots)
	}
}

func TestCandidates_ForClaimQuestions_FirstThatFits(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 10)
	search := cloud.open()
	looked, refused := 0, 0
	options := candidates.ClaimOptions{
		Limit: 8, MayUseReplica: true,
		Look: func(context.Context, *postgres.Snapshot) error { looked++; return nil },
		Refuse: func(ctx context.Context, in *postgres.Snapshot, found *candidates.ClaimSearch) error {
			refused++
			count, _, err := search.CountIn(ctx, in, slots(5, 3), time.Now().Add(time.Minute))
			if err == nil && (count != 3 || len(found.Candidates) != 0) {
				return errors.New("another snapshot")
			}
			return err
		},
	}
	found := mustFind(t, search, options, slots(101, 0), slots(5, 0), slots(6, 0))
	if found.Query != 1 || len(found.Candidates) != 8 || looked != 1 || refused != 0 {
		t.Errorf("question %d, %d candidates, %d looks, %d refusals, want 1, 8, 1, 0", found.Query, len(found.Candidates), looked, refused)
	}
	found = mustFind(t, search, options, slots(5, 0))
	if len(found.Candidates) != 8 || looked != 1 {
		t.Errorf("with known names: %d candidates, %d looks, want 8, 1", len(found.Candidates), looked)
	}
	found = mustFind(t, search, options, slots(5, 0), slots(101, 0))
	if found.Query != 0 || looked != 1 {
		t.Errorf("question = %d with %d looks, want 0, 1", found.Query, looked)
	}
	found = mustFind(t, search, options, slots(102, 0), slots(101, 0))
	if found.Query != 1 || found.Candidates != nil || found.Reason != candidates.EmptyAmount || looked != 2 || refused != 1 {
		t.Errorf("found = %+v, %d looks, %d refusals", found, looked, refused)
	}
}

func TestCandidates_ForClaimErrors_NameTheQuestion(t *testing.T) {
	t.Parallel()
	search := newCloud(t, 2).open()
	_, err := search.FindForClaim(t.Context(), []candidates.Query{slots(101, 0), requiring(slots(1, 0), "CUSTOM_MISSING")}, candidates.ClaimOptions{Limit: 8})
	var at *candidates.QueryError
	var refused *store.RuleViolation
	if !errors.As(err, &at) || at.Query != 1 || !errors.As(err, &refused) || refused.Rule != store.TraitNotFound {
		t.Errorf("error = %v, want an unknown trait of question 1", err)
	}
	gone := errors.New("the generation differs")
	_, err = search.FindForClaim(t.Context(), []candidates.Query{slots(101, 0)}, candidates.ClaimOptions{
		Limit: 8, Look: func(context.Context, *postgres.Snapshot) error { return gone },
	})
	if !errors.Is(err, gone) || errors.As(err, &at) && at.Err == gone {
		t.Errorf("error = %v, want that of Look", err)
	}
}

// TestCandidates_NotInTree_OtherTreesOnly excludes most trees, by children and by names that do not exist.
func TestCandidates_NotInTree_OtherTreesOnly(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 300)
	cloud.exec("UPDATE resource_providers SET parent_id = id - 1, root_id = id - 1 WHERE id % 2 = 0")
	search := cloud.open()
	query := slots(5, 0)
	query.Extended, query.NotInTree = true, []uuid.UUID{dbtest.NumberedUUID("bb", 1)}
	for id := 2; id <= 290; id += 2 {
		query.NotInTree = append(query.NotInTree, hostUUID(id))
	}
	for _, order := range []candidates.OrderBy{candidates.OrderDefault, candidates.OrderID, candidates.OrderPack, candidates.OrderSpread, candidates.OrderRandom} {
		for _, limit := range []int{0, 3, 300, 300} {
			query.Order, query.Limit = candidates.Order{By: order, Class: "CUSTOM_SLOT"}, limit
			got := mustRead(t, search, query)
			want := 10
			if limit == 3 {
				want = 3
			}
			if len(got.candidates) != want {
				t.Errorf("order %d, limit %d: %d candidates, want %d", order, limit, len(got.candidates), want)
			}
		}
	}
}
