package candidates

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berthd/berth/internal/test/process"
)

// requestTimeout is the maximum time of a single request, and of the check of a query.
const requestTimeout = 2 * time.Minute

// check sends a query to each program, records the sizes of the responses, and returns
// how often to repeat the measurement.
func (b *bench) check(ctx context.Context, s *cloudDB, of query, free int, about *result) (repeats, error) {
	about.Candidates = of.expected(free)
	var slowest time.Duration
	for i, one := range s.all {
		begun := time.Now()
		bytes, err := count(ctx, one, one.server(of), of, free)
		if err != nil {
			return repeats{}, err
		}
		about.program(i).Bytes = bytes
		took := time.Since(begun)
		if took < slowRequest { // else the first request after an idle time makes no difference
			begun = time.Now()
			if err := one.contender(of).request(ctx, 0, 0); err != nil {
				return repeats{}, err
			}
			took = time.Since(begun)
		}
		slowest = max(slowest, took)
	}
	return b.repeat(slowest, len(s.all)), nil
}

// count sends a query, checks the number of candidates in the response and returns the
// size of the response.
func count(ctx context.Context, on *deployment, server *process.Process, of query, free int) (int64, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	into, from := io.Pipe()
	var candidates int
	var malformed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		candidates, malformed = countIn(into)
		_, _ = io.Copy(io.Discard, into) // so that the other side never waits
	}()
	read, err := on.Read(of.context(ctx), http.MethodGet, server.URL+of.path(), "", http.StatusOK, from)
	_ = from.CloseWithError(err)
	<-done
	switch expected := of.expected(free); {
	case err != nil:
		return read, err
	case malformed != nil:
		return read, malformed
	case candidates != expected:
		return read, fmt.Errorf("%s: %d candidates instead of %d", on.program.file, candidates, expected)
	}
	return read, nil
}

// countIn decodes a response as a stream, because it may be large.
func countIn(answer io.Reader) (int, error) {
	decoder := json.NewDecoder(answer)
	if _, err := decoder.Token(); err != nil {
		return 0, err
	}
	candidates := 0
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return 0, err
		}
		if _, err := decoder.Token(); err != nil { // [ or {
			return 0, err
		}
		for decoder.More() {
			var part json.RawMessage
			if name != "allocation_requests" {
				if _, err := decoder.Token(); err != nil { // a uuid
					return 0, err
				}
			} else {
				candidates++
			}
			if err := decoder.Decode(&part); err != nil {
				return 0, err
			}
		}
		if _, err := decoder.Token(); err != nil {
			return 0, err
		}
	}
	_, err := decoder.Token()
	return candidates, err
}
