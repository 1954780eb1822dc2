package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/identity/tokens"
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

// isExposed reports whether another host can reach the server: it listens on other addresses than loopback, on a Unix
// socket, whose clients are proxies, or behind a proxy whose headers it reads.
func (s *service) isExposed() bool {
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			return true
		}
	}
	return s.Settings.ProxyHeaders
}

// consoleAddress returns the address of the console for people; empty without a console.
func (s *service) consoleAddress() string {
	if !s.hasConsole() {
		return ""
	}
	if s.Settings.ConsoleURL != "" {
		return s.Settings.ConsoleURL + s.Settings.BasePath + server.ConsolePath
	}
	for _, door := range s.doors {
		if address := door.url(s.Settings.BasePath); !strings.HasPrefix(address, config.UnixPrefix) {
			return strings.TrimSuffix(address, "/") + server.ConsolePath
		}
	}
	return server.ConsolePath
}

// mountConsole sets the console of the server, unless it has none.
func (s *service) mountConsole(options *server.Options) (err error) {
	if !s.hasConsole() {
		return nil
	}
	settings := console.Settings{
		URL: s.Settings.ConsoleURL, CheckResult: s.Settings.DBCheckResult,
		Unprotected: s.Settings.Auth == config.AuthNoauth2 && s.isExposed(),
	}
	switch {
	case s.Settings.ConsoleKeyFile != "":
		if settings.Key, err = readConsoleKey(s.Settings.ConsoleKeyFile); err != nil {
			return err
		}
	case s.Settings.Auth != config.AuthNoauth2:
		s.log.Warn("the sessions of the console end with this process, and no other server knows them: set --console-key-file on all servers")
	}
	result := console.Options{Prefix: options.Prefix, Log: s.log, Settings: settings, Permits: s.permits}
	if authenticate := options.Authenticate; authenticate != nil {
		result.Identify = func(r *http.Request) (console.Identity, error) { return identify(authenticate, r) }
	}
	if s.Settings.Auth == config.AuthOIDC {
		result.Issuer = s.Settings.OIDCIssuer
	}
	if s.Settings.Auth == config.AuthKeystone {
		if result.Keystone, err = s.keystoneSignIn(); err != nil {
			return err
		}
	}
	if result.Settings.AggregateNames, result.Settings.Shapes, err = s.consoleNames(); err != nil {
		return err
	}
	options.Console = func(service http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
		result.API = service
		pages, err := console.New(result)
		if err != nil {
			panic(err) // the settings are validated
		}
		s.console = pages
		return pages.Serve, pages.Close
	}
	return nil
}

// permits reports whether the policy permits a rule to a caller of the console, for all objects or for those of its project.
func (s *service) permits(who console.Identity, rule string) bool {
	caller := auth.Caller{UserID: who.User, ProjectID: who.Project, Roles: who.Roles}
	if who.System {
		caller.SystemScope = "all"
	}
	return s.policy.Check(caller, rule, policy.Target{}) == nil || s.policy.Check(caller, rule, policy.TargetOf(caller)) == nil
}

// consoleNames reads the files with names of aggregates and shapes.
func (s *service) consoleNames() (aggregates map[uuid.UUID]string, shapes []console.Shape, err error) {
	if aggregates, err = readNames("aggregate-names", s.Settings.AggregateNames, console.ReadAggregateNames); err == nil {
		shapes, err = readNames("shapes", s.Settings.Shapes, console.ReadShapes)
	}
	return aggregates, shapes, err
}

// readNames reads the file of a setting; an empty path: nothing. Its error names the setting, the file and the line.
func readNames[T any](setting, path string, read func(io.Reader) (T, error)) (found T, err error) {
	if path == "" {
		return found, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return found, fmt.Errorf("--%s: %w", setting, err)
	}
	defer file.Close()
	if found, err = read(io.LimitReader(file, maxNames)); err != nil {
		return found, fmt.Errorf("--%s: %s: %w", setting, path, err)
	}
	return found, nil
}

// maxNames bounds a file of names in bytes.
const maxNames = 16 << 20

// reloadConsole reads the files of names again. After an error the previous names remain.
func (s *service) reloadConsole() {
	aggregates, shapes, err := s.consoleNames()
	if err != nil {
		s.log.Warn("cannot reload the names of the console; keeping the previous ones", "cause", err.Error())
		return
	}
	s.console.Reload(aggregates, shapes)
}

// identify returns the caller of a token for the console, with errors that its users can read.
func identify(authenticate auth.Authenticate, r *http.Request) (console.Identity, error) {
	caller, err := authenticate(r)
	var (
		refused *auth.UnauthenticatedError
		denied  *auth.DeniedError
		away    *auth.Unavailable
	)
	switch {
	case err == nil:
		return console.Identity{
			User: caller.UserID, Project: caller.ProjectID, Roles: caller.Roles, System: caller.SystemScope != "", Expires: caller.Expires,
		}, nil
	case errors.As(err, &refused):
		return console.Identity{}, console.InvalidCredentials("The service does not accept this token: it is wrong, has expired, or is for other requests only.")
	case errors.As(err, &denied):
		return console.Identity{}, console.InvalidCredentials(denied.Detail)
	case errors.As(err, &away) && away.Service != "":
		return console.Identity{}, console.Unavailable("The " + away.Service + " does not answer. Try again.")
	}
	return console.Identity{}, console.Unavailable("The Keystone service does not answer. Try again.")
}

// consoleKeySize is the size of a key in bytes, that of AES-256.
const consoleKeySize = 32

// readConsoleKey returns the key in a file: 32 bytes as they are, in base64 or in hex.
func readConsoleKey(path string) ([]byte, error) {
	text, err := tokens.ReadSecret("key file of the console", path)
	if err != nil {
		return nil, err
	}
	if len(text) == consoleKeySize {
		return text, nil
	}
	text = bytes.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(string(text)); err == nil && len(key) == consoleKeySize {
			return key, nil
		}
	}
	return nil, fmt.Errorf("the key file of the console %s has no key of %d bytes, in base64 or in hex; make one with: openssl rand -hex %d",
		path, consoleKeySize, consoleKeySize)
}
