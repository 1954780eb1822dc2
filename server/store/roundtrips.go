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

// tracer counts on behalf of the driver.
type tracer struct{}

func (tracer) add(ctx context.Context) context.Context {
	if trips, ok := ctx.Value(roundTripsKey{}).(*RoundTrips); ok {
		trips.count.Add(1)
	}
	return ctx
}

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return t.add(ctx)
}

// TraceBatchStart counts a batch once: its statements travel together.
func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return t.add(ctx)
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return t.add(ctx)
}

func (t tracer) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	if trips, ok := ctx.Value(roundTripsKey{}).(*RoundTrips); ok && data.AlreadyPrepared {
		trips.count.Add(-1)
	}
}
