package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// lockKey is the advisory lock of everything that changes the schema: the
// letters of "berth".
const lockKey int64 = 0x6265727468

// lockInterval is how often a waiting process asks for the lock again.
const lockInterval = 100 * time.Millisecond

// Report says what Up has done.
type Report struct {
	// From and To are the versions of the database before and after.
	From, To int64
	// Applied names the files of the migrations that were applied.
	Applied []string
	// FunctionsApplied says that the functions were replaced.
	FunctionsApplied bool
	// DatabaseNewer says that nothing was applied, because the database was
	// written by a newer binary.
	DatabaseNewer bool
}

// Up brings a database to the embedded set. The address must reach the
// database directly.
func Up(ctx context.Context, databaseURL string, log *slog.Logger) (Report, error) {
	set, err := Embedded()
	if err != nil {
		return Report{}, err
	}
	return set.Up(ctx, databaseURL, log)
}

// Up brings a database to the set: migrations, then functions, under one lock.
// Processes that call it at the same time take turns, and all but the first
// find nothing to do. A migration that fails leaves those before it applied. The
// database of the Python service is refused with ErrForeign.
func (s Set) Up(ctx context.Context, databaseURL string, log *slog.Logger) (Report, error) {
	conn, err := connect(ctx, databaseURL)
	if err != nil {
		return Report{}, err
	}
	// Closing the connection gives the lock back.
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
		log.Warn("the database is newer than this binary: its schema is left alone",
			"version", before.Version, "latest", before.Latest,
			"functions", before.Installed.Number, "known", before.Known.Number)
		return report, nil
	}
	if len(before.Pending) > 0 {
		err = s.applyMigrations(ctx, databaseURL, log, &report)
	}
	if err == nil && before.Installed != s.known {
		err = s.applyFunctions(ctx, conn, before.Installed, log)
		report.FunctionsApplied = err == nil
	}
	return report, err
}

// connect opens a connection that may sit idle or work for as long as a
// migration takes, whatever limits the role has. A lock_timeout stays: it is
// how operators keep a migration from queueing in front of their traffic.
func connect(ctx context.Context, databaseURL string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := liftLimits(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func liftLimits(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx,
		"SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0")
	return err
}

// lock asks until it gets the lock. To wait inside of PostgreSQL would hold a
// snapshot for as long, and CREATE INDEX CONCURRENTLY in the migration of the
// process that has the lock would wait for that snapshot: a deadlock.
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
			log.Info("another process is migrating the database: waiting")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockInterval):
		}
	}
}

// applyMigrations hands over to goose, which works on connections of its own.
// It takes no lock, because the caller's covers it.
func (s Set) applyMigrations(ctx context.Context, databaseURL string, log *slog.Logger, report *Report) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(liftLimits))
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.migrations,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("prepare the migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	if partial, ok := errors.AsType[*goose.PartialError](err); ok {
		results = partial.Applied
	}
	for _, result := range results {
		name := path.Base(result.Source.Path)
		report.Applied = append(report.Applied, name)
		report.To = max(report.To, result.Source.Version)
		log.Info("migration applied", "file", name, "took", result.Duration.Round(time.Millisecond))
	}
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// functionSetTable is bookkeeping like goose's own table, and as old as the
// first functions, so no migration makes it.
const functionSetTable = `CREATE TABLE IF NOT EXISTS berth_function_set (
    number int PRIMARY KEY,
    hash text NOT NULL,
    applied_at timestamptz NOT NULL
)`

// applyFunctions replaces all functions in one transaction, so that no request
// ever sees a mixture of two sets.
func (s Set) applyFunctions(ctx context.Context, conn *pgx.Conn, installed FunctionSet, log *slog.Logger) error {
	if installed.Number == s.known.Number && installed.Hash != "" {
		log.Warn("the functions have changed, but their number has not: applied as in development",
			"number", s.known.Number, "installed", installed.Hash, "known", s.known.Hash)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, f := range s.functions {
			if _, err := tx.Exec(ctx, f.text); err != nil {
				return fmt.Errorf("apply functions/%s: %w", f.name, err)
			}
		}
		if _, err := tx.Exec(ctx, functionSetTable); err != nil {
			return fmt.Errorf("make berth_function_set: %w", err)
		}
		if _, err := tx.Exec(ctx,
			`INSERT INTO berth_function_set AS known (number, hash, applied_at) VALUES ($1, $2, now())
			ON CONFLICT (number) DO UPDATE SET hash = excluded.hash, applied_at = excluded.applied_at`,
			s.known.Number, s.known.Hash); err != nil {
			return fmt.Errorf("record the functions: %w", err)
		}
		log.Info("functions applied", "number", s.known.Number, "files", len(s.functions))
		return nil
	})
}
