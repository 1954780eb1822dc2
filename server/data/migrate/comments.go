package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	berthsql "github.com/berthd/berth/sql"
)

// migrationTable describes the table that goose creates. It is only read for its comments.
const migrationTable = `
-- Migrations that berth db migrate has applied.
CREATE TABLE berth_migration (
    id int, -- Order of the entries.
    version_id bigint, -- Version of the migration: the number of its file.
    is_applied boolean, -- Whether the entry applied the migration or reverted it.
    tstamp timestamp -- Time of the entry.
);`

// comments returns the comments of the sources for each object, in the order of the sources. If several describe an
// object, the last one counts.
func (s Set) comments() ([]berthsql.Comment, error) {
	sources := []string{migrationTable, functionSetTable}
	for _, m := range s.names {
		text, err := fs.ReadFile(s.migrations, m.name)
		if err != nil {
			return nil, fmt.Errorf("read a migration: %w", err)
		}
		sources = append(sources, string(text))
	}
	for _, f := range s.functions {
		sources = append(sources, f.text)
	}
	var found []berthsql.Comment
	position := map[string]int{}
	for _, source := range sources {
		for _, comment := range berthsql.Comments(source) {
			if at, known := position[comment.Object]; known {
				found[at] = comment
				continue
			}
			position[comment.Object] = len(found)
			found = append(found, comment)
		}
	}
	return found, nil
}

// differingComments returns the positions in $1 of the objects that exist and whose comment
// is not that in $2. An overloaded function counts as missing.
const differingComments = `
SELECT wanted.position::int
FROM (
    SELECT wanted.position, wanted.text, wanted.kind, wanted.name, attribute.attnum,
        CASE
            WHEN wanted.kind IN ('TABLE', 'VIEW', 'INDEX', 'COLUMN') THEN to_regclass(wanted.relation)::oid
            WHEN wanted.kind = 'FUNCTION' THEN to_regproc(wanted.name)::oid
            WHEN wanted.kind = 'AGGREGATE' THEN to_regprocedure(wanted.name)::oid
            ELSE to_regtype(wanted.name)::oid
        END AS object,
        CASE
            WHEN wanted.kind IN ('TABLE', 'VIEW', 'INDEX', 'COLUMN') THEN 'pg_class'
            WHEN wanted.kind IN ('FUNCTION', 'AGGREGATE') THEN 'pg_proc'
            ELSE 'pg_type'
        END AS catalog
    FROM (
        SELECT listed.position, listed.text, split_part(listed.object, ' ', 1) AS kind, split_part(listed.object, ' ', 2) AS name,
            split_part(split_part(listed.object, ' ', 2), '.', 1) AS relation, split_part(listed.object, '.', 2) AS member
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS listed (object, text, position)
    ) AS wanted
    LEFT JOIN pg_attribute AS attribute ON wanted.kind = 'COLUMN' AND NOT attribute.attisdropped
        AND attribute.attrelid = to_regclass(wanted.relation) AND attribute.attname = wanted.member
) AS wanted
WHERE wanted.object IS NOT NULL AND (wanted.kind <> 'COLUMN' OR wanted.attnum IS NOT NULL)
  AND wanted.text IS DISTINCT FROM
    CASE WHEN wanted.kind = 'COLUMN' THEN col_description(wanted.object, wanted.attnum) ELSE obj_description(wanted.object, wanted.catalog) END
ORDER BY wanted.position`

// applyComments sets the comments that differ from the sources, so that psql shows them.
// COMMENT ON takes a SHARE UPDATE EXCLUSIVE lock on its table, which requests do not wait for.
func (s Set) applyComments(ctx context.Context, tx pgx.Tx) error {
	comments, err := s.comments()
	if err != nil {
		return err
	}
	objects, texts := make([]string, len(comments)), make([]string, len(comments))
	for i, comment := range comments {
		objects[i], texts[i] = comment.Object, comment.Text
	}
	rows, _ := tx.Query(ctx, differingComments, objects, texts)
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return fmt.Errorf("compare the comments: %w", err)
	}
	var statements strings.Builder
	for _, position := range positions {
		statements.WriteString(comments[position-1].Statement())
	}
	if _, err := tx.Exec(ctx, statements.String()); err != nil {
		return fmt.Errorf("set the comments: %w", err)
	}
	return nil
}
