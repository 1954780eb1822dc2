package serve

import (
	"net"
	"os"
	"sync"
	"time"
)

// stallListener closes connections whose clients do not acknowledge written data.
type stallListener struct {
	net.Listener
	limit time.Duration
}

// Accept implements net.Listener.
func (l stallListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stallConn{Conn: accepted, limit: l.limit, step: stepOf(accepted)}, nil
}

// stallConn is a connection below TLS and HTTP. A Write continues while the client acknowledges
// at least one byte per limit. It fails with os.ErrDeadlineExceeded after a limit without an
// acknowledgment, or at the deadline of net/http.
type stallConn struct {
	net.Conn
	limit time.Duration
	// step is the maximum number of bytes per write; 0 means no maximum.
	step int

	mutex    sync.Mutex
	deadline time.Time
}

// unixStep is the maximum number of bytes per write to a Unix socket, whose queue of unread data
// shrinks only by whole writes.
const unixStep = 4 << 10

func stepOf(conn net.Conn) int {
	if _, isUnix := conn.(*net.UnixConn); isUnix {
		return unixStep
	}
	return 0
}

// NetConn returns the underlying connection, as tls.Conn does.
func (c *stallConn) NetConn() net.Conn { return c.Conn }

// CloseWrite shuts down the writing side, so that the client can read the response to its end.
// net/http calls it before it closes a connection whose request it has not read.
func (c *stallConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline implements net.Conn.
func (c *stallConn) SetDeadline(at time.Time) error {
	if err := c.SetReadDeadline(at); err != nil {
		return err
	}
	return c.SetWriteDeadline(at)
}

// SetWriteDeadline implements net.Conn. It also ends a waiting Write.
func (c *stallConn) SetWriteDeadline(at time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.deadline = at
	return c.Conn.SetWriteDeadline(at)
}

// Write implements net.Conn.
func (c *stallConn) Write(p []byte) (written int, err error) {
	for err == nil && written < len(p) {
		piece := p[written:]
		if c.step > 0 && len(piece) > c.step {
			piece = piece[:c.step]
		}
		var n int
		n, err = c.writePiece(piece)
		written += n
	}
	return written, err
}

// looksPerStall is the number of checks for progress per limit of a waiting Write.
const looksPerStall = 6

// writePiece waits in turns, and checks after each whether the client has acknowledged data. It
// reads the length of the kernel's send queue, because the kernel accepts more data only when a
// large part of the queue is empty, which takes a slow client minutes.
func (c *stallConn) writePiece(p []byte) (written int, err error) {
	progress, queued := time.Now(), -1
	for {
		if over := c.wait(); over {
			return written, os.ErrDeadlineExceeded
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if err == nil || !isTimeout(err) {
			return written, err
		}
		now, left := time.Now(), sendQueue(c.Conn)
		if n > 0 || queued >= 0 && left < queued {
			progress = now
		}
		queued = left
		if now.Sub(progress) >= c.limit {
			return written, os.ErrDeadlineExceeded
		}
	}
}

// wait sets the deadline of the next turn. It reports whether the deadline of net/http has
// passed.
func (c *stallConn) wait() (over bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	turn := now.Add(c.limit / looksPerStall)
	if !c.deadline.IsZero() {
		if !c.deadline.After(now) {
			return true
		}
		if c.deadline.Before(turn) {
			turn = c.deadline
		}
	}
	// Write returns the error of a closed connection.
	_ = c.Conn.SetWriteDeadline(turn)
	return false
}

func isTimeout(err error) bool {
	timed, ok := err.(net.Error)
	return ok && timed.Timeout()
}
