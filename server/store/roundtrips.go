package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// RoundTrips counts how often a request waited for the database.
type RoundTrips struct{ count atomic.Int64 }

// Count is the number so far: statements, BEGIN and COMMIT, and the preparation
// of a statement that a connection sees for the first time.
func (r *RoundTrips) Count() int64 { return r.count.Load() }

type roundTripsKey struct{}

// CountRoundTrips makes a context whose trips to the database are counted.
func CountRoundTrips(ctx context.Context) (context.Context, *RoundTrips) {
	trips := &RoundTrips{}
	return context.WithValue(ctx, roundTripsKey{}, trips), trips
}

// tracer counts on behalf of the driver, and notes how long the database takes where
// somebody wants to know: see trace.go.
type tracer struct {
	// watch is nil where nobody does, which is then all that it costs.
	watch *statementWatch
}

func (*tracer) add(ctx context.Context, trips int64) {
	if counted, ok := ctx.Value(roundTripsKey{}).(*RoundTrips); ok {
		counted.count.Add(trips)
	}
}

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.add(ctx, 1)
	if t.watch == nil {
		return ctx
	}
	return t.watch.begin(ctx, data.SQL)
}

func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if t.watch != nil {
		t.watch.end(ctx, data.CommandTag, data.Err)
	}
}

// TraceBatchStart counts a batch once: its statements travel together.
func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t.add(ctx, 1)
	if t.watch == nil {
		return ctx
	}
	return t.watch.beginBatch(ctx, data.Batch)
}

func (t *tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if t.watch != nil {
		t.watch.batchQuery(ctx, data)
	}
}

func (t *tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	if t.watch != nil {
		t.watch.endBatch(ctx, data.Err)
	}
}

func (t *tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareStartData) context.Context {
	t.add(ctx, 1)
	if t.watch == nil {
		return ctx
	}
	return t.watch.begin(ctx, data.SQL)
}

func (t *tracer) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	if data.AlreadyPrepared {
		t.add(ctx, -1)
	} else if t.watch != nil {
		t.watch.endPrepare(ctx, data.Err)
	}
}
