package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/berthd/berth/cmd/berth/open"
)

// watchServer sends heartbeats to the service manager while the server responds to /livez on an
// in-memory listener. Client certificates and unreachable listen addresses therefore do not make
// the server look hung.
func watchServer(ctx context.Context, s *open.SystemdNotifier, serving *httpServer) (stop func()) {
	if s.WatchdogTimeout() <= 0 {
		return func() {}
	}
	inside := newMemoryListener()
	serving.doors = append(serving.doors, boundListener{Listener: inside})
	client := &http.Client{Transport: &http.Transport{DialContext: inside.dial, DisableKeepAlives: true}}
	watched, stop := context.WithCancel(ctx)
	go s.Watch(watched, func(most time.Duration) bool {
		// Half the timeout: a late response must still be a heartbeat in time.
		timeout, cancel := context.WithTimeout(watched, most/2)
		defer cancel()
		return answers(timeout, client)
	})
	return stop
}

func answers(ctx context.Context, client *http.Client) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/livez", http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close()) == nil && response.StatusCode == http.StatusOK
}

// memoryListener is a listener to which only this process can connect.
type memoryListener struct {
	connections chan net.Conn
	closed      context.Context
	shut        context.CancelFunc
}

func newMemoryListener() *memoryListener {
	d := &memoryListener{connections: make(chan net.Conn)}
	d.closed, d.shut = context.WithCancel(context.Background())
	return d
}

// Accept implements net.Listener.
func (d *memoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-d.connections:
		return connection, nil
	case <-d.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *memoryListener) Close() error {
	d.shut()
	return nil
}

// Addr implements net.Listener.
func (d *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }

func (d *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case d.connections <- theirs:
		return ours, nil
	case <-d.closed.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
