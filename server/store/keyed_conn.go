package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// keyedConn executes a statement after idempotency_begin. Both are one batch, so they take one round trip and are one
// transaction: the server commits at the end of a batch that has no BEGIN.
type keyedConn struct {
	to  *pgxpool.Pool
	key *IdempotencyKey
}

// begin sends the batch and reads the result of idempotency_begin. After an error the batch is closed.
func (c *keyedConn) begin(ctx context.Context, statement string, args []any) (pgx.BatchResults, error) {
	batch := &pgx.Batch{}
	batch.Queue(db.IdempotencyBegin, c.key.Caller, c.key.Key, c.key.Fingerprint[:], c.key.Request, int32(c.key.Status),
		c.key.At, c.key.Lifetime.Seconds())
	batch.Queue(statement, args...)
	results := c.to.SendBatch(ctx, batch)
	_, err := results.Exec()
	if err == nil {
		return results, nil
	}
	_ = results.Close() // with the same error
	if postgres.LockTimedOut(err) {
		return nil, errKeyWait
	}
	return nil, err
}

// Exec implements db.DBTX. It returns after the commit.
func (c *keyedConn) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	results, err := c.begin(ctx, statement, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return tag, err
}

// Query implements db.DBTX. The error of the commit is that of the rows after the last one.
func (c *keyedConn) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	results, err := c.begin(ctx, statement, args)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // with the same error
		return nil, err
	}
	return &keyedRows{Rows: rows, results: results}, nil
}

// QueryRow implements db.DBTX. Scan returns after the commit.
func (c *keyedConn) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	rows, err := c.Query(ctx, statement, args...)
	return keyedRow{rows, err}
}

// keyedRows are the rows of the second statement. They close the batch.
type keyedRows struct {
	pgx.Rows
	results pgx.BatchResults
	closed  bool
	err     error
}

// Next implements pgx.Rows.
func (r *keyedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *keyedRows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.Rows.Close()
	if r.err = r.results.Close(); r.Rows.Err() != nil {
		r.err = r.Rows.Err()
	}
}

// Err implements pgx.Rows.
func (r *keyedRows) Err() error {
	if r.closed {
		return r.err
	}
	return r.Rows.Err()
}

// keyedRow is the first of the rows, or their error.
type keyedRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row.
func (r keyedRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	scanned := pgx.ErrNoRows
	if r.rows.Next() {
		scanned = r.rows.Scan(into...)
	}
	r.rows.Close()
	if err := r.rows.Err(); err != nil && !errors.Is(scanned, err) {
		return err
	}
	return scanned
}
