package serve

import (
	"errors"
	"net"
	"net/http"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/console"
)

// hasConsole reports whether the server has the console: with --console=auto only if no other host can reach it.
func (s *service) hasConsole() bool {
	switch s.Settings.Console {
	case config.ConsoleOn:
		return true
	case config.ConsoleOff:
		return false
	default:
		return !s.isExposed()
	}
}

// isExposed reports whether the server listens on an address that other hosts can reach.
func (s *service) isExposed() bool {
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			return true
		}
	}
	return false
}

// mountConsole sets the console of the server, unless it has none.
func (s *service) mountConsole(options *server.Options) {
	if !s.hasConsole() {
		return
	}
	made := console.Options{Prefix: options.Prefix, Log: s.log, Settings: console.Settings{
		Unprotected: s.Settings.Auth == config.AuthNoauth2 && s.isExposed(),
	}}
	if authenticate := options.Authenticate; authenticate != nil {
		made.Identify = func(r *http.Request) (console.Identity, error) { return identify(authenticate, r) }
	}
	options.Console = console.Mount(made)
}

// identify returns the caller of a token for the console, with errors that its users can read.
func identify(authenticate auth.Authenticate, r *http.Request) (console.Identity, error) {
	caller, err := authenticate(r)
	var (
		refused *auth.UnauthenticatedError
		away    *auth.Unavailable
	)
	switch {
	case errors.As(err, &refused):
		return console.Identity{}, errors.New("The service does not accept this token: it is wrong, or it has expired.") //nolint:staticcheck // ST1005: the text of a page
	case errors.As(err, &away):
		name := away.Service
		if name == "" {
			name = "Keystone service"
		}
		return console.Identity{}, errors.New("The " + name + " does not answer. Try again.") //nolint:staticcheck // ST1005: the text of a page
	case err != nil:
		return console.Identity{}, err
	}
	return console.Identity{User: caller.UserID, Project: caller.ProjectID, Roles: caller.Roles}, nil
}
