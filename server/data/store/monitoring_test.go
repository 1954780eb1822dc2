package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// TestMetrics_RoleWithoutPrivileges_HealthReadable: a role that may only connect reads the values that are documented
// for it.
func TestMetrics_RoleWithoutPrivileges_HealthReadable(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	_, address := dbtest.Role(t, db, "unprivileged")
	data, err := store.Open(t.Context(), postgres.Options{URL: address, Pooler: true})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	found, err := data.DatabaseHealth(t.Context())
	// Before version 15 statistics are visible half a second later.
	for deadline := time.Now().Add(20 * time.Second); err == nil && found.Commits == 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		found, err = data.DatabaseHealth(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if found.Size <= 0 || found.Connections <= 0 || found.MaxConnections <= 0 || found.TransactionIDAge <= 0 || found.VersionNumber < 140000 ||
		found.Version == "" || found.InRecovery || found.OldestTransaction < 0 || found.Commits <= 0 {
		t.Errorf("health = %+v", found)
	}
	if _, err := data.CapacityList(t.Context(), 10); err == nil {
		t.Error("the role can read inventories")
	}
}

func TestMetrics_OldTransactionAndOverCapacity_Reported(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	data, err := store.Open(t.Context(), postgres.Options{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if _, err := db.Pool.Exec(t.Context(), `
		INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SEAT'), (20001, 'CUSTOM_OAR');
		INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		VALUES (1, gen_random_uuid(), 'ship', 1), (2, gen_random_uuid(), 'boat', 2);
		INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
		VALUES (1, 20000, 1, 10, 3, 1, 10, 1, 1.5, 11), (2, 20000, 2, 2147483647, 0, 1, 10, 1, 1, 0), (2, 20001, 2, 5, 0, 1, 5, 1, 1, 5)`); err != nil {
		t.Fatal(err)
	}
	open, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Rollback(context.WithoutCancel(t.Context()))
	time.Sleep(50 * time.Millisecond)
	if found, err := data.DatabaseHealth(t.Context()); err != nil || found.OldestTransaction < 0.05 || found.OldestTransaction > 3600 {
		t.Errorf("oldest transaction = %v s, error = %v", found.OldestTransaction, err)
	}
	// (10 - 3) * 1.5 is 10 whole seats, and 11 are used.
	seats := store.Capacity{Name: "CUSTOM_SEAT", Providers: 2, Total: 2147483657, Reserved: 3, Capacity: 2147483657, Used: 11, OverCapacity: 1}
	oars := store.Capacity{Name: "CUSTOM_OAR", Providers: 1, Total: 5, Capacity: 5, Used: 5}
	found, err := data.CapacityList(t.Context(), 10)
	if err != nil || len(found) != 2 || found[0] != seats || found[1] != oars {
		t.Errorf("got %+v, %v", found, err)
	}
	if found, err := data.CapacityList(t.Context(), 1); err != nil || len(found) != 1 || found[0] != seats {
		t.Errorf("first class = %+v, error = %v", found, err)
	}
}
