package migrate_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/migrate"
)

// lockedLog is a log that one goroutine may read while another writes it.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// session is a connection with an application_name.
func session(t *testing.T, db *dbtest.DB, name string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["application_name"] = name
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// TestMigration_TableIsBeingRead_RequestsPassAndMigrationIsRetried: ALTER TABLE waits for a reader. Without a lock
// timeout, all requests would queue behind that wait.
func TestMigration_TableIsBeingRead_RequestsPassAndMigrationIsRetried(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	up(t, load(t, files(1, "first", createCargo)), db.URL)
	reader := session(t, db, "a slow report")
	if _, err := reader.Exec(t.Context(), "BEGIN; SELECT FROM cargo"); err != nil {
		t.Fatal(err)
	}
	var log lockedLog
	type outcome struct {
		report migrate.Report
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		report, err := load(t, files(1, "first", createCargo, addTons)).UpWithin(t.Context(), db.URL,
			migrate.Waits{LockTimeout: 500 * time.Millisecond, RetryTimeout: 5 * time.Minute}, slog.New(slog.NewTextHandler(&log, nil)))
		ended <- outcome{report, err}
	}()
	request := session(t, db, "a request")
	if _, err := request.Exec(t.Context(), "SET statement_timeout = '10s'"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); strings.Count(log.String(), "did not get a lock") < 2; time.Sleep(20 * time.Millisecond) {
		if _, err := request.Exec(t.Context(), "SELECT FROM cargo"); err != nil {
			t.Fatalf("request while the migration waits: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("no second attempt: %s", log.String())
		}
	}
	for _, want := range []string{"cargo (AccessExclusiveLock)", "a slow report (pid ", "idle in transaction"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log.String())
		}
	}
	if err := reader.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.err != nil || got.report.To != 2 {
		t.Errorf("got %+v, %v", got.report, got.err)
	}
}

func TestMigration_LockIsNeverFree_FailsAndNamesHolder(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	up(t, load(t, files(1, "first", createCargo)), db.URL)
	reader := session(t, db, "a slow report")
	if _, err := reader.Exec(t.Context(), "BEGIN; SELECT FROM cargo"); err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	_, err := load(t, files(1, "first", createCargo, addTons)).UpWithin(ctx, db.URL,
		migrate.Waits{LockTimeout: 500 * time.Millisecond}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "held by a slow report (pid ") {
		t.Errorf("got %v", err)
	}
}

// TestMigration_TriggerTableIsBeingWritten_FunctionsAreRetried: replacing a trigger waits for writers.
func TestMigration_TriggerTableIsBeingWritten_FunctionsAreRetried(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	up(t, load(t, files(1, "first", createCargo)), db.URL)
	writer := session(t, db, "a slow writer")
	if _, err := writer.Exec(t.Context(), "BEGIN; INSERT INTO cargo VALUES ('rice')"); err != nil {
		t.Fatal(err)
	}
	folder := files(2, "second", createCargo)
	folder["functions/weigh.sql"] = &fstest.MapFile{Data: []byte(`CREATE OR REPLACE FUNCTION weigh() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
		CREATE OR REPLACE TRIGGER weighed BEFORE INSERT ON cargo FOR EACH ROW EXECUTE FUNCTION weigh();`)}
	set := load(t, folder)
	var log lockedLog
	ended := make(chan error, 1)
	go func() {
		_, err := set.UpWithin(t.Context(), db.URL, migrate.Waits{LockTimeout: 300 * time.Millisecond, RetryTimeout: 5 * time.Minute},
			slog.New(slog.NewTextHandler(&log, nil)))
		ended <- err
	}()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(log.String(), "cargo (ShareRowExclusiveLock)"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no failed attempt: %s", log.String())
		}
	}
	if err := writer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
