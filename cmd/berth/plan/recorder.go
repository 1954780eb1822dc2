package plan

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/berthd/berth/server/data/postgres"
)

// Recorded is a statement that the handler sent.
type Recorded struct {
	// Name is the name of the query in sql/queries.
	Name string
	// SQL is its text without the first line, which has the name.
	SQL  string
	Args []any
}

// Recorder is a tracer for pgx that records the generated queries and counts round trips. It is safe for concurrent use.
type Recorder struct {
	mutex      sync.Mutex
	statements []Recorded
	roundTrips int
}

// Reset returns the statements and round trips since the last call, and clears them. Round trips include the beginning
// and the end of transactions. They exclude the preparation of statements, which happens once per connection.
func (r *Recorder) Reset() (statements []Recorded, roundTrips int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	statements, roundTrips = r.statements, r.roundTrips
	r.statements, r.roundTrips = nil, 0
	return statements, roundTrips
}

// TraceQueryStart records a single statement.
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

// TraceBatchStart records the statements of a batch.
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

// add records a generated query. It ignores statements without a name, which begin or end a transaction.
func (r *Recorder) add(sql string, args []any) {
	if line, rest, named := strings.Cut(sql, "\n"); named && strings.HasPrefix(line, "-- name: ") {
		r.statements = append(r.statements, Recorded{Name: postgres.QueryName(sql), SQL: strings.TrimSpace(rest), Args: args})
	}
}

// Literals returns arguments as SQL literals of the types that a prepared statement expects.
func Literals(types *pgtype.Map, oids []uint32, args []any) ([]string, error) {
	if len(oids) != len(args) {
		return nil, fmt.Errorf("the statement has %d parameters but %d recorded arguments", len(oids), len(args))
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

// quote returns a text as an SQL literal that is valid with any value of standard_conforming_strings.
func quote(text string) string {
	escaped := strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return "E'" + strings.ReplaceAll(escaped, `\`, `\\`) + "'"
	}
	return "'" + escaped + "'"
}
