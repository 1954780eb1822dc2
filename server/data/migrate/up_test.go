package migrate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/jackc/pgx/v5"
)

// The fixtures are versions of one small program: a table, and a function that returns the version that it belongs to.
const (
	createCargo = "-- +goose Up\nCREATE TABLE cargo (name text);\nINSERT INTO cargo VALUES ('tea');\n"
	addTons     = "-- +goose Up\nALTER TABLE cargo ADD COLUMN tons int;\n"
	addIndex    = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY cargo_name_idx ON cargo (name);\n"
)

func edition(text string) string {
	return "CREATE OR REPLACE FUNCTION edition() RETURNS text LANGUAGE sql AS $$ SELECT '" + text + "' $$;\n"
}

// files returns a sql folder with the given migrations, numbered from 1, and the function edition.
func files(number int, text string, migrations ...string) fstest.MapFS {
	folder := fstest.MapFS{
		"functions/VERSION":     {Data: fmt.Appendf(nil, "%d -\n", number)},
		"functions/edition.sql": {Data: []byte(edition(text))},
	}
	for i, m := range migrations {
		folder[fmt.Sprintf("migrations/%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(m)}
	}
	return folder
}

func load(t *testing.T, folder fs.FS) migrate.Set {
	t.Helper()
	set, err := migrate.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func up(t *testing.T, set migrate.Set, url string) migrate.Report {
	t.Helper()
	report, err := set.Up(t.Context(), url, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantReport(t *testing.T, got, want migrate.Report) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// wantRows compares all rows of a query of one text column.
func wantRows(t *testing.T, db *dbtest.DB, query string, want ...string) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
	}
}

// tables selects the tables of a schema, including the bookkeeping tables.
const tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"

func TestMigration_Up_AppliesMissingOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	first := load(t, files(1, "first", createCargo))
	wantReport(t, up(t, first, db.URL), migrate.Report{
		To: 1, Applied: []string{"00001_step.sql"}, FunctionsApplied: true,
	})
	wantReport(t, up(t, first, db.URL), migrate.Report{From: 1, To: 1})
	second := load(t, files(2, "second", createCargo, addTons, addIndex))
	wantReport(t, up(t, second, db.URL), migrate.Report{
		From: 1, To: 3, Applied: []string{"00002_step.sql", "00003_step.sql"}, FunctionsApplied: true,
	})
	wantRows(t, db, "SELECT edition()", "second")
	wantRows(t, db, "SELECT name FROM cargo", "tea")
	wantRows(t, db, tables, "berth_function_set", "berth_migration", "cargo")
	wantRows(t, db, "SELECT number::text FROM berth_function_set ORDER BY number", "1", "2")
}

func TestMigration_NewDatabase_RecordsChanges(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	install := func() {
		t.Helper()
		if _, err := migrate.Install(t.Context(), db.URL, migrate.DefaultWaits, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	install()
	const record = `SELECT format('%s for %s days, %s, %s', state.state, state.keep_days, history_is_switched(),
		(SELECT string_agg(note.after ->> 'state', ' ') FROM outbox AS note)) FROM history_state AS state`
	wantRows(t, db, record, "starting for 7 days, t, on")
	// Neither a further call nor other functions turn it on again.
	for _, statement := range []string{"SELECT history_settle('0'), history_update('off', 7, 1)", "UPDATE berth_function_set SET hash = 'another', number = number - 1"} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	install()
	wantRows(t, db, "SELECT state FROM history_state", "off")
}

func TestMigration_EmbeddedSet_UpToDateAfterUp(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	before, err := migrate.GetStatus(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	report, err := migrate.Up(t.Context(), db.URL, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, report, migrate.Report{To: before.Latest, Applied: before.Pending, FunctionsApplied: true})
	after, err := migrate.GetStatus(t.Context(), db.URL)
	want := migrate.Status{Version: before.Latest, Latest: before.Latest, Installed: before.Known, Known: before.Known}
	if err != nil || !reflect.DeepEqual(after, want) || !after.UpToDate() || after.Newer() {
		t.Errorf("got %+v, %v, want %+v", after, err, want)
	}
	if version, err := migrate.Version(t.Context(), db.URL); err != nil || version != before.Latest {
		t.Errorf("version = %d, error = %v, want %d", version, err, before.Latest)
	}
}

func TestMigration_Status_OnlyReads(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	set := load(t, files(4, "first", createCargo, addTons))
	status, err := set.Status(t.Context(), db.URL)
	want := migrate.Status{Latest: 2, Pending: []string{"00001_step.sql", "00002_step.sql"}, Known: set.Functions()}
	if err != nil || !reflect.DeepEqual(status, want) || status.UpToDate() || status.Newer() {
		t.Errorf("got %+v, %v, want %+v", status, err, want)
	}
	wantRows(t, db, tables)
}

func TestMigration_ConcurrentUps_AppliedOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	// An index built concurrently waits for all snapshots, including those of the processes that wait for the lock.
	set := load(t, files(1, "first", createCargo, addTons, addIndex))
	reports := make([]migrate.Report, 4)
	errs := make([]error, len(reports))
	var running sync.WaitGroup
	for i := range reports {
		running.Go(func() {
			reports[i], errs[i] = set.Up(t.Context(), db.URL, slog.New(slog.DiscardHandler))
		})
	}
	running.Wait()
	applied := 0
	for i, report := range reports {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if report.FunctionsApplied {
			applied++
			wantReport(t, report, migrate.Report{
				To: 3, Applied: []string{"00001_step.sql", "00002_step.sql", "00003_step.sql"}, FunctionsApplied: true,
			})
		} else {
			wantReport(t, report, migrate.Report{From: 3, To: 3})
		}
	}
	if applied != 1 {
		t.Errorf("%d processes applied the set, want 1", applied)
	}
	wantRows(t, db, "SELECT name FROM cargo", "tea")
}

func TestMigration_TwoServersStart_AppliedOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	var running sync.WaitGroup
	var reports [2]migrate.Report
	var errs [2]error
	for i := range reports {
		running.Go(func() {
			reports[i], errs[i] = migrate.Up(t.Context(), db.URL, slog.New(slog.DiscardHandler))
		})
	}
	running.Wait()
	if errs[0] != nil || errs[1] != nil || reports[0].FunctionsApplied == reports[1].FunctionsApplied {
		t.Errorf("got %+v, %v", reports, errs)
	}
}

func TestMigration_OlderBinary_ChangesNothing(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]fstest.MapFS{
		"with older migrations and functions":              files(2, "old", createCargo),
		"with older migrations only":                       files(3, "old", createCargo),
		"with older functions only":                        files(2, "old", createCargo, addTons),
		"with older functions in spite of newer migration": files(2, "old", createCargo, addTons, addIndex),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.NewEmpty(t)
			up(t, load(t, files(3, "new", createCargo, addTons)), db.URL)
			set := load(t, older)
			wantReport(t, up(t, set, db.URL), migrate.Report{From: 2, To: 2, DatabaseNewer: true})
			if status, err := set.Status(t.Context(), db.URL); err != nil || !status.Newer() {
				t.Errorf("status = %+v, error = %v, want a newer database", status, err)
			}
			wantRows(t, db, "SELECT edition()", "new")
			wantRows(t, db, "SELECT version_id::text FROM berth_migration WHERE version_id > 0 ORDER BY 1", "1", "2")
			wantRows(t, db, "SELECT number::text FROM berth_function_set", "3")
		})
	}
}

func TestFunctionSet_ChangedWithoutVersion_AppliedWithWarning(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	up(t, load(t, files(1, "first", createCargo)), db.URL)
	var log bytes.Buffer
	report, err := load(t, files(1, "edited", createCargo)).Up(t.Context(), db.URL, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, report, migrate.Report{From: 1, To: 1, FunctionsApplied: true})
	wantRows(t, db, "SELECT edition()", "edited")
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("no warning in the log: %s", &log)
	}
}

func TestFunctionSet_OneFunctionFails_AllRolledBack(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	up(t, load(t, files(1, "first", createCargo)), db.URL)
	broken := files(2, "second", createCargo, addTons)
	broken["functions/harbour.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION harbour( RETURNS;")}
	report, err := load(t, broken).Up(t.Context(), db.URL, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "functions/harbour.sql") {
		t.Errorf("error = %v, want one with the file name", err)
	}
	wantReport(t, report, migrate.Report{From: 1, To: 2, Applied: []string{"00002_step.sql"}})
	wantRows(t, db, "SELECT edition()", "first")
	wantRows(t, db, "SELECT number::text FROM berth_function_set", "1")
}

func TestMigration_OneFails_EarlierOnesStay(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	broken := load(t, files(1, "first", createCargo, "-- +goose Up\nALTER TABLE freight ADD COLUMN tons int;\n"))
	report, err := broken.Up(t.Context(), db.URL, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "freight") {
		t.Errorf("error = %v, want one with the name of the table", err)
	}
	wantReport(t, report, migrate.Report{To: 1, Applied: []string{"00001_step.sql"}})
	repaired := load(t, files(1, "first", createCargo, addTons))
	wantReport(t, up(t, repaired, db.URL), migrate.Report{
		From: 1, To: 2, Applied: []string{"00002_step.sql"}, FunctionsApplied: true,
	})
}

func TestMigration_RoleTimeouts_Ignored(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	limit := "ALTER DATABASE " + db.Name + " SET statement_timeout = '1h'"
	if _, err := db.Pool.Exec(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	record := "-- +goose Up\nCREATE TABLE seen AS SELECT current_setting('statement_timeout') AS statement_timeout;\n"
	up(t, load(t, files(1, "first", record)), db.URL)
	wantRows(t, db, "SELECT statement_timeout FROM seen", "0")
}

func TestMigration_LockWaitCanceled_ReturnsError(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	// The letters of "berth" in ASCII, as the migrations of every release lock them.
	if _, err := db.Pool.Exec(t.Context(), "SELECT pg_advisory_lock(x'6265727468'::bigint)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(onMessage{"waiting", cancel})
	_, err := load(t, files(1, "first", createCargo)).Up(ctx, db.URL, log)
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
	wantRows(t, db, tables)
}

// onMessage is a log handler that calls a function when a message contains a word.
type onMessage struct {
	word string
	call func()
}

func (onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h onMessage) Handle(_ context.Context, record slog.Record) error {
	if strings.Contains(record.Message, h.word) {
		h.call()
	}
	return nil
}

func (h onMessage) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h onMessage) WithGroup(string) slog.Handler { return h }

func TestMigration_AlembicDatabase_NotTouched(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	// Another program may use Alembic in a database that it shares with Berth.
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE alembic_version (version_num text)"); err != nil {
		t.Fatal(err)
	}
	if status, err := migrate.GetStatus(t.Context(), db.URL); err != nil || status.Foreign {
		t.Fatalf("Alembic alone: %+v, %v", status, err)
	}
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE resource_providers (id int)"); err != nil {
		t.Fatal(err)
	}
	report, err := migrate.Up(t.Context(), db.URL, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if !errors.Is(err, migrate.ErrForeign) || report.Applied != nil {
		t.Errorf("%+v, %v", report, err)
	}
	var tables int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables != 2 {
		t.Errorf("tables = %d, error = %v, want 2 tables", tables, err)
	}
}
