package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
)

// snapshot is a transaction in which several statements read the same data. It
// sends them in batches, each of which takes one round trip, the beginning
// included.
type snapshot struct {
	conn  *pgxpool.Conn
	begun bool
	// recorded are the statements sent so far, if they are wanted.
	record   bool
	recorded []Statement
}

// Statement is one that was sent, for those who want to see its plan.
type Statement struct {
	SQL  string
	Args []any
}

// close gives the connection back.
func (s *snapshot) close() error {
	defer s.conn.Release()
	if !s.begun || s.conn.Conn().IsClosed() {
		return nil
	}
	_, err := s.conn.Exec(context.Background(), "ROLLBACK")
	return err
}

// batch collects queries to be sent at once. Later puts one in; send runs
// them; then the answers are read in the order of the queries, all of them.
type batch struct {
	of      *snapshot
	queued  pgx.Batch
	results pgx.BatchResults
	ends    bool
}

func (s *snapshot) batch() *batch {
	b := &batch{of: s}
	if !s.begun {
		b.queued.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	}
	return b
}

// later puts a generated query into a batch. The function that it returns reads the
// answer. The generated code is called twice, to say what to send and to read what
// came, so that arguments and columns stay its business.
func later[R any](b *batch, query func(context.Context, db.DBTX) (R, error)) func(context.Context) (R, error) {
	_, _ = query(context.Background(), queuing{b}) // errQueued
	return func(ctx context.Context) (R, error) { return query(ctx, answering{b}) }
}

// once is a batch of one query.
func once[R any](ctx context.Context, s *snapshot, query func(context.Context, db.DBTX) (R, error)) (R, error) {
	b := s.batch()
	answer := later(b, query)
	if err := b.send(ctx); err != nil {
		var none R
		return none, errors.Join(err, b.done())
	}
	found, err := answer(ctx)
	return found, errors.Join(err, b.done())
}

// end makes the batch the last of its snapshot.
func (b *batch) end() {
	b.queued.Queue("COMMIT")
	b.ends = true
}

func (b *batch) send(ctx context.Context) error {
	b.results = b.of.conn.SendBatch(ctx, &b.queued)
	if b.of.begun {
		return nil
	}
	b.of.begun = true
	_, err := b.results.Exec()
	return err
}

// done ends the reading of answers. The error is that of the batch, if any.
func (b *batch) done() error {
	err := b.results.Close()
	if err == nil && b.ends {
		b.of.begun = false
	}
	return err
}

var errQueued = errors.New("the query waits to be sent")

// queuing is a database that only notes what it is asked.
type queuing struct{ b *batch }

func (q queuing) note(sql string, args []any) {
	q.b.queued.Queue(sql, args...)
	if q.b.of.record {
		q.b.of.recorded = append(q.b.of.recorded, Statement{SQL: sql, Args: args})
	}
}

func (q queuing) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	q.note(sql, args)
	return pgconn.CommandTag{}, errQueued
}

func (q queuing) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	q.note(sql, args)
	return nil, errQueued
}

func (q queuing) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	q.note(sql, args)
	return unanswered{}
}

type unanswered struct{}

func (unanswered) Scan(...any) error { return errQueued }

// answering is a database that answers what was noted before.
type answering struct{ b *batch }

func (a answering) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.b.results.Exec()
}

func (a answering) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return a.b.results.Query()
}

func (a answering) QueryRow(context.Context, string, ...any) pgx.Row { return a.b.results.QueryRow() }
