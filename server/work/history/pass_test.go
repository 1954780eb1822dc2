package history

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// newPasses returns a Stepper whose passes the test makes itself, on a store that connects with this URL.
func newPasses(t *testing.T, url string) *Stepper {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: url, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return New(Options{Store: opened, Log: servertest.Log(t)})
}

// The role of a service that is older than the record lacks the right to call the functions that change the schema.
func TestHistory_RoleWithoutExecute_FailsOnlyWithRecord(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	role, url := dbtest.Role(t, db, "service")
	exec := func(statement string) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role)
	exec("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + role)
	s := newPasses(t, url)
	for range 3 {
		if err := s.pass(t.Context()); err != nil {
			t.Errorf("without a record: %v", err)
		}
	}
	exec("SELECT history_update('on', 7, 0)")
	err := s.pass(t.Context())
	if reported, ok := errors.AsType[*pgconn.PgError](err); !ok || reported.Code != "42501" {
		t.Errorf("with a record: %v, want insufficient privilege", err)
	}
}

// A pass enables or disables the triggers of a table again and again, until a transaction that holds its lock has ended.
func TestHistory_TableLocked_SwitchedLater(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	dbtest.TurnRecordOn(t, db)
	s := newPasses(t, db.URL)
	pass := func() store.HistoryProgress {
		t.Helper()
		if err := s.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		progress, err := s.Store.HistoryState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return progress
	}
	pass()
	writer, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(t.Context(), "INSERT INTO traits (name) VALUES ('CUSTOM_LATE')"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), "SELECT history_update('off', 0, 1)"); err != nil {
		t.Fatal(err)
	}
	if got := pass(); got.IsSwitched {
		t.Errorf("progress = %+v while a table is written", got)
	}
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	pass()
	if got, want := pass(), (store.HistoryProgress{State: store.HistoryOff, Newest: 1, IsSwitched: true}); got != want {
		t.Errorf("progress = %+v, want %+v", got, want)
	}
}
