package inside

import (
	"context"
	"errors"
	"net"
	"sync"
)

// errClosed is the error of requests after Close.
var errClosed = errors.New("the in-process server is closed")

// pipes is a listener whose connections are in-memory pipes from this process. A pipe buffers no bytes, so
// that the server produces a response no faster than the client reads it.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	close   func()
}

func newPipes() *pipes {
	closed := make(chan struct{})
	return &pipes{dialled: make(chan net.Conn), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// dial connects to the server, whatever the address.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	var err error
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-p.closed:
		err = errClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, ours.Close(), theirs.Close())
}

// Accept returns the server's end of a connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close rejects further connections.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr returns a constant for logs.
func (p *pipes) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "this process" }
