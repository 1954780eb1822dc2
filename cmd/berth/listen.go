package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
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
		MaxHeaderBytes:    int(settings.MaxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if limit := settings.RequestTimeout; limit > 0 {
		server.ReadTimeout = headerTimeout + limit
		server.WriteTimeout = limit + writeGrace
	}
	return server
}

// door is a listener that leads to the server.
type door struct {
	net.Listener
	// secure says that TLS is spoken here. On a Unix socket it never is.
	secure bool
}

func (d door) serve(server *http.Server) error {
	var err error
	if d.secure {
		err = server.ServeTLS(d, "", "")
	} else {
		err = server.Serve(d)
	}
	return fmt.Errorf("serving HTTP on %s: %w", d.Addr(), err)
}

// listen opens what the settings name, or takes what the service manager has opened
// instead. Whatever was opened is closed again when it fails.
func listen(ctx context.Context, settings *Settings) (doors []door, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeDoors(doors))
			doors = nil
		}
	}()
	if doors, err = passedDoors(); err != nil {
		return doors, err
	}
	if len(doors) == 0 {
		for _, address := range splitList(settings.Listen) {
			opened, err := listenOn(ctx, settings, address)
			if err != nil {
				return doors, err
			}
			doors = append(doors, door{Listener: opened})
		}
	}
	for i := range doors {
		if err := checkDoor(&doors[i], settings); err != nil {
			return doors, err
		}
	}
	return doors, nil
}

// checkDoor looks at what an address has become. A name such as localhost is checked
// again after it was resolved: noauth2 must not become reachable through a line in
// /etc/hosts, or a socket that somebody else has opened.
func checkDoor(d *door, settings *Settings) error {
	at := d.Addr()
	_, isUnix := at.(*net.UnixAddr)
	d.secure = settings.TLSCert != "" && !isUnix
	if settings.Auth == "noauth2" && !isUnix && !isLoopback(at.String()) && !settings.AllowInsecureNoauth2 {
		return fmt.Errorf("%s is not a loopback address, and noauth2 believes every caller; listen on 127.0.0.1, or allow it with --allow-insecure-noauth2", at)
	}
	return nil
}

func listenOn(ctx context.Context, settings *Settings, address string) (net.Listener, error) {
	if path, isSocket := strings.CutPrefix(address, unixPrefix); isSocket {
		return listenUnix(ctx, path, settings.SocketMode, settings.SocketOwner)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; stop what uses the port, or choose another with --listen",
			address, settings.setting("listen").origin, err)
	}
	return listener, nil
}

// passedDoors are the sockets that systemd, or what speaks like it, has opened for
// this process: none where it was started in another way. They outlive the process,
// so that a restart refuses nobody.
func passedDoors() (doors []door, err error) {
	passed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("the sockets passed by the service manager: %w", err)
	}
	for _, listener := range passed {
		if listener == nil {
			return doors, errors.New("the service manager passed something that is no listening stream socket; see ListenStream= in its socket unit")
		}
		doors = append(doors, door{Listener: listener})
	}
	return doors, nil
}

func closeDoors(doors []door) error {
	var failed []error
	for _, door := range doors {
		failed = append(failed, door.Close())
	}
	return errors.Join(failed...)
}

// url is what a person on this machine can open, or unix: and a path. An address
// that means every interface is no address to go to.
func (d door) url(basePath string) string {
	host := d.Addr().String()
	switch at := d.Addr().(type) {
	case *net.UnixAddr:
		return unixPrefix + at.Name
	case *net.TCPAddr:
		if at.IP.IsUnspecified() {
			host = net.JoinHostPort("localhost", fmt.Sprint(at.Port))
		}
	}
	if d.secure {
		return "https://" + host + basePath
	}
	return "http://" + host + basePath
}
