package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// versionTable is goose's list of applied migrations. It is not goose's default name, so that another program may
	// use the same schema.
	versionTable = "berth_migration"
	// undefinedTable is the SQLSTATE of a query on a bookkeeping table that does not exist yet.
	undefinedTable = "42P01"
)

// Status compares a database with a set.
type Status struct {
	// Version is the newest migration in the database; 0 if it is empty.
	Version int64
	// Latest is the newest migration of the binary.
	Latest int64
	// Pending are the file names of the migrations that are not applied.
	Pending []string
	// Installed identifies the functions in the database; the zero value if it has none.
	Installed FunctionSet
	// Known identifies the functions of the binary.
	Known FunctionSet
	// Foreign is true if the database belongs to OpenStack Placement, whose tables have the same names as Berth's.
	// Nothing may be applied to it.
	Foreign bool
}

// ErrForeign is the error for a database of OpenStack Placement.
var ErrForeign = errors.New("this is the database of another Placement service (it has the tables alembic_version and resource_providers, " +
	"and none of Berth's migrations); Berth needs its own database: specify another one, and copy this one into it with 'berth import'")

// Newer reports whether a newer binary has written the database, its migrations or its functions. Nothing may be
// applied to it then.
func (s Status) Newer() bool {
	return s.Version > s.Latest || s.Installed.Number > s.Known.Number
}

// UpToDate reports whether nothing is left to apply.
func (s Status) UpToDate() bool { return len(s.Pending) == 0 && s.Installed == s.Known }

// State is the state of a schema relative to a set.
type State string

// The states of a schema. A server accepts a newer one: in a rolling upgrade, old servers see it.
const (
	StateUpToDate  State = "up to date"
	StateNewer     State = "newer"
	StateOutdated  State = "outdated"
	StatePlacement State = "openstack_placement"
)

// State returns the state of the schema.
func (s Status) State() State {
	switch {
	case s.Foreign:
		return StatePlacement
	case s.Newer():
		return StateNewer
	case s.UpToDate():
		return StateUpToDate
	}
	return StateOutdated
}

// GetStatus compares a database with the embedded set. It only reads.
func GetStatus(ctx context.Context, databaseURL string) (Status, error) {
	set, err := Embedded()
	if err != nil {
		return Status{}, err
	}
	return set.Status(ctx, databaseURL)
}

// Version returns the newest migration in the database; 0 if it is empty.
func Version(ctx context.Context, databaseURL string) (int64, error) {
	status, err := GetStatus(ctx, databaseURL)
	return status.Version, err
}

// Status compares a database with the set. It only reads, and it waits for no lock.
func (s Set) Status(ctx context.Context, databaseURL string) (Status, error) {
	conn, err := Connect(ctx, databaseURL)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return s.status(ctx, conn)
}

// StatusWithin is Status on a connection that within lends to its argument, such as postgres.Pool.WithMonitorConn.
func (s Set) StatusWithin(
	ctx context.Context, within func(context.Context, func(context.Context, *pgx.Conn) error) error,
) (status Status, err error) {
	err = within(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		status, err = s.status(ctx, conn)
		return err
	})
	return status, err
}

// status is Status on an existing connection.
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
		return Status{}, fmt.Errorf("read berth_function_set: %w", err)
	}
	if status.Version == 0 {
		if status.Foreign, err = isForeign(ctx, conn); err != nil {
			return Status{}, fmt.Errorf("look for the tables of OpenStack Placement: %w", err)
		}
	}
	return status, nil
}

func appliedVersions(ctx context.Context, conn *pgx.Conn) (map[int64]bool, error) {
	// The last row of a version counts, because goose may have reverted one. The rows carry the error of the query, and
	// ForEachRow returns it.
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

// isForeign requires both tables, because another program that uses Alembic may share the schema.
func isForeign(ctx context.Context, conn *pgx.Conn) (found bool, err error) {
	err = conn.QueryRow(ctx,
		"SELECT to_regclass('alembic_version') IS NOT NULL AND to_regclass('resource_providers') IS NOT NULL").Scan(&found)
	return found, err
}

func absent(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == undefinedTable
}
