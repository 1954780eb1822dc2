package claims_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
)

// several is a claim of new consumers for one unit of VCPU each.
func several(count int, order candidates.OrderBy, relation candidates.Relation) *claims.SeveralRequest {
	made := &claims.SeveralRequest{Relation: relation, Queries: request(order, nil).Queries}
	for range count {
		made.Consumers = append(made.Consumers, store.Claim{Consumer: uuid.New(), ProjectID: "project", UserID: "user", Type: "INSTANCE"})
	}
	return made
}

func TestClaim_MoreGangsThanPlaces_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	const gangs, members, places = 16, 4, 10
	for name, c := range map[string]struct {
		hosts    int
		total    int32
		order    candidates.OrderBy
		relation candidates.Relation
	}{
		"hosts of one unit":            {places * members, 1, candidates.OrderDefault, candidates.RelationApart},
		"one provider":                 {1, places * members, candidates.OrderDefault, candidates.RelationTogether},
		"four hosts in the same order": {members, places, candidates.OrderID, candidates.RelationNone},
		"four hosts for each":          {members, places, candidates.OrderDefault, candidates.RelationApart},
		"a host for each gang":         {places, members, candidates.OrderDefault, candidates.RelationTogether},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := newCloud(t, c.hosts, c.total)
			outcomes := make([]error, gangs)
			var running sync.WaitGroup
			for i := range gangs {
				running.Go(func() { _, outcomes[i] = made.CreateSeveral(t.Context(), several(members, c.order, c.relation)) })
			}
			running.Wait()
			placed := 0
			for _, err := range outcomes {
				switch {
				case err == nil:
					placed++
				case !errors.Is(err, claims.ErrNothingFits):
					t.Errorf("error = %v, want %v", err, claims.ErrNothingFits)
				}
			}
			var used int
			if err := made.db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM allocations").Scan(&used); err != nil {
				t.Fatal(err)
			}
			if placed != places || used != places*members {
				t.Errorf("placed = %d with %d allocations, want %d with %d", placed, used, places, places*members)
			}
			if retries := made.store.Pool().Retries(); retries > 0 {
				t.Errorf("retries = %d, want 0", retries)
			}
		})
	}
}

func TestClaim_SeveralRefused_NoneIsPlaced(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 2, 1)
	asked := several(3, candidates.OrderDefault, candidates.RelationNone)
	var found *candidates.PlacementSearch
	asked.Refuse = func(_ context.Context, _ *postgres.Snapshot, of *candidates.PlacementSearch) error {
		found = of
		return nil
	}
	if _, err := made.CreateSeveral(t.Context(), asked); !errors.Is(err, claims.ErrNothingFits) {
		t.Fatalf("error = %v, want %v", err, claims.ErrNothingFits)
	}
	if found.Fit != 2 || !found.IsExact {
		t.Errorf("found = %+v, want exactly 2 that fit", found)
	}
}

// TestClaim_SeveralBehindChange_SearchesAgain holds the write while the first of three hosts is filled.
func TestClaim_SeveralBehindChange_SearchesAgain(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 3, 1)
	var got claims.SeveralResult
	err := made.behind(t, "UPDATE inventories SET reserved = 1 WHERE provider_id = 1", func(ctx context.Context) (err error) {
		got, err = made.CreateSeveral(ctx, several(2, candidates.OrderID, candidates.RelationApart))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Searches != 2 || got.Effort != (store.ClaimEffort{Full: 1}) || got.Members[0].RootID != 2 || got.Members[1].RootID != 3 {
		t.Errorf("got = %+v, want the second and the third host after two searches", got)
	}
}

// TestClaim_AllSearchesTooLate_Contended changes the only host between each search and its write: a trigger does, so each
// claim that is rolled back also takes back the change.
func TestClaim_AllSearchesTooLate_Contended(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 1, 2)
	const reviseBeforeWrites = `
		CREATE FUNCTION revise_before_writes() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN UPDATE resource_providers SET name = name WHERE id = 1; RETURN NEW; END $$;
		CREATE TRIGGER revise_before_writes BEFORE INSERT ON consumers FOR EACH ROW EXECUTE FUNCTION revise_before_writes()`
	if _, err := made.db.Pool.Exec(t.Context(), reviseBeforeWrites); err != nil {
		t.Fatal(err)
	}
	if got, err := made.Create(t.Context(), request(candidates.OrderID, nil)); !errors.Is(err, claims.ErrContended) || got.Searches != 16 {
		t.Errorf("error = %v after %d searches, want %v after 16", err, got.Searches, claims.ErrContended)
	}
	got, err := made.CreateSeveral(t.Context(), several(2, candidates.OrderID, candidates.RelationNone))
	if !errors.Is(err, claims.ErrContended) || got.Searches != 16 {
		t.Errorf("several: error = %v after %d searches, want %v after 16", err, got.Searches, claims.ErrContended)
	}
}
