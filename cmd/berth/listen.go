package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the HTTP server that nobody should need to choose.
const (
	// A client that has connected and does not send its request line and
	// headers within ten seconds is broken or means harm.
	headerTimeout = 10 * time.Second
	// Idle connections are kept for longer than load balancers usually keep
	// theirs (60 s): the side that closes first must be the one that sends the
	// requests, or a request meets a closing connection.
	idleTimeout = 120 * time.Second
	// Queries carry lists of UUIDs (in_tree, member_of), tokens and service
	// catalogues come as headers: 256 KiB hold about 6,000 UUIDs, and are a
	// quarter of Go's default, which every connection may claim unread.
	maxHeaderBytes = 256 << 10
	// What a response may take to be written after the request's own time is
	// up, so that the answer that says so still gets out.
	writeGrace = 5 * time.Second
)

// newHTTPServer wraps a handler with the limits of the connection. The handler
// ends by itself what a request does in the database after --request-timeout; a
// client that sends its body too slowly, or reads a streamed list too slowly, holds
// a connection to the database all the same, and only these limits end that.
func newHTTPServer(settings *Settings, handler http.Handler, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if limit := settings.RequestTimeout; limit > 0 {
		server.ReadTimeout = headerTimeout + limit
		server.WriteTimeout = limit + writeGrace
	}
	return server
}

// serveUntilAsked serves until somebody asks to stop, then lets running requests
// finish for as long as drain says. It also ends when the database is lost, which
// is a channel that never delivers where berth does not run the database. The
// error is nil when somebody asked and every request was answered.
func serveUntilAsked(server *http.Server, listener net.Listener, stop stopSteps, drain time.Duration, lost <-chan struct{}) error {
	// Requests keep their context while they drain. The second signal takes it
	// from them, and so does the end of this function, for those still running.
	requests, breakOff := context.WithCancel(stop.atOnce)
	defer breakOff()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	silent := &silentConnections{open: map[net.Conn]bool{}}
	server.ConnState = silent.note
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving HTTP on %s: %w", listener.Addr(), err)
	case <-lost:
		return errors.Join(errors.New("the embedded PostgreSQL ended without being asked; its log says why"), server.Close())
	case <-stop.asked.Done():
	}
	server.RegisterOnShutdown(silent.close)
	ctx, cancel := context.WithTimeout(stop.atOnce, drain)
	defer cancel()
	err := server.Shutdown(ctx)
	switch {
	// Asked first, because a request that loses its context may end in time for
	// the drain to look complete.
	case stop.atOnce.Err() != nil:
		err = errors.New("a second signal came while requests were running; they were broken off")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("requests were still running %s after the signal to stop and were broken off", drain)
	}
	// Close drops the connections that did not drain; after a full drain it has
	// nothing left to do.
	return errors.Join(err, server.Close())
}

// silentConnections are those on which nothing was sent yet, such as a load
// balancer keeps ready. net/http waits five seconds for them when it stops, which
// is longer than a drain may take.
type silentConnections struct {
	mutex sync.Mutex
	open  map[net.Conn]bool
}

// note is the server's ConnState.
func (s *silentConnections) note(connection net.Conn, state http.ConnState) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if state == http.StateNew {
		s.open[connection] = true
	} else {
		delete(s.open, connection)
	}
}

func (s *silentConnections) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for connection := range s.open {
		_ = connection.Close() // the other side may have been faster
	}
}

// listen opens the address of the settings. A name such as localhost is checked
// again after it was resolved: noauth2 must not become reachable through a line
// in /etc/hosts.
func listen(ctx context.Context, settings *Settings) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; stop what uses the port, or choose another with --listen",
			settings.Listen, settings.setting("listen").origin, err)
	}
	if isLoopback(settings.Listen) && !isLoopback(listener.Addr().String()) && !settings.AllowInsecureNoauth2 {
		return nil, errors.Join(
			fmt.Errorf("%s is not a loopback address here but %s, and noauth2 believes every caller; listen on 127.0.0.1, or allow it with --allow-insecure-noauth2",
				settings.Listen, listener.Addr()),
			listener.Close())
	}
	return listener, nil
}

// reachableURL is the URL that a person on this machine can open. An address
// that means every interface is no address to go to.
func reachableURL(address net.Addr, basePath string) string {
	host := address.String()
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
	}
	return "http://" + host + basePath
}
