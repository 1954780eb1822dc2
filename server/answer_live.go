package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"
)

// sendLive sends a stream. It has neither the timeout of a request nor that of a response: only a client that takes nothing ends it,
// which the listener notices in HTTP/1, and liveConn in HTTP/2.
func (a *answer) sendLive(r *http.Request) {
	recorder, control := recorderOf(a.to), http.NewResponseController(a.to)
	conn := &liveConn{to: a.to, control: control}
	if recorder.stream != nil {
		conn.stall, recorder.stream = recorder.stream.stall, nil
	}
	// Writers of tests support no deadlines.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	ctx, cancel := withoutTimeout(r.Context())
	defer cancel()
	recorder.beginStream()
	a.to.WriteHeader(cmp.Or(a.status, http.StatusOK))
	a.live(ctx, conn)
}

type untimedKey struct{}

// untimed returns a context that withoutTimeout can take its end from.
func untimed(ctx context.Context) context.Context { return context.WithValue(ctx, untimedKey{}, ctx) }

// withoutTimeout returns a context that ends with the connection, and not at the timeout of the request.
func withoutTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	connection, ok := ctx.Value(untimedKey{}).(context.Context)
	if !ok {
		return context.WithCancel(ctx)
	}
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(connection, cancel)
	return detached, func() {
		stop()
		cancel()
	}
}

// liveConn is the connection of a stream. It implements route.Live.
type liveConn struct {
	to      http.ResponseWriter
	control *http.ResponseController
	// stall is how long a stream of HTTP/2 may take nothing; 0: no limit, or that of the listener. A deadline that passes between two
	// writes would end it too, so there is none then.
	stall time.Duration

	mutex sync.Mutex
	// expires is the last moment of a Send; zero: none.
	expires time.Time
}

// Send implements route.Live.
func (c *liveConn) Send(p []byte) error {
	for len(p) > 0 {
		n := len(p)
		if c.stall > 0 {
			n = min(n, streamStep)
			c.setDeadline(time.Now().Add(c.stall))
		}
		if _, err := c.to.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	err := c.control.Flush()
	if c.stall > 0 {
		c.setDeadline(time.Time{})
	}
	return err
}

// Expire implements route.Live.
func (c *liveConn) Expire(at time.Time) {
	c.mutex.Lock()
	c.expires = at
	c.mutex.Unlock()
	c.setDeadline(at)
}

// setDeadline sets the deadline of writes, zero for none, or that of Expire if it is earlier.
func (c *liveConn) setDeadline(at time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.expires.IsZero() && (at.IsZero() || c.expires.Before(at)) {
		at = c.expires
	}
	_ = c.control.SetWriteDeadline(at)
}
