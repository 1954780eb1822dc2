package candidates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/bench/rig"
)

// baselineCommand is 'bench candidates baseline', the server process of the baselines:
// F at / and the reading of all rows at /rows. The benchmark starts it. Its garbage
// collector has the default, as that of berth serve.
func baselineCommand() *cobra.Command {
	var database string
	command := &cobra.Command{
		Use:    "baseline",
		Short:  "Serve the baselines of allocation candidates",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM)
			defer stop()
			return serveBaseline(ctx, database, command.OutOrStdout())
		},
	}
	command.Flags().StringVar(&database, "database-url", "", "PostgreSQL connection `URL`")
	return command
}

// serveBaseline serves until the context ends.
func serveBaseline(ctx context.Context, database string, out io.Writer) error {
	pool, err := rig.OpenPool(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	mux := http.NewServeMux()
	mux.Handle("/{$}", rig.SelectOne(pool))
	mux.Handle("/rows", rowReader{pool})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Fprintf(out, "The baseline is listening on http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// chunk is how much of an answer is written at once.
const chunk = 64 << 10

// rowReader is the baseline of a request without limit: one pass over all providers
// with their traits and one over all inventories, each value read into Go, while
// as many bytes are written as the request's answer has.
type rowReader struct{ pool *pgxpool.Pool }

// ServeHTTP writes ?bytes= in the course of ?rows=.
func (s rowReader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var bytes, rows int
	if _, err := fmt.Sscanf(r.URL.RawQuery, "bytes=%d&rows=%d", &bytes, &rows); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := &drip{to: w, bytes: bytes, rows: rows}
	var id, root int64
	var parent *int64
	var uuid [16]byte
	var traits []int32
	err := s.each(r.Context(), out, "SELECT id, uuid, parent_id, root_id, trait_ids FROM resource_providers",
		&id, &uuid, &parent, &root, &traits)
	if err == nil {
		var class, total, reserved int32
		var ratio float64
		var used int64
		err = s.each(r.Context(), out, "SELECT provider_id, class_id, total, reserved, allocation_ratio, used FROM inventories",
			&id, &class, &total, &reserved, &ratio, &used)
	}
	if err == nil {
		err = out.rest()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client sees a broken answer
	}
}

func (s rowReader) each(ctx context.Context, out *drip, statement string, into ...any) error {
	rows, err := s.pool.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := out.row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// drip writes so many bytes in the course of so many rows.
type drip struct {
	to          http.ResponseWriter
	bytes, rows int
	read, wrote int
}

var filler = make([]byte, chunk)

func (d *drip) row() error {
	d.read++
	if due := d.bytes * d.read / d.rows; due-d.wrote < chunk {
		return nil
	}
	d.wrote += chunk
	_, err := d.to.Write(filler)
	return err
}

func (d *drip) rest() error {
	for d.wrote < d.bytes {
		part := min(chunk, d.bytes-d.wrote)
		d.wrote += part
		if _, err := d.to.Write(filler[:part]); err != nil {
			return err
		}
	}
	return nil
}

// readingRows returns the baseline of a response of that size.
func (s *cloudDB) readingRows(ctx context.Context, bytes int64) (contender, error) {
	var rows int64
	const count = "SELECT (SELECT count(*) FROM resource_providers) + (SELECT count(*) FROM inventories)"
	if err := s.first().conn.QueryRow(ctx, count).Scan(&rows); err != nil {
		return contender{}, err
	}
	url := fmt.Sprintf("%s/rows?bytes=%d&rows=%d", s.baseline.URL, bytes, rows)
	return contender{s.baseline, func(ctx context.Context, _ int, _ int64) error {
		read, err := s.Read(ctx, http.MethodGet, url, "", http.StatusOK, io.Discard)
		if err == nil && read != bytes {
			err = fmt.Errorf("the baseline wrote %d bytes instead of %d", read, bytes)
		}
		return err
	}}, nil
}
