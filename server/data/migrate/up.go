package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/berthd/berth/server/data/session"
)

// lockKey is the advisory lock of everything that changes the schema: the letters of "berth" in ASCII.
const lockKey int64 = 0x6265727468

// lockInterval is the interval between two attempts to get the lock.
const lockInterval = 100 * time.Millisecond

// Report is the result of Up.
type Report struct {
	// From and To are the versions of the database before and after.
	From, To int64
	// Applied are the file names of the migrations that were applied.
	Applied []string
	// FunctionsApplied is true if the functions were replaced.
	FunctionsApplied bool
	// DatabaseNewer is true if nothing was applied because a newer binary had written the database.
	DatabaseNewer bool
}

// Up migrates a database to the embedded set, with DefaultWaits. The address must not be that of a transaction pooler.
func Up(ctx context.Context, databaseURL string, log *slog.Logger) (Report, error) {
	return UpWithin(ctx, databaseURL, DefaultWaits, log)
}

// UpWithin is Up with other waits for locks.
func UpWithin(ctx context.Context, databaseURL string, waits Waits, log *slog.Logger) (Report, error) {
	set, err := Embedded()
	if err != nil {
		return Report{}, err
	}
	return set.UpWithin(ctx, databaseURL, waits, log)
}

// Install is UpWithin for a database in which a service begins: in a new one the record of changes is on.
func Install(ctx context.Context, databaseURL string, waits Waits, log *slog.Logger) (Report, error) {
	set, err := Embedded()
	if err != nil {
		return Report{}, err
	}
	set.records = true
	return set.UpWithin(ctx, databaseURL, waits, log)
}

// Up is UpWithin with DefaultWaits.
func (s Set) Up(ctx context.Context, databaseURL string, log *slog.Logger) (Report, error) {
	return s.UpWithin(ctx, databaseURL, DefaultWaits, log)
}

// UpWithin migrates a database to the set: migrations, then functions, under one lock. Processes that call it at the
// same time run one after the other, and all but the first find nothing to do. If a migration fails, those before it
// stay applied. A migration that does not get its locks is retried as waits define. For a database of OpenStack
// Placement, UpWithin returns ErrForeign.
//
// It uses three connections at most: for the lock and the functions, for the migrations, and for the observer.
func (s Set) UpWithin(ctx context.Context, databaseURL string, waits Waits, log *slog.Logger) (Report, error) {
	conn, err := Connect(ctx, databaseURL)
	if err != nil {
		return Report{}, err
	}
	// Closing the connection releases the lock.
	defer conn.Close(context.WithoutCancel(ctx))
	if err := lock(ctx, conn, log); err != nil {
		return Report{}, fmt.Errorf("wait for the lock on the schema: %w", err)
	}
	before, err := s.status(ctx, conn)
	if err != nil {
		return Report{}, err
	}
	report := Report{From: before.Version, To: before.Version}
	if before.Foreign {
		return report, ErrForeign
	}
	if before.Newer() {
		report.DatabaseNewer = true
		log.Warn("the database is newer than this binary; not changing its schema",
			"version", before.Version, "latest", before.Latest,
			"functions", before.Installed.Number, "known", before.Known.Number)
		return report, nil
	}
	if before.UpToDate() {
		return report, nil
	}
	if err := session.Check(ctx, conn, true); err != nil {
		return report, err
	}
	return report, s.apply(ctx, conn, databaseURL, waits, log, before, &report)
}

// apply applies the pending migrations and, if they differ, the functions and comments.
func (s Set) apply(
	ctx context.Context, conn *pgx.Conn, databaseURL string, waits Waits, log *slog.Logger, before Status, report *Report,
) error {
	observing, err := Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer observing.Close(context.WithoutCancel(ctx))
	observed := &observer{conn: observing}
	observed.note(conn)
	for _, name := range before.Pending {
		if err := s.applyMigration(ctx, databaseURL, name, waits, observed, log, report); err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
	}
	err = waits.retry(ctx, log, "the SQL functions and comments", observed, func() error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// The transaction replaces triggers and sets comments, each under a lock on their table.
			if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", waits.setting()); err != nil {
				return fmt.Errorf("limit the wait for locks: %w", err)
			}
			if before.Installed != s.known {
				if err := s.applyFunctions(ctx, tx, before.Installed, log); err != nil {
					return err
				}
			}
			if isNew := before.Installed == (FunctionSet{}); isNew && s.records {
				if err := startRecord(ctx, tx); err != nil {
					return err
				}
			}
			return s.applyComments(ctx, tx)
		})
	})
	report.FunctionsApplied = err == nil && before.Installed != s.known
	return err
}

// startRecord turns the record of changes on in a new database, for as many days as its settings have. A server ends the state starting.
func startRecord(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `DO $$ BEGIN
		PERFORM history_update('on', state.keep_days, state.generation) FROM history_state AS state;
		WHILE history_switch() LOOP END LOOP;
	END $$`)
	if err != nil {
		return fmt.Errorf("turn on the record of changes: %w", err)
	}
	return nil
}

// Connect opens a connection for maintenance, which may be idle, wait or work without a time limit, even if the role
// has limits. It returns an error if Berth cannot read with the settings of the connection.
func Connect(ctx context.Context, databaseURL string) (*pgx.Conn, error) {
	conn, err := session.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	if err := session.Check(ctx, conn, false); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// lock polls for the lock. A wait inside PostgreSQL would hold a snapshot. CREATE INDEX CONCURRENTLY in the migration
// of the process that holds the lock would wait for that snapshot: a deadlock.
func lock(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	for waiting := false; ; waiting = true {
		var got bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lockKey).Scan(&got); err != nil {
			return err
		}
		if got {
			return nil
		}
		if !waiting {
			log.Info("another process is migrating the database; waiting")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockInterval):
		}
	}
}

// applyMigration applies the next migration, whose file has that name. goose uses its own connections, and takes no
// lock, because the caller's lock covers it.
func (s Set) applyMigration(
	ctx context.Context, databaseURL, name string, waits Waits, observed *observer, log *slog.Logger, report *Report,
) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	transactional, err := s.transactional(name)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		observed.note(conn)
		if err := session.PrepareMaintenance(ctx, conn); err != nil || !transactional {
			return err
		}
		_, err := conn.Exec(ctx, "SELECT set_config('lock_timeout', $1, false)", waits.setting())
		return err
	}))
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.migrations,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("prepare the migrations: %w", err)
	}
	attempt := func() error {
		result, err := provider.UpByOne(ctx)
		if err != nil {
			return err
		}
		report.Applied = append(report.Applied, path.Base(result.Source.Path))
		report.To = max(report.To, result.Source.Version)
		log.Info("migration applied", "file", path.Base(result.Source.Path), "took", result.Duration.Round(time.Millisecond))
		return nil
	}
	if !transactional {
		return attempt()
	}
	return waits.retry(ctx, log, "migration "+name, observed, attempt)
}

// transactional reports whether a migration is one transaction, which can be retried after it did not get a lock. The
// others build indexes CONCURRENTLY: they wait for long transactions without blocking requests, and leave an invalid
// index if they are interrupted. So they have no lock timeout and no retry.
func (s Set) transactional(name string) (bool, error) {
	text, err := fs.ReadFile(s.migrations, name)
	return !noTransaction.Match(text), err
}

var noTransaction = regexp.MustCompile(`(?m)^--\s*\+goose\s+NO\s+TRANSACTION`)

// functionSetTable is bookkeeping like goose's own table. It exists before the first functions, so no migration creates
// it.
const functionSetTable = `
-- States of the set of SQL functions that berth db migrate has applied. The highest number is the current one.
CREATE TABLE IF NOT EXISTS berth_function_set (
    number int PRIMARY KEY, -- Number of the set, as in sql/functions/VERSION.
    hash text NOT NULL, -- Hash of all functions of the set.
    applied_at timestamptz NOT NULL -- Time at which the set was applied.
)`

// applyFunctions replaces all functions in one transaction, so that no request ever uses functions of two sets.
func (s Set) applyFunctions(ctx context.Context, tx pgx.Tx, installed FunctionSet, log *slog.Logger) error {
	if installed.Number == s.known.Number && installed.Hash != "" {
		log.Warn("the functions have changed, but not their number; applying them, as in development",
			"number", s.known.Number, "installed", installed.Hash, "known", s.known.Hash)
	}
	for _, f := range s.functions {
		if _, err := tx.Exec(ctx, f.text); err != nil {
			return fmt.Errorf("apply functions/%s: %w", f.name, err)
		}
	}
	if _, err := tx.Exec(ctx, functionSetTable); err != nil {
		return fmt.Errorf("create berth_function_set: %w", err)
	}
	if _, err := tx.Exec(ctx,
		`INSERT INTO berth_function_set AS known (number, hash, applied_at) VALUES ($1, $2, now())
		ON CONFLICT (number) DO UPDATE SET hash = excluded.hash, applied_at = excluded.applied_at`,
		s.known.Number, s.known.Hash); err != nil {
		return fmt.Errorf("insert into berth_function_set: %w", err)
	}
	log.Info("functions applied", "number", s.known.Number, "files", len(s.functions))
	return nil
}
