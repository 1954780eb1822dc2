package store_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// TestInventory_StandardClassIDInUse_OthersStillAdded: VCPU's id belongs to another class, as after manual SQL.
func TestInventory_StandardClassIDInUse_OthersStillAdded(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if _, err := db.Pool.Exec(t.Context(),
		"DELETE FROM resource_classes; INSERT INTO resource_classes (id, name) VALUES (0, 'CUSTOM_FIRST')"); err != nil {
		t.Fatal(err)
	}
	if err := opened.SyncStandardNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, _ := db.Pool.Query(t.Context(), "SELECT name FROM resource_classes WHERE id < 4 ORDER BY id")
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{"CUSTOM_FIRST", "MEMORY_MB", "DISK_GB", "PCI_DEVICE"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("first classes = %q (%v), want %q", names, err, want)
	}
}
