package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
)

// beginReadCommitted begins a transaction at the level at which the SQL functions are correct: after a wait for a lock,
// the next statement of a function sees what the other transaction has committed.
const beginReadCommitted = "BEGIN ISOLATION LEVEL READ COMMITTED"

// setReadCommitted sets the level of the current transaction, and of no later one. As the first statement of a batch
// without BEGIN it applies to the statements behind it, because they are one transaction. In contrast to SET
// TRANSACTION it needs no transaction block, and in contrast to BEGIN no COMMIT or ROLLBACK.
const setReadCommitted = "SET transaction_isolation = 'read committed'"

// Primary is the connections for writes. Each call is one transaction in READ COMMITTED.
type Primary struct {
	*pgxpool.Pool
	// pooled is set behind a transaction pooler, where no parameter of the session sets the isolation level.
	pooled bool
	// before adds the statements behind which each one is executed; nil: none.
	before func(*pgx.Batch)
}

// Conn is an acquired connection. Outside of a transaction each call is one transaction in READ COMMITTED.
type Conn struct {
	*acquired
	pooled bool
}

// acquired has a name of its own, so that Conn keeps the method Conn.
type acquired = pgxpool.Conn

// Exec implements db.DBTX.
func (p *Primary) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	if p.pooled || p.before != nil {
		return p.After(nil, nil).Exec(ctx, statement, args...)
	}
	return p.Pool.Exec(ctx, statement, args...)
}

// Query implements db.DBTX.
func (p *Primary) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	if p.pooled || p.before != nil {
		return p.After(nil, nil).Query(ctx, statement, args...)
	}
	return p.Pool.Query(ctx, statement, args...)
}

// QueryRow implements db.DBTX.
func (p *Primary) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	if p.pooled || p.before != nil {
		return p.After(nil, nil).QueryRow(ctx, statement, args...)
	}
	return p.Pool.QueryRow(ctx, statement, args...)
}

// Begin begins a transaction in READ COMMITTED.
func (p *Primary) Begin(ctx context.Context) (pgx.Tx, error) {
	return p.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
}

// After returns a db.DBTX that executes each statement behind those that queue adds to a batch. The batch takes one
// round trip and is one transaction in READ COMMITTED, which PostgreSQL commits at its end. failed, if not nil, maps an
// error of the statements of queue.
func (p *Primary) After(queue func(*pgx.Batch), failed func(error) error) db.DBTX {
	return &batchedStatement{to: p.Pool, pooled: p.pooled, before: p.before, queue: queue, failed: failed}
}

// Behind returns the same connections, which execute each statement behind those that queue adds to a batch, as After does.
// Transactions that Begin begins do not.
func (p *Primary) Behind(queue func(*pgx.Batch)) *Primary {
	return &Primary{Pool: p.Pool, pooled: p.pooled, before: queue}
}

// isSingle reports whether the next statement is a transaction of its own that lacks the isolation level.
func (c *Conn) isSingle() bool { return c.pooled && c.Conn().PgConn().TxStatus() == 'I' }

func (c *Conn) single() db.DBTX { return &batchedStatement{to: c.acquired, pooled: true} }

// Exec implements db.DBTX.
func (c *Conn) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	if c.isSingle() {
		return c.single().Exec(ctx, statement, args...)
	}
	return c.acquired.Exec(ctx, statement, args...)
}

// Query implements db.DBTX.
func (c *Conn) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	if c.isSingle() {
		return c.single().Query(ctx, statement, args...)
	}
	return c.acquired.Query(ctx, statement, args...)
}

// QueryRow implements db.DBTX.
func (c *Conn) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	if c.isSingle() {
		return c.single().QueryRow(ctx, statement, args...)
	}
	return c.acquired.QueryRow(ctx, statement, args...)
}

// Begin begins a transaction in READ COMMITTED.
func (c *Conn) Begin(ctx context.Context) (pgx.Tx, error) {
	return c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
}

// batchedStatement is a db.DBTX that executes a statement as the last of a batch without BEGIN.
type batchedStatement struct {
	to interface {
		SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
	}
	pooled bool
	before func(*pgx.Batch)
	queue  func(*pgx.Batch)
	failed func(error) error
}

// begin sends the batch and reads the results of the statements before the last. After an error the batch is closed.
func (s *batchedStatement) begin(ctx context.Context, statement string, args []any) (pgx.BatchResults, error) {
	batch := &pgx.Batch{}
	if s.pooled {
		batch.Queue(setReadCommitted)
	}
	if s.before != nil {
		s.before(batch)
	}
	if s.queue != nil {
		s.queue(batch)
	}
	before := batch.Len()
	batch.Queue(statement, args...)
	results := s.to.SendBatch(ctx, batch)
	for range before {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // with the same error
			if s.failed != nil {
				err = s.failed(err)
			}
			return nil, err
		}
	}
	return results, nil
}

// Exec implements db.DBTX. It returns after the commit.
func (s *batchedStatement) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	results, err := s.begin(ctx, statement, args)
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
func (s *batchedStatement) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	results, err := s.begin(ctx, statement, args)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // with the same error
		return nil, err
	}
	return &batchedRows{Rows: rows, results: results}, nil
}

// QueryRow implements db.DBTX. Scan returns after the commit.
func (s *batchedStatement) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	rows, err := s.Query(ctx, statement, args...)
	return batchedRow{rows, err}
}

// batchedRows are the rows of the last statement. They close the batch.
type batchedRows struct {
	pgx.Rows
	results pgx.BatchResults
	closed  bool
	err     error
}

// Next implements pgx.Rows.
func (r *batchedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *batchedRows) Close() {
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
func (r *batchedRows) Err() error {
	if r.closed {
		return r.err
	}
	return r.Rows.Err()
}

// batchedRow is the first of the rows, or their error.
type batchedRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row.
func (r batchedRow) Scan(into ...any) error {
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
