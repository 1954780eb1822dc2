package placementdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/berthd/berth/server/data/session"
)

// Source is an open database of OpenStack Placement, in a read-only transaction with one snapshot. Only
// one goroutine may use it.
type Source struct {
	address Address
	pool    *sql.DB
	conn    *sql.Conn
	// Revision is the revision of its schema.
	Revision string
	// singlePrecision reports that ratios have single precision.
	singlePrecision bool
	tables          []table
	// counts is the number of rows by table.
	counts map[string]int64
	// unreadable contains the positions of invalid times, as JSON.
	unreadable map[string]bool
}

// OpenSource opens a database and checks that it has a supported schema revision.
func OpenSource(ctx context.Context, address Address) (*Source, error) {
	pool, err := address.open(true)
	if err != nil {
		return nil, err
	}
	s := &Source{address: address, pool: pool, counts: map[string]int64{}, unreadable: map[string]bool{}}
	if err := s.begin(ctx); err != nil {
		s.Close()
		if refused, ok := errors.AsType[*RejectedError](err); ok {
			return nil, refused
		}
		return nil, fmt.Errorf("open %s: %w", address, withoutPassword(err, address))
	}
	return s, nil
}

// open creates the pool; the first statement connects.
func (a Address) open(readOnly bool) (*sql.DB, error) {
	switch a.engine {
	case mariadb:
		return sql.Open("mysql", a.source)
	case postgresql:
		config, err := pgx.ParseConfig(a.source)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", a, withoutPassword(err, a))
		}
		session.SetPooled(config) // names in UTF8, whatever the role has
		return stdlib.OpenDB(*config), nil
	}
	mode := "rw"
	if readOnly {
		if _, err := os.Stat(a.source); err != nil {
			return nil, fmt.Errorf("open %s: %w", a, err)
		}
		mode = "ro"
	} else {
		mode = "rwc"
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: a.source, RawQuery: "mode=" + mode}).String())
}

// withoutPassword removes passwords that drivers quote in errors.
func withoutPassword(err error, a Address) error {
	text := err.Error()
	if !strings.Contains(text, a.source) {
		return err
	}
	return errors.New(strings.ReplaceAll(text, a.source, a.shown))
}

var beginnings = map[engine][]string{
	sqlite:     {"BEGIN"},
	mariadb:    {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
	postgresql: {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
}

func (s *Source) begin(ctx context.Context) (err error) {
	if s.conn, err = s.pool.Conn(ctx); err != nil {
		return err
	}
	for _, statement := range beginnings[s.address.engine] {
		if _, err := s.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := s.readRevision(ctx); err != nil {
		return err
	}
	s.tables = tables(hasTypes(s.Revision))
	if err := s.readPrecision(ctx); err != nil {
		return err
	}
	for _, t := range s.tables {
		var count int64
		if err := s.conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.name).Scan(&count); err != nil {
			return fmt.Errorf("count %s: %w", t.name, err)
		}
		s.counts[t.name] = count
	}
	return nil
}

func (s *Source) readRevision(ctx context.Context) error {
	err := s.conn.QueryRowContext(ctx, "SELECT version_num FROM alembic_version").Scan(&s.Revision)
	switch {
	case errors.Is(err, sql.ErrNoRows), err != nil && isAbsent(err):
		return refuse("%s has no schema of OpenStack Placement: alembic_version is missing or empty. "+
			"If it is the right database, first run 'placement-manage db sync'", s.address)
	case err != nil:
		return err
	case !slices.Contains(revisions, s.Revision):
		return refuse("%s has schema revision %s, which this berth does not support; it supports %s. Try a newer berth",
			s.address, s.Revision, strings.Join(revisions, ", "))
	}
	return nil
}

// isAbsent reports whether a table does not exist: by the SQLSTATE of PostgreSQL, the number of MySQL, or
// the text of SQLite, which has one code for all errors in a statement.
func isAbsent(err error) bool {
	text := err.Error()
	return strings.Contains(text, "42P01") || strings.Contains(text, "Error 1146") || strings.Contains(text, "no such table")
}

// readPrecision determines the precision of ratios. SQLite's numbers always have double precision.
func (s *Source) readPrecision(ctx context.Context) error {
	schema := map[engine]string{mariadb: "DATABASE()", postgresql: "current_schema()"}[s.address.engine]
	if schema == "" {
		return nil
	}
	var declared string
	err := s.conn.QueryRowContext(ctx, "SELECT data_type FROM information_schema.columns "+
		"WHERE table_name = 'inventories' AND column_name = 'allocation_ratio' AND table_schema = "+schema).Scan(&declared)
	s.singlePrecision = declared == "float" || declared == "real"
	return err
}

// Close ends the transaction and closes the connection.
func (s *Source) Close() error {
	var err error
	if s.conn != nil {
		_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK")
		err = s.conn.Close()
	}
	return errors.Join(err, s.pool.Close())
}

// after is a position in a table: the key of a row.
type after [2]int64

// each reads a table in the order of its key, after a position (nil: from the start).
func (s *Source) each(ctx context.Context, t table, from *after, do func(row) error) error {
	rows, err := s.conn.QueryContext(ctx, s.selection(t, from))
	if err != nil {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	values := make([]any, len(t.columns))
	places := make([]any, len(t.columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		read := make(row, len(t.columns))
		for i, c := range t.columns {
			if read[i], err = s.convert(c, values[i]); err != nil {
				return refuse("%s: column %s of the row with %s %v %v; correct the source first", t.name, c.name, t.columns[0].name, values[0], err)
			}
			if c.kind == kindTime && isUnreadable(values[i], read[i]) {
				s.note(t, c, read[0], values[i])
			}
		}
		if err := do(read); err != nil {
			return err
		}
	}
	return rows.Err()
}

// note records an invalid time. Marshaling texts and numbers cannot fail.
func (s *Source) note(t table, c column, key, value any) {
	if bytes, ok := value.([]byte); ok {
		value = string(bytes)
	}
	place, _ := json.Marshal(map[string]any{"table": t.name, "id": key, "column": c.name, "time": fmt.Sprint(value)})
	s.unreadable[string(place)] = true
}

// selection builds the statement from names in tables.go and two numbers.
func (s *Source) selection(t table, from *after) string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
		if c.kind == kindFloat && s.address.engine == mariadb {
			// As text it would have only six digits.
			names[i] = "(" + c.name + " + 0E0)"
		}
		if c.kind == kindTime && s.address.engine == sqlite {
			// Otherwise the driver tries all its time formats.
			names[i] = "CAST(" + c.name + " AS TEXT)"
		}
	}
	where := ""
	if from != nil && len(t.key) == 1 {
		where = fmt.Sprintf(" WHERE %s > %d", t.key[0], from[0])
	} else if from != nil {
		where = fmt.Sprintf(" WHERE %[1]s > %[3]d OR (%[1]s = %[3]d AND %[2]s > %[4]d)", t.key[0], t.key[1], from[0], from[1])
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + t.name + where + " ORDER BY " + strings.Join(t.key, ", ")
}
