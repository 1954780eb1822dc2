package plan

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/berthd/berth/server/postgres"
)

// Recorded is a statement that was sent.
type Recorded struct {
	// Name is the name of the query in sql/queries.
	Name string
	// SQL is its text, without the line of its name.
	SQL  string
	Args []any
}

// Recorder is a tracer of the driver that keeps the generated queries, and counts round trips. It is safe for
// concurrent use.
type Recorder struct {
	mutex      sync.Mutex
	statements []Recorded
	roundTrips int
}

// Reset returns what was recorded since the last call, and forgets it. Round trips include the beginning and the end
// of transactions, but not the preparation of statements, which a connection prepares once.
func (r *Recorder) Reset() (statements []Recorded, roundTrips int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	statements, roundTrips = r.statements, r.roundTrips
	r.statements, r.roundTrips = nil, 0
	return statements, roundTrips
}

// TraceQueryStart records a statement that is sent alone.
func (r *Recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !strings.HasPrefix(data.SQL, "-- ping") { // the pool's check of an idle connection
		r.roundTrips++
		r.add(data.SQL, data.Args)
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (r *Recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart records statements that are sent together.
func (r *Recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.roundTrips++
	for _, queued := range data.Batch.QueuedQueries {
		r.add(queued.SQL, queued.Arguments)
	}
	return ctx
}

// TraceBatchQuery does nothing.
func (r *Recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (r *Recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// add keeps a generated query. What begins or ends a transaction has no name and no plan.
func (r *Recorder) add(sql string, args []any) {
	if line, rest, named := strings.Cut(sql, "\n"); named && strings.HasPrefix(line, "-- name: ") {
		r.statements = append(r.statements, Recorded{Name: postgres.QueryName(sql), SQL: strings.TrimSpace(rest), Args: args})
	}
}

// Literals returns arguments as SQL literals of the types that a prepared statement expects.
func Literals(types *pgtype.Map, oids []uint32, args []any) ([]string, error) {
	if len(oids) != len(args) {
		return nil, fmt.Errorf("the statement has %d parameters, and %d arguments were recorded", len(oids), len(args))
	}
	literals := make([]string, len(args))
	for i, arg := range args {
		text, err := types.Encode(oids[i], pgtype.TextFormatCode, arg, nil)
		switch {
		case err != nil:
			return nil, fmt.Errorf("argument $%d: %w", i+1, err)
		case text == nil:
			literals[i] = "NULL"
		default:
			literals[i] = quote(string(text))
		}
	}
	return literals, nil
}

// quote writes a text as a literal, whatever standard_conforming_strings is.
func quote(text string) string {
	escaped := strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return "E'" + strings.ReplaceAll(escaped, `\`, `\\`) + "'"
	}
	return "'" + escaped + "'"
}
