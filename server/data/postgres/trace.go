package postgres

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// statementTracer times statements: as spans of traced requests, and in the log if they are slow. Neither ever contains
// the arguments of a statement.
//
// Alternative considered: exaring/otelpgx creates spans in the same hooks. But it creates one for every statement
// before it is known whether the request is traced, it records the text of statements, and it does not log slow ones.
type statementTracer struct {
	// spans is nil if tracing is off.
	spans trace.Tracer
	// slow is the duration from which on the log reports a statement; 0: never.
	slow time.Duration
	log  *slog.Logger

	mutex sync.Mutex
	// slowCounts are counts by query; the number of queries limits its size.
	slowCounts map[string]int64
}

// newStatementTracer returns nil if neither spans nor slow queries are requested.
func newStatementTracer(options Options) *statementTracer {
	if options.Spans == nil && options.SlowQuery <= 0 {
		return nil
	}
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	return &statementTracer{spans: options.Spans, slow: options.SlowQuery, log: log, slowCounts: map[string]int64{}}
}

// SlowQueries returns how often each query took longer than Options.SlowQuery, by its name in sql/queries. The name of
// a batch is that of its queries, joined by a plus.
func (p *Pool) SlowQueries() map[string]int64 {
	watch := p.tracer.watch
	if watch == nil {
		return nil
	}
	watch.mutex.Lock()
	defer watch.mutex.Unlock()
	return maps.Clone(watch.slowCounts)
}

// statementTiming is the context of a statement while it runs. The context contains its own values, so that both cost
// one allocation.
type statementTiming struct {
	context.Context
	start time.Time
	// sql is the text of the statement; empty for a batch, which has a span from its beginning, because the spans of
	// its statements are its children.
	sql   string
	batch *pgx.Batch
	span  trace.Span
	rows  int64
	ended bool
}

type timedKey struct{}

// Value returns the timing for its key.
func (t *statementTiming) Value(key any) any {
	if key == (timedKey{}) {
		return t
	}
	return t.Context.Value(key)
}

func timingOf(ctx context.Context) *statementTiming {
	notes, _ := ctx.Value(timedKey{}).(*statementTiming)
	return notes
}

// wanted reports whether a span in a context would be exported.
func (w *statementTracer) wanted(ctx context.Context) bool {
	return w.spans != nil && trace.SpanFromContext(ctx).IsRecording()
}

func (w *statementTracer) begin(ctx context.Context, sql string) context.Context {
	if w.slow <= 0 && !w.wanted(ctx) {
		return ctx
	}
	return &statementTiming{Context: ctx, start: time.Now(), sql: sql}
}

func (w *statementTracer) end(ctx context.Context, tag pgconn.CommandTag, err error) {
	notes := timingOf(ctx)
	if notes == nil || notes.ended || notes.batch != nil {
		return
	}
	notes.ended, notes.rows = true, tag.RowsAffected()
	if w.wanted(notes.Context) {
		w.span(notes.Context, QueryName(notes.sql), notes.start, notes.rows, err)
	}
	w.logSlow(notes, "", err)
}

// endPrepare is end for a preparation, which has no rows. Its span is called PREPARE, because the span of the statement
// itself follows.
func (w *statementTracer) endPrepare(ctx context.Context, err error) {
	notes := timingOf(ctx)
	if notes == nil || notes.ended || notes.batch != nil {
		return
	}
	notes.ended = true
	if w.wanted(notes.Context) {
		w.span(notes.Context, "PREPARE "+QueryName(notes.sql), notes.start, 0, err)
	}
	w.logSlow(notes, "PREPARE", err)
}

// span creates a span of an operation that has ended.
func (w *statementTracer) span(ctx context.Context, name string, start time.Time, rows int64, err error) {
	_, span := w.spans.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(systemName, attribute.String("db.query.summary", name),
			attribute.Int64("db.response.returned_rows", rows)))
	fail(span, err)
	span.End()
}

var systemName = attribute.String("db.system.name", "postgresql")

// fail sets the status of a span. The text of an error may contain values, so the span contains only its code.
func fail(span trace.Span, err error) {
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		return
	}
	kind := "_OTHER"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		kind = refused.Code
		span.SetAttributes(attribute.String("db.response.status_code", refused.Code))
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = "canceled"
	}
	span.SetAttributes(attribute.String("error.type", kind))
	// A rule violation of the SQL functions is a result and no failure.
	if !strings.HasPrefix(kind, "PL") {
		span.SetStatus(codes.Error, kind)
	}
}

func (w *statementTracer) beginBatch(ctx context.Context, batch *pgx.Batch) context.Context {
	wanted := w.wanted(ctx)
	if w.slow <= 0 && !wanted {
		return ctx
	}
	notes := &statementTiming{Context: ctx, start: time.Now(), batch: batch}
	if wanted {
		notes.Context, notes.span = w.spans.Start(ctx, "BATCH", trace.WithTimestamp(notes.start),
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(systemName, attribute.Int("db.operation.batch.size", batch.Len())))
	}
	return notes
}

// batchQuery creates the span of one statement of a batch. It begins at the first wait for its result: PostgreSQL sends
// small results of a batch together, so the first of them includes the wait for all.
func (w *statementTracer) batchQuery(ctx context.Context, data pgx.TraceBatchQueryData) {
	notes := timingOf(ctx)
	if notes == nil || notes.batch == nil {
		return
	}
	notes.rows += data.CommandTag.RowsAffected()
	if notes.span != nil && !data.ReadStartTime.IsZero() && data.SQL != setReadCommitted {
		w.span(notes.Context, QueryName(data.SQL), data.ReadStartTime, data.CommandTag.RowsAffected(), data.Err)
	}
}

func (w *statementTracer) endBatch(ctx context.Context, err error) {
	notes := timingOf(ctx)
	if notes == nil || notes.ended || notes.batch == nil {
		return
	}
	notes.ended = true
	if notes.span != nil {
		fail(notes.span, err)
		notes.span.End()
	}
	w.logSlow(notes, "", err)
}

// logSlow logs a statement that took longer than slow. The log handler adds the request ID from the context.
func (w *statementTracer) logSlow(notes *statementTiming, before string, err error) {
	took := time.Since(notes.start)
	if w.slow <= 0 || took < w.slow {
		return
	}
	name := strings.TrimSpace(before + " " + notes.name())
	w.mutex.Lock()
	w.slowCounts[name]++
	w.mutex.Unlock()
	attributes := []slog.Attr{slog.String("query", name), slog.Duration("duration", took), slog.Int64("rows", notes.rows)}
	if err != nil {
		attributes = append(attributes, slog.String("failed", sqlState(err)))
	}
	w.log.LogAttrs(notes.Context, slog.LevelWarn, "slow query", attributes...)
}

// sqlState returns the part of an error that contains no values.
func sqlState(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "canceled"
	}
	return "error"
}

// name returns the name of the statement, or those of a batch without those that begin and end a transaction.
func (t *statementTiming) name() string {
	if t.batch == nil {
		return QueryName(t.sql)
	}
	var names []string
	for _, queued := range t.batch.QueuedQueries {
		if name := QueryName(queued.SQL); name != "BEGIN" && name != "COMMIT" && queued.SQL != setReadCommitted {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// QueryName returns the name of a statement in sql/queries: the generated text begins with it. For any other statement
// it returns the first word.
func QueryName(sql string) string {
	if named, ok := strings.CutPrefix(sql, "-- name: "); ok {
		if end := strings.IndexByte(named, ' '); end > 0 {
			return named[:end]
		}
	}
	sql = strings.TrimLeft(sql, "- \t\n")
	if end := strings.IndexFunc(sql, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }); end >= 0 {
		sql = sql[:end]
	}
	if sql == "" || len(sql) > 30 {
		return "SQL"
	}
	return strings.ToUpper(sql)
}
