package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// supervisor is the service manager that started this process, if it is systemd or
// speaks like it; without one nothing is sent.
type supervisor struct {
	log *slog.Logger
}

// send does not fail: a process that works is worth more than one that is known to.
func (s *supervisor) send(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		s.log.Warn("the service manager could not be told", "cause", err)
	}
}

func (s *supervisor) stopping() { s.send(daemon.SdNotifyStopping, "STATUS=Stopping") }

// reloading reloads between two messages, so that whoever asked for it through the
// service manager learns when it is done.
func (s *supervisor) reloading(reload func()) {
	s.send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	reload()
	s.send(daemon.SdNotifyReady)
}

// patience is how long the service manager waits for a sign of life; 0 if it wants
// none.
func (s *supervisor) patience() time.Duration {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("there will be no heartbeats for the service manager", "cause", err)
		return 0
	}
	return patience
}

// watch sends heartbeats, if the service manager wants any, for as long as the
// process works: it is asked within the manager's patience. What hangs for longer
// ends the heartbeats, and the manager the process.
func (s *supervisor) watch(ctx context.Context, works func(most time.Duration) bool) {
	patience := s.patience()
	if patience <= 0 {
		return
	}
	beats := time.NewTicker(max(patience/3, time.Millisecond))
	defer beats.Stop()
	for {
		if works(patience) {
			s.send(daemon.SdNotifyWatchdog)
		}
		select {
		case <-beats.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchServer sends heartbeats while a server answers /livez, by a door of its own:
// a certificate that clients need, or an address that this machine cannot reach
// itself, must not look like a server that hangs.
func (s *supervisor) watchServer(ctx context.Context, serving *serving) (stop func()) {
	if s.patience() <= 0 {
		return func() {}
	}
	inside := newInsideDoor()
	serving.doors = append(serving.doors, door{Listener: inside})
	client := &http.Client{Transport: &http.Transport{DialContext: inside.dial, DisableKeepAlives: true}}
	watched, stop := context.WithCancel(ctx)
	go s.watch(watched, func(most time.Duration) bool {
		// Half of it: a late answer must still be a heartbeat in time.
		patience, cancel := context.WithTimeout(watched, most/2)
		defer cancel()
		return answers(patience, client)
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

// insideDoor is a listener that only this process can connect to.
type insideDoor struct {
	connections chan net.Conn
	closed      context.Context
	shut        context.CancelFunc
}

func newInsideDoor() *insideDoor {
	d := &insideDoor{connections: make(chan net.Conn)}
	d.closed, d.shut = context.WithCancel(context.Background())
	return d
}

// Accept implements net.Listener.
func (d *insideDoor) Accept() (net.Conn, error) {
	select {
	case connection := <-d.connections:
		return connection, nil
	case <-d.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *insideDoor) Close() error {
	d.shut()
	return nil
}

// Addr implements net.Listener.
func (d *insideDoor) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }

func (d *insideDoor) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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
