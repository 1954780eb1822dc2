package candidates

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// requestTimeout is the maximum time of a single request, and of all rounds of a query.
const requestTimeout = 2 * time.Minute

// check sends a query once, records the size of the response, and returns the number of
// rounds to measure: that of the settings, or as many as fit into requestTimeout.
func (b *bench) check(ctx context.Context, s *cloudDB, of query, free int, about *result) (int, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var err error
	about.Candidates = of.expected(free)
	if about.Bytes, err = count(ctx, s, s.berth, of, free); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := s.candidateRequest(s.berth, of)(ctx, 0, 0); err != nil {
		return 0, err
	}
	took := max(time.Since(begun), b.settings.length)
	return max(1, min(b.settings.rounds, int(requestTimeout/4/took))), nil
}

// count sends a query, checks the number of candidates in the response and returns the
// size of the response.
func count(ctx context.Context, s *cloudDB, server *rig.Server, of query, free int) (int64, error) {
	into, from := io.Pipe()
	var candidates int
	var malformed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		candidates, malformed = countIn(into)
		_, _ = io.Copy(io.Discard, into) // so that the other side never waits
	}()
	read, err := s.Read(ctx, http.MethodGet, server.URL+of.path(), "", http.StatusOK, from)
	_ = from.CloseWithError(err)
	<-done
	switch expected := of.expected(free); {
	case err != nil:
		return read, err
	case malformed != nil:
		return read, malformed
	case candidates != expected:
		return read, fmt.Errorf("%d candidates instead of %d", candidates, expected)
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

// roundTrips counts those between the server and PostgreSQL.
func (b *bench) roundTrips(ctx context.Context, s *cloudDB, of query) (int64, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	return b.RoundTrips(ctx, s.name, handler, func(ctx context.Context, url string) error {
		return s.Request(ctx, http.MethodGet, url+of.path(), "", http.StatusOK)
	})
}

// peak returns how much the heap of this process grows at most during do. The process
// is the server, and a client that keeps nothing. The garbage collector runs often
// meanwhile, so that live objects count and garbage hardly does.
func peak(do func() error) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	runtime.GC() // what pools hold goes with the second
	before := heap()
	highest := make(chan uint64)
	stop := make(chan struct{})
	go func() {
		most := before
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-stop:
				highest <- most
				return
			case <-tick.C:
			}
		}
	}()
	err := do()
	close(stop)
	return float64(<-highest-before) / (1 << 20), err
}

// heap returns the size of all objects, dead ones not yet collected included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
