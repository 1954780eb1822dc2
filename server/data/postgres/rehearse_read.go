package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
)

// ReadBefore runs a generated query in the snapshot that the transaction of a write has exported, in which the write is not
// visible, and returns its result. It rolls the write back as soon as the other connection has the snapshot, before
// PostgreSQL runs the query: so the locks of the write are free while the query runs, and the query reads nothing that
// another transaction has changed since.
//
// Both are one round trip, in which the ROLLBACK on the other connection is one beside it.
func ReadBefore[R any](
	ctx context.Context, conns *RehearsedConns, exported string, query func(context.Context, db.DBTX) (R, error),
) (found R, err error) {
	if strings.Trim(exported, "0123456789ABCDEF-") != "" {
		return found, fmt.Errorf("name of a snapshot: %q", exported)
	}
	var asked Batch
	_, _ = query(ctx, enqueuer{&asked}) // errQueued
	conn := conns.beside.Conn()
	if tracer, ok := conn.Config().Tracer.(pgx.BatchTracer); ok {
		ctx = tracer.TraceBatchStart(ctx, conn, pgx.TraceBatchStartData{Batch: &asked.queued})
		defer func() { tracer.TraceBatchEnd(ctx, conn, pgx.TraceBatchEndData{Err: err}) }()
	}
	sent := asked.queued.QueuedQueries[0]
	var arguments pgx.ExtendedQueryBuilder
	if err := arguments.Build(conn.TypeMap(), nil, sent.Arguments); err != nil {
		return found, err
	}
	pipeline := conn.PgConn().StartPipeline(ctx)
	defer func() { err = errors.Join(err, pipeline.Close()) }()
	pipeline.SendQueryParams(beginReads, nil, nil, nil, nil)
	pipeline.SendQueryParams("SET TRANSACTION SNAPSHOT '"+exported+"'", nil, nil, nil, nil)
	pipeline.SendPipelineSync()
	pipeline.SendQueryParams(sent.SQL, arguments.ParamValues, nil, arguments.ParamFormats, []int16{pgx.BinaryFormatCode})
	pipeline.SendQueryParams("COMMIT", nil, nil, nil, nil)
	if err := pipeline.Sync(); err != nil {
		return found, err
	}
	if err := skipToSync(pipeline); err != nil {
		return found, err
	}
	conns.EndWrite(ctx)
	result, err := pipeline.GetResults()
	if err != nil {
		return found, err
	}
	reader, ok := result.(*pgconn.ResultReader)
	if !ok {
		return found, fmt.Errorf("result of a pipelined query: %T", result)
	}
	if found, err = query(ctx, pipelined{pgx.RowsFromResultReader(conn.TypeMap(), reader)}); err != nil {
		return found, err
	}
	return found, skipToSync(pipeline)
}

// skipToSync reads the results of a pipeline up to the next synchronization, and returns the first error in them.
func skipToSync(pipeline *pgconn.Pipeline) error {
	for {
		result, err := pipeline.GetResults()
		if err != nil {
			return err
		}
		switch result := result.(type) {
		case *pgconn.PipelineSync:
			return nil
		case *pgconn.ResultReader:
			if _, err := result.Close(); err != nil {
				return err
			}
		}
	}
}

// pipelined is a db.DBTX that returns the rows of a query that has been sent.
type pipelined struct{ rows pgx.Rows }

// Exec implements db.DBTX.
func (p pipelined) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	p.rows.Close()
	return p.rows.CommandTag(), p.rows.Err()
}

// Query implements db.DBTX.
func (p pipelined) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.rows, nil }

// QueryRow implements db.DBTX.
func (p pipelined) QueryRow(context.Context, string, ...any) pgx.Row { return pipelinedRow(p) }

// pipelinedRow is the first of the rows.
type pipelinedRow pipelined

// Scan implements pgx.Row.
func (r pipelinedRow) Scan(into ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
