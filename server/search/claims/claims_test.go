package claims_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// cloud is a database with hosts of one unit of VCPU each, and the claims in it.
type cloud struct {
	*claims.Claims
	store *store.Store
	db    *dbtest.DB
}

func newCloud(t *testing.T, hosts int, total int32) *cloud {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	for i := range hosts {
		id := dbtest.NumberedUUID("aa", i+1)
		if _, err := opened.ProviderCreate(t.Context(), id, fmt.Sprintf("host-%d", i+1), nil); err != nil {
			t.Fatal(err)
		}
		record := store.Inventory{Class: "VCPU", Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1}
		if _, err := opened.InventoryReplace(t.Context(), id, 0, []store.Inventory{record}, 1); err != nil {
			t.Fatal(err)
		}
	}
	return &cloud{claims.New(opened, candidates.New(opened.Pool())), opened, db}
}

// request is a claim of a new consumer for one unit of VCPU.
func request(order candidates.OrderBy, change func(*candidates.Query)) *claims.Request {
	query := candidates.Query{
		Groups:   []candidates.Group{{Suffix: "_A", Resources: []store.Amount{{Class: "VCPU", Amount: 1}}}},
		Extended: true, Order: candidates.Order{By: order},
	}
	if change != nil {
		change(&query)
	}
	return &claims.Request{
		Consumer: store.Claim{Consumer: uuid.New(), ProjectID: "project", UserID: "user", Type: "INSTANCE"},
		Queries:  []candidates.Query{query},
	}
}

func TestClaim_MoreClaimantsThanPlaces_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	const claimants, places = 64, 40
	for name, c := range map[string]struct {
		hosts int
		total int32
		order candidates.OrderBy
	}{
		"hosts in random order":   {places, 1, candidates.OrderDefault},
		"hosts in the same order": {places, 1, candidates.OrderID},
		"one provider":            {1, places, candidates.OrderDefault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := newCloud(t, c.hosts, c.total)
			outcomes := make([]error, claimants)
			var running sync.WaitGroup
			for i := range claimants {
				running.Go(func() { _, outcomes[i] = made.Create(t.Context(), request(c.order, nil)) })
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
			if placed != places {
				t.Errorf("placed = %d, want %d", placed, places)
			}
			if retries := made.store.Pool().Retries(); retries > 0 {
				t.Errorf("retries = %d, want 0", retries)
			}
		})
	}
}

// TestClaim_ChangeBetweenSearchAndWrite_GoesElsewhereOrIsRefused holds the write with a lock on the table of projects while
// the first host, which every search prefers, changes.
func TestClaim_ChangeBetweenSearchAndWrite_GoesElsewhereOrIsRefused(t *testing.T) {
	t.Parallel()
	const prepare = `INSERT INTO traits (name) VALUES ('CUSTOM_A');
		INSERT INTO provider_traits (provider_id, trait_id) SELECT provider.id, trait.id FROM resource_providers AS provider, traits AS trait WHERE trait.name = 'CUSTOM_A';
		INSERT INTO aggregates (uuid) VALUES ('a9000000-0000-4000-8000-000000000001');
		INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT provider.id, aggregate.id FROM resource_providers AS provider, aggregates AS aggregate`
	const moved = `SELECT provider_update(moved.uuid, moved.name, true, parent.uuid, true)
		FROM resource_providers AS moved, resource_providers AS parent WHERE moved.id = 1 AND parent.id = 3`
	inTree := dbtest.NumberedUUID("aa", 1)
	for name, c := range map[string]struct {
		query  func(*candidates.Query)
		change string
		hosts  int
	}{
		"a trait removed": {
			func(q *candidates.Query) { q.Groups[0].Required = [][]string{{"CUSTOM_A"}} },
			"DELETE FROM provider_traits WHERE provider_id = 1", 2,
		},
		"an aggregate left": {
			func(q *candidates.Query) { q.Groups[0].MemberOf = [][]uuid.UUID{{dbtest.NumberedUUID("a9", 1)}} },
			"DELETE FROM provider_aggregates WHERE provider_id = 1", 2,
		},
		// The query excludes the tree to which the first host moves.
		"a tree moved":              {func(q *candidates.Query) { q.NotInTree = []uuid.UUID{dbtest.NumberedUUID("aa", 3)} }, moved, 3},
		"an inventory shrunk":       {nil, "UPDATE inventories SET reserved = 1 WHERE provider_id = 1", 2},
		"the only inventory shrunk": {nil, "UPDATE inventories SET reserved = 1 WHERE provider_id = 1", 1},
		"the trait of the only tree gone": {
			func(q *candidates.Query) {
				q.Groups[0].Required, q.Groups[0].InTree = [][]string{{"CUSTOM_A"}}, &inTree
			},
			"DELETE FROM provider_traits WHERE provider_id = 1", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := newCloud(t, c.hosts, 1)
			if _, err := made.db.Pool.Exec(t.Context(), prepare); err != nil {
				t.Fatal(err)
			}
			got, err := made.createBehind(t, request(candidates.OrderID, c.query), c.change)
			if c.hosts == 1 {
				if !errors.Is(err, claims.ErrNothingFits) {
					t.Errorf("error = %v, want %v", err, claims.ErrNothingFits)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := dbtest.NumberedUUID("aa", 2); got.Chosen.Root != want {
				t.Errorf("root = %s, want %s", got.Chosen.Root, want)
			}
			if failed := got.Effort.Full + got.Effort.Stale; failed != 1 {
				t.Errorf("effort = %+v, want one candidate that failed", got.Effort)
			}
		})
	}
}

// createBehind creates a claim, and makes a change while its first write waits.
func (c *cloud) createBehind(t *testing.T, asked *claims.Request, change string) (made claims.Result, err error) {
	t.Helper()
	err = c.behind(t, change, func(ctx context.Context) (err error) {
		made, err = c.Create(ctx, asked)
		return err
	})
	return made, err
}

// behind runs a claim, and makes a change while its first write waits.
func (c *cloud) behind(t *testing.T, change string, create func(context.Context) error) (err error) {
	t.Helper()
	holder, beginErr := c.db.Pool.Begin(t.Context())
	if beginErr != nil {
		t.Fatal(beginErr)
	}
	// Searches read no projects; each write begins with them.
	if _, err := holder.Exec(t.Context(), "LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = create(context.WithoutCancel(t.Context()))
	}()
	for waiting := 0; waiting == 0; {
		if err := c.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := holder.Exec(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	return err
}
