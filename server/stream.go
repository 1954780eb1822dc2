package server

import (
	"net/http"
	"time"
)

// stream bounds how long a stream of HTTP/2 waits for its client. The listener bounds only connections,
// and a connection can progress while one of its streams waits for the client's flow control.
type stream struct {
	stall time.Duration
	// end is the deadline of the response; zero: none.
	end time.Time
	set time.Time
}

// streamStep is the number of bytes that a client must accept within the stall timeout. It is also the
// buffer size of net/http.
const streamStep = 4 << 10

// endOf returns the deadline of a response.
func endOf(start time.Time, write time.Duration) time.Time {
	if write <= 0 {
		return time.Time{}
	}
	return start.Add(write)
}

// write writes p in steps, each with its own deadline.
func (s *stream) write(to http.ResponseWriter, p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		s.extend(to)
		var n int
		n, err = to.Write(p[:min(len(p), streamStep)])
		written += n
		p = p[n:]
	}
	return written, err
}

// extend sets the deadline unless it was set a moment ago: each change costs a message to the goroutine of
// the connection.
func (s *stream) extend(to http.ResponseWriter) {
	now := time.Now()
	if now.Sub(s.set) < s.stall/8 {
		return
	}
	s.set = now
	deadline := now.Add(s.stall)
	if !s.end.IsZero() && s.end.Before(deadline) {
		deadline = s.end
	}
	// Writers other than streams of net/http do not support deadlines.
	_ = http.NewResponseController(to).SetWriteDeadline(deadline)
}
