package idempotency_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/idempotency"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// TestClaim_IdempotencyCleaner_DeletesDueKeysRepeatedly waits for results, not for time.
func TestClaim_IdempotencyCleaner_DeletesDueKeysRepeatedly(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	insert := func() {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), `INSERT INTO idempotency_keys (caller, key, fingerprint, request, status, expires_at)
			SELECT 'caller', gen_random_uuid()::text, '\x00', 'POST /allocations', 204, now() + CASE WHEN n = 1 THEN interval '1 h' ELSE interval '-1 s' END
			FROM generate_series(1, 1500) AS n`); err != nil {
			t.Fatal(err)
		}
	}
	await := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			var rows int64
			if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if keys, _ := opened.IdempotencyStat(); keys == want && rows == want {
				return
			}
		}
		keys, _ := opened.IdempotencyStat()
		t.Fatalf("keys = %d, want %d", keys, want)
	}
	insert()
	cleaner := idempotency.Start(idempotency.Options{Store: opened, Log: servertest.Log(t), Interval: 20 * time.Millisecond})
	await(1)
	insert()
	await(2)
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cleaner.Close(bounded)
	cleaner.Close(bounded)
	if bounded.Err() != nil {
		t.Error("the cleaner did not end")
	}
}
