package history_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/history"
	"github.com/berthd/berth/server/data/store"
)

// leasesOf moves the ends of leases in a database by changing their rows, and removes consumers as a server does. end closes its
// connections.
func leasesOf(t *testing.T, db *dbtest.DB, on *store.Store) (leases *history.Leases, end func()) {
	t.Helper()
	config := db.Pool.Config()
	config.MaxConns = 4
	clock, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return &history.Leases{
		Expire: func(ctx context.Context, consumer uuid.UUID) (bool, error) {
			done, err := clock.Exec(ctx, `UPDATE leases SET expires_at = $2, due = $2
				WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = $1)`, consumer, history.Expired())
			return done.RowsAffected() > 0, err
		},
		Remove: func(ctx context.Context) ([]history.Removed, bool, error) {
			found, more, err := on.LeaseExpire(ctx)
			removed := make([]history.Removed, len(found))
			for i := range found {
				removed[i] = history.Removed{Consumer: found[i].Consumer, Generation: found[i].Generation}
				for _, one := range found[i].Allocations {
					removed[i].Allocations = append(removed[i].Allocations, history.RemovedAllocation(one))
				}
			}
			return removed, more, err
		},
	}, clock.Close
}

// leaseMutations are possible mistakes with leases.
var leaseMutations = map[string]struct {
	edits []edit
	by    detector
}{
	"a removal does not compare the end after it has locked": {[]edit{
		{"lease_expire", "PERFORM allocation_lock_providers(v_ids, '{}');", longWindow + " PERFORM allocation_lock_providers(v_ids, '{}');"},
		{"lease_expire", "AND lease.expires_at <= clock_timestamp()\n        ORDER BY lease.consumer_id FOR UPDATE", "ORDER BY lease.consumer_id FOR UPDATE"},
	}, byHistory},
	"a write that gives a lease does not begin it": {[]edit{
		{"lease_expire", "moved := 0;", longWindow + " moved := 0;"},
		{"lease_write", "expires_at = excluded.expires_at, due = least(lease.due, excluded.due)", "expires_at = lease.expires_at, due = lease.due"},
	}, byHistory},
	"a renewal does not find a consumer that was created again": {[]edit{
		{"lease_renew", "v_now := clock_timestamp();", longWindow + " v_now := clock_timestamp();"},
		{"lease_renew", "renewed.consumer_id IS NOT NULL OR found.id IS NOT NULL\n            AND (NOT found.leased OR EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = found.id))",
			"renewed.consumer_id IS NOT NULL OR EXISTS (SELECT FROM consumers AS consumer WHERE consumer.uuid = requested.uuid)"},
	}, byHistory},
}

func TestHistory_LeaseMutations_AllDetected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	for name, fault := range leaseMutations {
		t.Run(name, func(t *testing.T) {
			plantOrSkip(t, name)
			detect(t, fault.edits, "", fault.by, history.Expiries)
		})
	}
}
