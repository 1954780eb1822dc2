package store

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

// statementWatch times statements: as spans of requests that are traced, and in the
// log where they are slow. Neither ever tells the values that a statement was given.
//
// Libraries looked at: exaring/otelpgx makes spans of the same hooks, but one must be
// made for every statement before it is known whether anybody wants it, it records
// the text of statements, and it knows of no slow ones.
type statementWatch struct {
	// spans is nil where requests are not traced.
	spans trace.Tracer
	// slow is how long a statement may take before the log tells of it; 0: forever.
	slow time.Duration
	log  *slog.Logger

	mutex sync.Mutex
	// slowCounts are by query; their number is bounded by that of queries.
	slowCounts map[string]int64
}

// newStatementWatch is nil if there is nothing to watch for.
func newStatementWatch(options Options) *statementWatch {
	if options.Spans == nil && options.SlowQuery <= 0 {
		return nil
	}
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	return &statementWatch{spans: options.Spans, slow: options.SlowQuery, log: log, slowCounts: map[string]int64{}}
}

// SlowQueries tells how often each query took longer than Options.SlowQuery, by the
// names that it has in sql/queries; a batch of queries has their names with a plus.
func (s *Store) SlowQueries() map[string]int64 {
	watch := s.tracer.watch
	if watch == nil {
		return nil
	}
	watch.mutex.Lock()
	defer watch.mutex.Unlock()
	return maps.Clone(watch.slowCounts)
}

// timed is the context of a statement while it runs. It carries its notes itself, so
// that they cost one allocation.
type timed struct {
	context.Context
	start time.Time
	// sql is the text of the one statement; empty for a batch, which has a span from
	// its beginning, because those of its statements are below it.
	sql   string
	batch *pgx.Batch
	span  trace.Span
	rows  int64
	ended bool
}

type timedKey struct{}

// Value gives the notes to whoever asks by their key.
func (t *timed) Value(key any) any {
	if key == (timedKey{}) {
		return t
	}
	return t.Context.Value(key)
}

func notesOf(ctx context.Context) *timed {
	notes, _ := ctx.Value(timedKey{}).(*timed)
	return notes
}

// wanted says whether a span of what happens in a context would go anywhere.
func (w *statementWatch) wanted(ctx context.Context) bool {
	return w.spans != nil && trace.SpanFromContext(ctx).IsRecording()
}

func (w *statementWatch) begin(ctx context.Context, sql string) context.Context {
	if w.slow <= 0 && !w.wanted(ctx) {
		return ctx
	}
	return &timed{Context: ctx, start: time.Now(), sql: sql}
}

func (w *statementWatch) end(ctx context.Context, tag pgconn.CommandTag, err error) {
	notes := notesOf(ctx)
	if notes == nil || notes.ended || notes.batch != nil {
		return
	}
	notes.ended, notes.rows = true, tag.RowsAffected()
	if w.wanted(notes.Context) {
		w.span(notes.Context, QueryName(notes.sql), notes.start, notes.rows, err)
	}
	w.tellSlow(notes, "", err)
}

// endPrepare is end for what is prepared, which has no rows. Its span is named after
// what it is, since the statement itself comes next.
func (w *statementWatch) endPrepare(ctx context.Context, err error) {
	notes := notesOf(ctx)
	if notes == nil || notes.ended || notes.batch != nil {
		return
	}
	notes.ended = true
	if w.wanted(notes.Context) {
		w.span(notes.Context, "PREPARE "+QueryName(notes.sql), notes.start, 0, err)
	}
	w.tellSlow(notes, "PREPARE", err)
}

// span makes a span of something that is over.
func (w *statementWatch) span(ctx context.Context, name string, start time.Time, rows int64, err error) {
	_, span := w.spans.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(systemName, attribute.String("db.query.summary", name),
			attribute.Int64("db.response.returned_rows", rows)))
	fail(span, err)
	span.End()
}

var systemName = attribute.String("db.system.name", "postgresql")

// fail marks a span. The text of an error may contain values: only its code is told.
func fail(span trace.Span, err error) {
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		return
	}
	kind := "_OTHER"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		kind = refused.Code
		span.SetAttributes(attribute.String("db.response.status_code", refused.Code))
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = "cancelled"
	}
	span.SetAttributes(attribute.String("error.type", kind))
	// What the SQL functions refuse in the course of their work is an answer.
	if !strings.HasPrefix(kind, "PL") {
		span.SetStatus(codes.Error, kind)
	}
}

func (w *statementWatch) beginBatch(ctx context.Context, batch *pgx.Batch) context.Context {
	wanted := w.wanted(ctx)
	if w.slow <= 0 && !wanted {
		return ctx
	}
	notes := &timed{Context: ctx, start: time.Now(), batch: batch}
	if wanted {
		notes.Context, notes.span = w.spans.Start(ctx, "BATCH", trace.WithTimestamp(notes.start),
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(systemName, attribute.Int("db.operation.batch.size", batch.Len())))
	}
	return notes
}

// batchQuery makes the span of one statement of a batch. It begins when its answer was
// first waited for: PostgreSQL sends small answers of a batch together, so that the
// first of them waits for all.
func (w *statementWatch) batchQuery(ctx context.Context, data pgx.TraceBatchQueryData) {
	notes := notesOf(ctx)
	if notes == nil || notes.batch == nil {
		return
	}
	notes.rows += data.CommandTag.RowsAffected()
	if notes.span != nil && !data.ReadStartTime.IsZero() {
		w.span(notes.Context, QueryName(data.SQL), data.ReadStartTime, data.CommandTag.RowsAffected(), data.Err)
	}
}

func (w *statementWatch) endBatch(ctx context.Context, err error) {
	notes := notesOf(ctx)
	if notes == nil || notes.ended || notes.batch == nil {
		return
	}
	notes.ended = true
	if notes.span != nil {
		fail(notes.span, err)
		notes.span.End()
	}
	w.tellSlow(notes, "", err)
}

// tellSlow logs what took longer than it should. The request's id is put there by the
// log, which is given its context.
func (w *statementWatch) tellSlow(notes *timed, before string, err error) {
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

// sqlState tells of an error what contains no values.
func sqlState(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "cancelled"
	}
	return "error"
}

// name is that of the statement, or of those of a batch without what frames it.
func (t *timed) name() string {
	if t.batch == nil {
		return QueryName(t.sql)
	}
	var names []string
	for _, queued := range t.batch.QueuedQueries {
		if name := QueryName(queued.SQL); name != "BEGIN" && name != "COMMIT" {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// QueryName is the name that a statement has in sql/queries, where the generated text
// begins with it. Any other is named by its first word.
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
