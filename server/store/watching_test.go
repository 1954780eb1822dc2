package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

func TestALookIsBrokenOffWhenTheStoreIsClosed(t *testing.T) {
	t.Parallel()
	data, err := store.Open(t.Context(), store.Options{URL: dbtest.New(t).URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	looking, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- data.Look(context.Background(), func(ctx context.Context, conn *pgx.Conn) error {
			close(looking)
			_, err := conn.Exec(ctx, "SELECT pg_sleep(60)")
			return err
		})
	}()
	<-looking
	start := time.Now()
	data.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(start) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if err := data.Ping(t.Context()); err == nil {
		t.Error("a closed store can be looked at")
	}
}

func TestALookFindsTheDatabaseAgainAfterItLostTheConnection(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	data, err := store.Open(t.Context(), store.Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if err := data.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	// One look may be the one that finds out.
	if data.Ping(t.Context()) != nil {
		if err := data.Ping(t.Context()); err != nil {
			t.Errorf("it is there again, and a look finds %v", err)
		}
	}
}

// TestHealthNeedsNoRights: a role that may do no more than connect sees what is
// documented.
func TestHealthNeedsNoRights(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	role := db.Name + "_nobody"
	for _, statement := range []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'x'", role), fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", db.Name, role),
	} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if _, err := db.Pool.Exec(context.WithoutCancel(t.Context()), fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", role)); err != nil {
			t.Error(err)
		}
	}()
	data, err := store.Open(t.Context(), store.Options{URL: asRole(t, db.URL, role), Pooler: true})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	found, err := data.DatabaseHealth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found.Size <= 0 || found.Connections <= 0 || found.MaxConnections <= 0 || found.TransactionIDAge <= 0 || found.VersionNumber < 140000 ||
		found.Version == "" || found.InRecovery || found.OldestTransaction < 0 || found.Commits <= 0 {
		t.Errorf("it sees %+v", found)
	}
	if _, err := data.CapacityList(t.Context(), 10); err == nil {
		t.Error("it may read inventories")
	}
}

// asRole is the same database for another role.
func asRole(t *testing.T, databaseURL, role string) string {
	t.Helper()
	at, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(role, "x")
	query := at.Query()
	query.Del("user")
	at.RawQuery = query.Encode()
	return at.String()
}

func TestAnOldTransactionAndAnOverusedProviderAreSeen(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	data, err := store.Open(t.Context(), store.Options{URL: db.URL})
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
		t.Errorf("the oldest transaction is %v s old, %v", found.OldestTransaction, err)
	}
	// (10 - 3) * 1.5 is 10 whole seats, and 11 are taken.
	seats := store.Capacity{Name: "CUSTOM_SEAT", Providers: 2, Total: 2147483657, Reserved: 3, Capacity: 2147483657, Used: 11, Overused: 1}
	oars := store.Capacity{Name: "CUSTOM_OAR", Providers: 1, Total: 5, Capacity: 5, Used: 5}
	found, err := data.CapacityList(t.Context(), 10)
	if err != nil || len(found) != 2 || found[0] != seats || found[1] != oars {
		t.Errorf("got %+v, %v", found, err)
	}
	if found, err := data.CapacityList(t.Context(), 1); err != nil || len(found) != 1 || found[0] != seats {
		t.Errorf("the first is %+v, %v", found, err)
	}
}
