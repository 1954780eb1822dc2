package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
)

// Snapshot is a transaction in which several statements read the same data. It sends them in batches, each of which
// takes one round trip, including BEGIN. It is not safe for concurrent use.
type Snapshot struct {
	conn *Conn
	// begin is the statement that begins the transaction. That of a dry run's write reads new data in each statement.
	begin string
	begun bool
}

// beginReads begins a transaction whose statements read the same data.
const beginReads = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// NewSnapshot returns a snapshot on a connection. Its first batch begins the transaction.
func NewSnapshot(conn *Conn) *Snapshot { return &Snapshot{conn: conn, begin: beginReads} }

// Close ends the transaction and releases the connection. Further calls do nothing.
func (s *Snapshot) Close() error {
	conn := s.conn
	if conn == nil {
		return nil
	}
	s.conn = nil
	defer conn.Release()
	if !s.begun || conn.Conn().IsClosed() {
		return nil
	}
	_, err := conn.Exec(context.Background(), "ROLLBACK")
	return err
}

// Batch is a set of queries that are sent together. Enqueue adds a query and Send sends them. Then the caller reads all
// results, in the order of the queries, and calls Close.
type Batch struct {
	of      *Snapshot
	queued  pgx.Batch
	results pgx.BatchResults
	ends    bool
}

// Batch returns an empty batch. The first one of a snapshot begins the transaction.
func (s *Snapshot) Batch() *Batch {
	b := &Batch{of: s}
	if !s.begun {
		b.queued.Queue(s.begin)
	}
	return b
}

// Enqueue adds a generated query to a batch. The returned function reads the result. Enqueue and that function both
// call the generated code: first to record the SQL and its arguments, then to scan the rows. So the knowledge of
// arguments and columns stays in the generated code.
func Enqueue[R any](b *Batch, query func(context.Context, db.DBTX) (R, error)) func(context.Context) (R, error) {
	_, _ = query(context.Background(), enqueuer{b}) // errQueued
	return func(ctx context.Context) (R, error) { return query(ctx, resultReader{b}) }
}

// QueryOnce runs one query as a batch and returns its result.
func QueryOnce[R any](ctx context.Context, s *Snapshot, query func(context.Context, db.DBTX) (R, error)) (R, error) {
	b := s.Batch()
	read := Enqueue(b, query)
	if err := b.Send(ctx); err != nil {
		var none R
		return none, errors.Join(err, b.Close())
	}
	found, err := read(ctx)
	return found, errors.Join(err, b.Close())
}

// Commit appends COMMIT: the batch is the last of its snapshot.
func (b *Batch) Commit() {
	b.queued.Queue("COMMIT")
	b.ends = true
}

// Send sends the queries.
func (b *Batch) Send(ctx context.Context) error {
	b.results = b.of.conn.SendBatch(ctx, &b.queued)
	if b.of.begun {
		return nil
	}
	b.of.begun = true
	_, err := b.results.Exec()
	return err
}

// Close ends the reading of results. It returns the error of the batch, if any.
func (b *Batch) Close() error {
	err := b.results.Close()
	if err == nil && b.ends {
		b.of.begun = false
	}
	return err
}

var errQueued = errors.New("the query is queued and not sent yet")

// enqueuer is a db.DBTX that only records the query.
type enqueuer struct{ b *Batch }

func (q enqueuer) note(sql string, args []any) { q.b.queued.Queue(sql, args...) }

func (q enqueuer) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	q.note(sql, args)
	return pgconn.CommandTag{}, errQueued
}

func (q enqueuer) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	q.note(sql, args)
	return nil, errQueued
}

func (q enqueuer) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	q.note(sql, args)
	return pendingRow{}
}

type pendingRow struct{}

func (pendingRow) Scan(...any) error { return errQueued }

// resultReader is a db.DBTX that returns the result of the next recorded query.
type resultReader struct{ b *Batch }

func (a resultReader) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.b.results.Exec()
}

func (a resultReader) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return a.b.results.Query()
}

func (a resultReader) QueryRow(context.Context, string, ...any) pgx.Row {
	return a.b.results.QueryRow()
}
