package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
)

// EachRow runs a generated query outside of a transaction and calls each for every row, which is valid until each
// returns. It serves queries with so many rows that scanning each into a struct of the generated code is most of the
// work. Arguments stay in the generated code; each must know the columns.
func EachRow(ctx context.Context, conn *Conn, query func(context.Context, db.DBTX) error, each func(pgx.Rows) error) error {
	reader := &rowReader{each: each, query: func(sql string, args []any) (pgx.Rows, error) { return conn.Query(ctx, sql, args...) }}
	_ = query(ctx, reader) // errRowsRead
	return reader.err
}

// EnqueueEachRow is Enqueue for queries that EachRow could run.
func EnqueueEachRow(b *Batch, query func(context.Context, db.DBTX) error, each func(pgx.Rows) error) func(context.Context) error {
	_ = query(context.Background(), enqueuer{b}) // errQueued
	return func(ctx context.Context) error {
		reader := &rowReader{each: each, query: func(string, []any) (pgx.Rows, error) { return b.results.Query() }}
		_ = query(ctx, reader) // errRowsRead
		return reader.err
	}
}

var errRowsRead = errors.New("the rows are read already")

// rowReader is a db.DBTX that reads the rows of one query itself.
type rowReader struct {
	query func(sql string, args []any) (pgx.Rows, error)
	each  func(pgx.Rows) error
	err   error
}

func (r *rowReader) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := r.query(sql, args)
	if err != nil {
		r.err = err
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if r.err = r.each(rows); r.err != nil {
			return nil, r.err
		}
	}
	r.err = rows.Err()
	return nil, errRowsRead
}

// Exec implements db.DBTX. A query with rows does not call it.
func (r *rowReader) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	r.err = errRowsRead
	return pgconn.CommandTag{}, r.err
}

// QueryRow implements db.DBTX. A query with several rows does not call it.
func (r *rowReader) QueryRow(context.Context, string, ...any) pgx.Row {
	r.err = errRowsRead
	return pendingRow{}
}
