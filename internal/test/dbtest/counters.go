package dbtest

import (
	"testing"
	"time"
)

// counterTimeout limits how long a test waits for the counters of its sessions.
const counterTimeout = 30 * time.Second

// AwaitCounters waits until the statistics of PostgreSQL, such as pg_stat_user_tables, have all that the test has done through
// the pool. A session reports what it did up to seconds later, or when it ends, so a test that compares counters before
// and after would count its own preparation as well. The connections of the pool are new afterwards.
func (db *DB) AwaitCounters(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	if _, err := db.Pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS awaited_counters (session int)"); err != nil {
		t.Fatal(err)
	}
	// What a session reports arrives in its order. So its rows of this table come last.
	sessions := db.Pool.AcquireAllIdle(ctx)
	for i, session := range sessions {
		if _, err := session.Exec(ctx, "INSERT INTO awaited_counters VALUES ($1)", i); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range sessions {
		session.Release()
	}
	db.Pool.Reset()
	for deadline := time.Now().Add(counterTimeout); ; time.Sleep(5 * time.Millisecond) {
		var rows, counted int
		if err := db.Pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM awaited_counters),
			(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'awaited_counters')`).Scan(&rows, &counted); err != nil {
			t.Fatal(err)
		}
		if counted >= rows {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL counted %d of %d rows in %s", counted, rows, counterTimeout)
		}
	}
}
