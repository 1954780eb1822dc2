package legacy

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// chunk is how many rows are copied in one transaction: what is read again, at most,
// after a copy was broken off. 20,000 allocations take a fifth of a second.
const chunk = 20000

// transactor begins transactions, or parts of one.
type transactor interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// stage copies what is not yet copied of the source's tables, by COPY, which no query
// of sql/queries can say: sqlc's would change the interface of all queries. Tables and
// columns are those of tables.go.
func (s *Source) stage(ctx context.Context, target transactor, positions []db.LegacyPosition, progress Progress) error {
	c := copying{target: target, progress: progress, total: s.total()}
	reached := map[string]db.LegacyPosition{}
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

type copying struct {
	target      transactor
	progress    Progress
	table       table
	rows        [][]any
	done, total int64
}

// flush copies the rows that were collected and notes the position with them.
func (c *copying) flush(ctx context.Context) error {
	if len(c.rows) == 0 {
		return nil
	}
	columns := c.table.stagedColumns()
	last := c.rows[len(c.rows)-1]
	position := db.LegacyPositionSaveParams{TableName: c.table.name, RowCount: int64(len(c.rows)), FirstKey: last[0].(int64)}
	if len(c.table.key) == 2 {
		position.SecondKey = last[1].(int64)
	}
	err := pgx.BeginFunc(ctx, c.target, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{c.table.staged}, columns, pgx.CopyFromRows(c.rows)); err != nil {
			return err
		}
		return db.New().LegacyPositionSave(ctx, tx, position)
	})
	c.done += int64(len(c.rows))
	c.rows = c.rows[:0]
	c.progress("copying", c.done, c.total)
	return err
}

// stagedRow makes two columns of a uuid.
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
