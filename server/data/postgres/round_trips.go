package postgres

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// RoundTrips counts the round trips of a request to the database.
type RoundTrips struct{ count atomic.Int64 }

// Count returns the number so far: statements, BEGIN and COMMIT, and the preparation of a statement on its first use on
// a connection.
func (r *RoundTrips) Count() int64 { return r.count.Load() }

type roundTripsKey struct{}

// CountRoundTrips returns a context whose round trips to the database are counted, and the counter.
func CountRoundTrips(ctx context.Context) (context.Context, *RoundTrips) {
	trips := &RoundTrips{}
	return context.WithValue(ctx, roundTripsKey{}, trips), trips
}

// RoundTripsOf returns the counter of a context, nil if its round trips are not counted.
func RoundTripsOf(ctx context.Context) *RoundTrips {
	trips, _ := ctx.Value(roundTripsKey{}).(*RoundTrips)
	return trips
}

// tracer counts round trips in the driver's hooks, and times statements if tracing or the slow query log is on: see
// trace.go.
type tracer struct {
	// watch is nil if both are off; the check for nil is then the only cost.
	watch *statementTracer
	// diskFull counts statements that failed because the database's disk is full.
	diskFull atomic.Int64
	waits    poolWaits
}

// countDiskFull counts one error of a statement, if its cause is a full disk.
func (t *tracer) countDiskFull(err error) {
	if err != nil && isDiskFull(err) {
		t.diskFull.Add(1)
	}
}

// DiskFull returns how many statements failed because the disk of the database is full.
func (p *Pool) DiskFull() int64 { return p.tracer.diskFull.Load() }

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
	t.countDiskFull(data.Err)
	if t.watch != nil {
		t.watch.end(ctx, data.CommandTag, data.Err)
	}
}

// TraceBatchStart counts a batch once: its statements share one round trip.
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
	t.countDiskFull(data.Err)
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
