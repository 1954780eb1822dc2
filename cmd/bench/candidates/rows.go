package candidates

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/berthd/berth/cmd/bench/rig"
)

// chunk is how much of an answer is written at once.
const chunk = 64 << 10

// readRows is the baseline of a request without limit: one pass over all providers
// with their traits and one over all inventories, each value read into Go, while
// as many bytes are written as the request's answer has.
func (s *cloudDB) readRows(w http.ResponseWriter, r *http.Request) {
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

func (s *cloudDB) each(ctx context.Context, out *drip, statement string, into ...any) error {
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

// readingRows returns the request of the baseline of a response of that size.
func (s *cloudDB) readingRows(ctx context.Context, bytes int64) (rig.RequestFunc, error) {
	var rows int64
	const count = "SELECT (SELECT count(*) FROM resource_providers) + (SELECT count(*) FROM inventories)"
	if err := s.pool.QueryRow(ctx, count).Scan(&rows); err != nil {
		return nil, err
	}
	url := fmt.Sprintf("%s/?bytes=%d&rows=%d", s.rows.URL, bytes, rows)
	return func(ctx context.Context, _ int, _ int64) error {
		read, err := s.Read(ctx, http.MethodGet, url, "", http.StatusOK, io.Discard)
		if err == nil && read != bytes {
			err = fmt.Errorf("the baseline wrote %d bytes instead of %d", read, bytes)
		}
		return err
	}, nil
}
