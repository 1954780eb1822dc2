package placementdb

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// chunk is the number of rows copied in one transaction, and the maximum number that a resumed import
// reads again. 20,000 allocations take 0.2 s.
const chunk = 20000

// transactor starts transactions or savepoints.
type transactor interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// stage copies the rows of the source that are not copied yet, by COPY. It builds the statements from
// tables.go, because COPY in sql/queries would change the interface that sqlc generates for all queries.
func (s *Source) stage(ctx context.Context, target transactor, positions []db.ImportPositionListRow, fingerprint string, progress Progress) error {
	c := copier{target: target, fingerprint: fingerprint, progress: progress, total: s.total()}
	reached := map[string]db.ImportPositionListRow{}
	for _, position := range positions {
		reached[position.TableName] = position
		c.done += position.RowCount
	}
	for _, t := range s.tables {
		c.table, c.rows = t, nil
		var from *after
		if position, known := reached[t.name]; known {
			from = &after{position.FirstKey, position.SecondKey}
		}
		err := s.each(ctx, t, from, func(read row) error {
			c.rows = append(c.rows, stagedRow(read))
			if len(c.rows) < chunk {
				return nil
			}
			return c.flush(ctx)
		})
		if err == nil {
			err = c.flush(ctx)
		}
		if err != nil {
			return err
		}
	}
	progress("copying", c.total, c.total)
	return nil
}

type copier struct {
	target      transactor
	fingerprint string
	progress    Progress
	table       table
	rows        [][]any
	done, total int64
}

// flush copies the collected rows and records the position in the same transaction.
func (c *copier) flush(ctx context.Context) error {
	if len(c.rows) == 0 {
		return nil
	}
	columns := c.table.stagedColumns()
	last := c.rows[len(c.rows)-1]
	position := db.ImportPositionSaveParams{
		TableName: c.table.name, Fingerprint: c.fingerprint, RowCount: int64(len(c.rows)), FirstKey: last[0].(int64),
	}
	if len(c.table.key) == 2 {
		position.SecondKey = last[1].(int64)
	}
	err := pgx.BeginFunc(ctx, c.target, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{c.table.staged}, columns, pgx.CopyFromRows(c.rows)); err != nil {
			return err
		}
		return db.New().ImportPositionSave(ctx, tx, position)
	})
	c.done += int64(len(c.rows))
	c.rows = c.rows[:0]
	c.progress("copying", c.done, c.total)
	return err
}

// stagedRow expands a UUID to two columns.
func stagedRow(read row) []any {
	staged := make([]any, 0, len(read)+1)
	for _, cell := range read {
		is, isID := cell.(*id)
		switch {
		case !isID:
			staged = append(staged, cell)
		case is == nil:
			staged = append(staged, (*uuid.UUID)(nil), nil)
		default:
			staged = append(staged, is.uuid, is.spelled)
		}
	}
	return staged
}
