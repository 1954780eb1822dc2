package dbtest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// State is the contents of all tables of a database in one snapshot. It excludes the tables of the
// migrations, generated columns, and tables and columns that triggers derive from others; Audit checks
// the latter.
type State struct {
	tables []table // by name
}

// table is one table with its rows, sorted by key.
type table struct {
	name    string
	columns []string
	key     []int // positions of the key columns; all columns without a key
	rows    [][]string
}

// Snapshot reads all rows of all tables in one transaction. It replaces timestamps by "set",
// because a test cannot predict them; nulls remain.
func Snapshot(t testing.TB, db *DB) *State {
	t.Helper()
	state := &State{}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(t.Context(), db.Pool, options, func(tx pgx.Tx) error {
		tables, err := describeTables(t.Context(), tx)
		if err != nil {
			return err
		}
		for i := range tables {
			if err := tables[i].read(t.Context(), tx); err != nil {
				return fmt.Errorf("table %s: %w", tables[i].name, err)
			}
		}
		state.tables = tables
		return nil
	})
	if err != nil {
		t.Fatalf("cannot take a snapshot of the database: %v", err)
	}
	return state
}

// describeTables returns the tables of the application with their columns and the positions of the
// key columns.
func describeTables(ctx context.Context, tx pgx.Tx) ([]table, error) {
	rows, err := tx.Query(ctx, `
		SELECT class.relname, attribute.attname,
			coalesce(attribute.attnum = ANY (primary_key.indkey), false) AS in_key
		FROM pg_class AS class
		JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
			AND attribute.attnum > 0 AND NOT attribute.attisdropped AND attribute.attgenerated = ''
		LEFT JOIN pg_index AS primary_key ON primary_key.indrelid = class.oid AND primary_key.indisprimary
		WHERE class.relkind IN ('r', 'p') AND NOT class.relispartition
			AND class.relnamespace = current_schema()::text::regnamespace
			AND class.relname NOT IN ('berth_migration', 'berth_function_set', 'tree_classes', 'name_changes')
			AND (class.relname, attribute.attname) NOT IN (('resource_providers', 'trait_ids'),
				('resource_providers', 'aggregate_ids'), ('resource_providers', 'revision'),
				('provider_aggregates', 'sharing'))
		ORDER BY class.relname COLLATE "C", attribute.attnum`)
	if err != nil {
		return nil, err
	}
	var tables []table
	var name, column string
	var inKey bool
	_, err = pgx.ForEachRow(rows, []any{&name, &column, &inKey}, func() error {
		if len(tables) == 0 || tables[len(tables)-1].name != name {
			tables = append(tables, table{name: name})
		}
		last := &tables[len(tables)-1]
		if inKey {
			last.key = append(last.key, len(last.columns))
		}
		last.columns = append(last.columns, column)
		return nil
	})
	for i := range tables {
		if len(tables[i].key) == 0 {
			for place := range tables[i].columns {
				tables[i].key = append(tables[i].key, place)
			}
		}
	}
	return tables, err
}

func (t *table) read(ctx context.Context, tx pgx.Tx) error {
	selected := make([]string, len(t.columns))
	for i, column := range t.columns {
		quoted := pgx.Identifier{column}.Sanitize()
		// The type decides, because every timestamp differs between runs.
		selected[i] = "CASE WHEN pg_typeof(" + quoted + ") = 'timestamptz'::regtype AND " + quoted +
			" IS NOT NULL THEN 'set' ELSE " + quoted + "::text END"
	}
	order := make([]string, len(t.key))
	for i, place := range t.key {
		order[i] = pgx.Identifier{t.columns[place]}.Sanitize()
	}
	rows, err := tx.Query(ctx, "SELECT ARRAY["+strings.Join(selected, ", ")+"]::text[] FROM "+
		pgx.Identifier{t.name}.Sanitize()+" ORDER BY "+strings.Join(order, ", "))
	if err != nil {
		return err
	}
	t.rows, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]string, error) {
		var values []*string
		if err := row.Scan(&values); err != nil {
			return nil, err
		}
		rendered := make([]string, len(values))
		for i, value := range values {
			rendered[i] = render(value)
		}
		return rendered, nil
	})
	return err
}

var plainValue = regexp.MustCompile(`^[A-Za-z0-9_.:+/@-]+$`)

// render returns an unambiguous text of a value: it quotes texts that are empty, contain special
// characters or look like null.
func render(value *string) string {
	switch {
	case value == nil:
		return "null"
	case *value != "null" && plainValue.MatchString(*value):
		return *value
	default:
		return strconv.Quote(*value)
	}
}

// Tables returns the sorted names of all tables.
func (s *State) Tables() []string {
	names := make([]string, len(s.tables))
	for i, t := range s.tables {
		names[i] = t.name
	}
	return names
}

// Rows returns the rows of one table, sorted by key, in the form of Diff; nil for an unknown table.
func (s *State) Rows(name string) []string {
	i := slices.IndexFunc(s.tables, func(t table) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	rows := make([]string, len(s.tables[i].rows))
	for k, row := range s.tables[i].rows {
		rows[k] = s.tables[i].whole(row)
	}
	return rows
}

// whole returns the text of a row with all columns.
func (t table) whole(row []string) string {
	fields := make([]string, len(row))
	for i, value := range row {
		fields[i] = t.columns[i] + ": " + value
	}
	return t.name + "{" + strings.Join(fields, ", ") + "}"
}

// identity returns the text of the key of a row.
func (t table) identity(row []string) string {
	fields := make([]string, len(t.key))
	for i, place := range t.key {
		fields[i] = t.columns[place] + ": " + row[place]
	}
	return t.name + "{" + strings.Join(fields, ", ") + "}"
}
