package dbtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"syscall"

	"github.com/berthd/berth/server/data/migrate"
	"github.com/jackc/pgx/v5"
)

// housekeepingKey is the key of the advisory lock under which templates are created and orphaned databases are dropped:
// the letters of "dbtest".
const housekeepingKey int64 = 0x646274657374

// maxTemplates is the maximum number of templates. Work trees with different schemas may run tests
// at the same time.
const maxTemplates = 8

// ensureTemplate creates the template unless it exists, and returns its name.
func ensureTemplate(ctx context.Context, s *server, set migrate.Set, prepare Preparation) (string, error) {
	name, err := templateName(set, prepare)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) // releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", housekeepingKey); err != nil {
		return "", fmt.Errorf("cannot lock the templates: %w", err)
	}
	if err := dropDeadClones(ctx, conn); err != nil {
		return "", err
	}
	var exists bool
	const known = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	if err := conn.QueryRow(ctx, known, name).Scan(&exists); err != nil {
		return "", err
	}
	if exists {
		return name, nil
	}
	if err := dropOldTemplates(ctx, conn); err != nil {
		return "", err
	}
	if err := makeTemplate(ctx, conn, s.url, name, set, prepare); err != nil {
		return "", fmt.Errorf("cannot create the template of the test databases: %w", err)
	}
	return name, nil
}

// makeTemplate creates the template under a temporary name and renames it when it is complete, so
// that an existing template is complete.
func makeTemplate(ctx context.Context, conn *pgx.Conn, at, name string, set migrate.Set, prepare Preparation) error {
	partial := "new" + name
	quoted := pgx.Identifier{partial}.Sanitize()
	if err := dropDatabase(ctx, conn, partial); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quoted+" TEMPLATE template0"); err != nil {
		return err
	}
	if _, err := set.Up(ctx, databaseURL(at, partial), quiet); err != nil {
		return err
	}
	if prepare.Run != nil {
		if err := prepare.Run(ctx, databaseURL(at, partial)); err != nil {
			return err
		}
	}
	// PostgreSQL cannot clone a template with connections, including those of autovacuum.
	for _, statement := range []string{
		"ALTER DATABASE " + quoted + " ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + quoted + " RENAME TO " + pgx.Identifier{name}.Sanitize(),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func dropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
	return err
}

var cloneName = regexp.MustCompile(`^t_([0-9]+)_[0-9]+$`)

// dropDeadClones drops the databases of killed test processes.
func dropDeadClones(ctx context.Context, conn *pgx.Conn) error {
	names, err := databasesLike(ctx, conn, `t\_%`)
	if err != nil {
		return err
	}
	for _, name := range names {
		parts := cloneName.FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		pid, err := strconv.Atoi(parts[1])
		if err != nil || alive(pid) {
			continue
		}
		if err := dropDatabase(ctx, conn, name); err != nil {
			return fmt.Errorf("cannot drop the database of a dead process: %w", err)
		}
	}
	return nil
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// dropOldTemplates drops the oldest templates. PostgreSQL does not record the age of a database,
// but its OID increases.
func dropOldTemplates(ctx context.Context, conn *pgx.Conn) error {
	names, err := databasesLike(ctx, conn, `tpl\_%`)
	if err != nil {
		return err
	}
	for len(names) >= maxTemplates {
		if err := dropDatabase(ctx, conn, names[0]); err != nil {
			return fmt.Errorf("cannot drop an old template: %w", err)
		}
		names = names[1:]
	}
	return nil
}

func databasesLike(ctx context.Context, conn *pgx.Conn, pattern string) ([]string, error) {
	rows, err := conn.Query(ctx, "SELECT datname FROM pg_database WHERE datname LIKE $1 ORDER BY oid", pattern)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
