package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// versionTable is goose's list of applied migrations. The name is not
	// goose's default, so that the schema may be shared with another program.
	versionTable = "berth_migration"
	// undefinedTable is the SQLSTATE of a bookkeeping table that is not there
	// yet.
	undefinedTable = "42P01"
)

// Status compares a database with a set.
type Status struct {
	// Version is the newest migration in the database, 0 when it is empty.
	Version int64
	// Latest is the newest migration that the binary knows.
	Latest int64
	// Pending names the files of the migrations that are not applied.
	Pending []string
	// Installed are the functions in the database; the zero value when there
	// are none.
	Installed FunctionSet
	// Known are the functions of the binary.
	Known FunctionSet
	// Foreign says that the database is that of the Python service, whose tables have
	// the names of ours. Nothing must be applied to it.
	Foreign bool
}

// ErrForeign refuses the database of the Python service.
var ErrForeign = errors.New("this is the database of another Placement service (it has the tables alembic_version and resource_providers, " +
	"and none of Berth's migrations); Berth needs a database of its own: name another one, and copy this one into it with 'berth import'")

// Newer says that the database was written by a newer binary, in its
// migrations or in its functions. Nothing must be applied to it then.
func (s Status) Newer() bool {
	return s.Version > s.Latest || s.Installed.Number > s.Known.Number
}

// UpToDate says that there is nothing to apply.
func (s Status) UpToDate() bool { return len(s.Pending) == 0 && s.Installed == s.Known }

// GetStatus compares a database with the embedded set. It only reads.
func GetStatus(ctx context.Context, databaseURL string) (Status, error) {
	set, err := Embedded()
	if err != nil {
		return Status{}, err
	}
	return set.Status(ctx, databaseURL)
}

// Version is the newest migration in the database, 0 when it is empty.
func Version(ctx context.Context, databaseURL string) (int64, error) {
	status, err := GetStatus(ctx, databaseURL)
	return status.Version, err
}

// Status compares a database with the set. It only reads, and it waits for no
// lock.
func (s Set) Status(ctx context.Context, databaseURL string) (Status, error) {
	conn, err := connect(ctx, databaseURL)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return s.status(ctx, conn)
}

// StatusOn is Status on a connection that there is already.
func (s Set) StatusOn(ctx context.Context, conn *pgx.Conn) (Status, error) {
	return s.status(ctx, conn)
}

func (s Set) status(ctx context.Context, conn *pgx.Conn) (Status, error) {
	applied, err := appliedVersions(ctx, conn)
	if err != nil {
		return Status{}, fmt.Errorf("read the applied migrations: %w", err)
	}
	status := Status{Latest: s.Latest(), Known: s.known}
	for version := range applied {
		status.Version = max(status.Version, version)
	}
	for _, m := range s.names {
		if !applied[m.version] {
			status.Pending = append(status.Pending, m.name)
		}
	}
	if status.Installed, err = installedFunctions(ctx, conn); err != nil {
		return Status{}, fmt.Errorf("read the number of the functions: %w", err)
	}
	if status.Version == 0 {
		if status.Foreign, err = isForeign(ctx, conn); err != nil {
			return Status{}, fmt.Errorf("look for tables of others: %w", err)
		}
	}
	return status, nil
}

func appliedVersions(ctx context.Context, conn *pgx.Conn) (map[int64]bool, error) {
	// The last row of a version counts: goose may have taken one back. The rows
	// carry the error of the query, so that ForEachRow gives every error.
	rows, _ := conn.Query(ctx,
		`SELECT DISTINCT ON (version_id) version_id, is_applied
		FROM `+versionTable+` WHERE version_id > 0 ORDER BY version_id, id DESC`)
	applied := map[int64]bool{}
	var version int64
	var isApplied bool
	_, err := pgx.ForEachRow(rows, []any{&version, &isApplied}, func() error {
		if isApplied {
			applied[version] = true
		}
		return nil
	})
	if absent(err) {
		return applied, nil
	}
	return applied, err
}

func installedFunctions(ctx context.Context, conn *pgx.Conn) (FunctionSet, error) {
	var set FunctionSet
	err := conn.QueryRow(ctx,
		"SELECT number, hash FROM berth_function_set ORDER BY number DESC LIMIT 1").Scan(&set.Number, &set.Hash)
	if absent(err) || errors.Is(err, pgx.ErrNoRows) {
		return FunctionSet{}, nil
	}
	return set, err
}

// isForeign looks for both tables, since a schema may be shared with another program,
// which may use Alembic for itself.
func isForeign(ctx context.Context, conn *pgx.Conn) (found bool, err error) {
	err = conn.QueryRow(ctx,
		"SELECT to_regclass('alembic_version') IS NOT NULL AND to_regclass('resource_providers') IS NOT NULL").Scan(&found)
	return found, err
}

func absent(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == undefinedTable
}
