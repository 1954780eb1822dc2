package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/cmd/berth/setting"
)

// newHTTPServer returns an HTTP server with timeouts of connections. The handler cancels the
// database work of a request after --request-timeout. A client that sends its body or reads its
// response too slowly occupies only its connection, which these timeouts close.
func newHTTPServer(settings *config.Settings, handler http.Handler, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: open.HeaderTimeout,
		IdleTimeout:       open.IdleTimeout,
		MaxHeaderBytes:    int(settings.MaxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	// net/http also closes a connection whose client resets four times as many streams while
	// their handlers still run.
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: int(settings.MaxStreams)}
	if limit := settings.RequestTimeout; limit > 0 {
		server.ReadTimeout = open.HeaderTimeout + limit
		server.WriteTimeout = answerLimitOf(settings)
	}
	return server
}

// answerLimitOf returns the maximum time to write a response, counted from the end of the request
// headers; 0 means no limit.
func answerLimitOf(s *config.Settings) time.Duration {
	if s.RequestTimeout == 0 || s.WriteTimeout == 0 {
		return 0
	}
	return open.HeaderTimeout + s.RequestTimeout + s.WriteTimeout
}

// boundListener is a listener of the server.
type boundListener struct {
	net.Listener
	// secure reports whether the listener uses TLS. Unix sockets never do.
	secure bool
}

func (d boundListener) serve(server *http.Server) error {
	var err error
	if d.secure {
		err = server.ServeTLS(d, "", "")
	} else {
		err = server.Serve(d)
	}
	return fmt.Errorf("serving HTTP on %s: %w", d.Addr(), err)
}

// listen opens the listen addresses of the settings, or takes the sockets that the service
// manager passes. If it fails, it closes the sockets that it has opened.
func listen(ctx context.Context, settings *config.Settings) (doors []boundListener, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeListeners(doors))
			doors = nil
		}
	}()
	if doors, err = systemdListeners(); err != nil {
		return doors, err
	}
	if len(doors) == 0 {
		for _, address := range setting.SplitList(settings.Listen) {
			opened, err := listenOn(ctx, settings, address)
			if err != nil {
				return doors, err
			}
			doors = append(doors, boundListener{Listener: opened})
		}
	}
	for i := range doors {
		if err := secureListener(&doors[i], settings); err != nil {
			return doors, err
		}
		if settings.Load.WriteStall > 0 {
			doors[i].Listener = stallListener{doors[i].Listener, settings.Load.WriteStall}
		}
	}
	return doors, nil
}

// tryListen returns the error that listen or listenAdmin would return, so that a startup that
// cannot succeed does not change the database. It closes the sockets that it opens: until the
// server is ready, the kernel refuses connections, as load balancers expect. Passed sockets stay
// open.
func tryListen(ctx context.Context, settings *config.Settings) error {
	doors, err := listen(ctx, settings)
	if err != nil {
		return err
	}
	if passed, _ := systemdListeners(); len(passed) == 0 { // listen has returned the error, if any
		if err := closeListeners(doors); err != nil {
			return err
		}
	}
	admin, err := listenAdmin(ctx, settings)
	if err != nil || admin == nil {
		return err
	}
	return admin.Close()
}

// secureListener checks the resolved address of a listener: a line in /etc/hosts for localhost,
// or a passed socket, must not make noauth2, or tokens without TLS, reachable from other hosts.
func secureListener(d *boundListener, settings *config.Settings) error {
	at := d.Addr()
	_, isUnix := at.(*net.UnixAddr)
	d.secure = settings.TLSCert != "" && !isUnix
	if broken := settings.ExposedAddress(); broken != nil && !isUnix && !setting.IsLoopback(at.String()) {
		return fmt.Errorf("%s %s; %s", at, broken.Broken, broken.Remedy)
	}
	return nil
}

func listenOn(ctx context.Context, settings *config.Settings, address string) (net.Listener, error) {
	if path, isSocket := strings.CutPrefix(address, config.UnixPrefix); isSocket {
		return listenUnix(ctx, path, settings.SocketMode, settings.SocketOwner)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; stop the process that uses the port, or choose another with --listen",
			address, settings.Row("listen").Origin, err)
	}
	return listener, nil
}

// systemdListeners returns the sockets that systemd, or another manager with its protocol, passes
// to this process; none if there are none. They outlive the process, so that a restart refuses no
// connections. The first call removes the variables that describe them.
var systemdListeners = sync.OnceValues(func() (doors []boundListener, err error) {
	passed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("cannot use the sockets passed by the service manager: %w", err)
	}
	for _, listener := range passed {
		if listener == nil {
			return doors, errors.New("the service manager passed a file descriptor that is not a listening stream socket; see ListenStream= in its socket unit")
		}
		doors = append(doors, boundListener{Listener: listener})
	}
	return doors, nil
})

func closeListeners(doors []boundListener) error {
	var failed []error
	for _, door := range doors {
		failed = append(failed, door.Close())
	}
	return errors.Join(failed...)
}

// url returns a URL that is reachable from this host, or unix: and a path. It replaces the
// unspecified address by loopback.
func (d boundListener) url(basePath string) string {
	host := d.Addr().String()
	switch at := d.Addr().(type) {
	case *net.UnixAddr:
		return config.UnixPrefix + at.Name
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
