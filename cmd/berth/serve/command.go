// Package serve has `berth serve`: it opens the parts of the server in order, listens, serves
// until a signal arrives, and closes the parts in reverse order.
//
// It is not for handling requests (package server), nor for the settings (package config).
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/observe/auditlog"
)

// Command returns `berth serve`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Placement and Bare Metal APIs",
		Long: `Serve the Placement API, microversions 1.0 to 1.39, and below /v1 the Bare Metal API,
1.1 to 1.82, over HTTP.

Without settings it listens on 127.0.0.1:8778 and runs an embedded PostgreSQL: a private
cluster in the user's data directory, which persists between runs and listens only on a
Unix socket. This requires PostgreSQL's server binaries (14 or newer) on this host;
Berth downloads nothing. With --database-url, BERTH_DATABASE_URL or PostgreSQL's own
variables (PGHOST, PGDATABASE, PGSERVICE) it uses that database instead.

By default the server migrates the schema on startup, which is safe when several servers
start concurrently. With --migrate=false, run 'berth db migrate' first.

--auth keystone validates the token of each request with Keystone; see
--keystone-auth-url and the settings after it. --auth tokens needs no other service: it
compares tokens with --tokens-file, which 'berth token create' writes. --auth oidc
verifies the JSON Web Tokens of an OpenID Connect issuer; see --oidc-issuer and the
settings after it. noauth2, the default, does not authenticate callers. It is meant for a
single host: listen addresses other than loopback require --allow-insecure-noauth2.

The server supports TLS (--tls-cert, --tls-key), Unix sockets (--listen unix:/path) and
systemd socket activation. SIGHUP reloads changed certificates at once, as TLS
handshakes do too, reloads a changed tokens file, empties the token cache, and reopens
the audit log.

SIGTERM or Ctrl-C stops the server: for --shutdown-delay it accepts requests while
/readyz reports draining, then running requests have --drain-timeout to finish. A
second signal cancels them.

Exit codes: 0 stopped after all requests finished, 1 startup failed or requests were
canceled, 2 the command line or a setting is invalid.`,
		Example: `  berth serve
  berth serve --listen 127.0.0.1:9000 --log-format json
  berth serve --listen 127.0.0.1:8778,unix:/run/berth/berth.sock
  berth serve --database-url postgres://berth:secret@db.example.org/berth --migrate=false
  berth serve --config-file /etc/placement/placement.conf --database-url postgres://berth@db.example.org/berth
  BERTH_DATA_DIR=/srv/berth berth serve`,
		Args: cobra.NoArgs,
	}
	config.AddFlags(command.Flags(), config.ForServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		settings, err := config.Load(f, c, config.ForServer)
		if err != nil {
			logWrongSettings(f, settings, err)
			return err
		}
		return serve(c.Context(), f, settings)
	}
	return command
}

// serve opens, runs and closes the server. It returns nil if a signal stopped the server and all
// requests finished.
func serve(ctx context.Context, f *frame.Frame, settings *config.Settings) (err error) {
	tuneCollector()
	logOut, closeLog, err := open.Log(settings, f.Stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	logged := &open.CountedLog{Out: logOut, LostLine: open.LostLineOf(settings)}
	log := open.Logger(settings, logged)
	limitMemory(settings, log)
	stop := f.StopOnSignals(ctx)
	defer stop.Done()
	timeout, giveUp := open.CloseContext(stop, open.MaxStopDuration(settings))
	defer giveUp()

	defer func() { logFatal(settings, log, err) }()
	service := &service{Settings: settings, log: log, logged: logged, draining: make(chan struct{})}
	defer func() { err = errors.Join(err, service.close(timeout)) }()
	if err := service.start(stop.Asked); err != nil {
		if stop.Asked.Err() != nil {
			log.Warn("stopped before the service was ready", "cause", err)
			return nil
		}
		return err
	}
	printStartup(f, service)
	defer service.noteWideTree(stop.Asked, startupOutput(f, settings))()
	supervised := &open.SystemdNotifier{Log: log}
	defer frame.OnHangup(func() { supervised.Reloading(service.reload) })()
	defer context.AfterFunc(stop.Asked, func() {
		log.Info("stopping")
		supervised.Stopping()
	})()
	serving := &httpServer{
		http: service.http, doors: service.doors, draining: service.draining,
		delay: settings.ShutdownDelay, drain: settings.DrainTimeout, lost: service.Database.Lost(),
	}
	defer watchServer(timeout, supervised, serving)()
	supervised.Send(daemon.SdNotifyReady, "STATUS=Serving on "+service.urls())
	return serving.serveUntilStopped(stop)
}

// logFatal logs the error with which the server exits to --log-file. Without a file it logs
// nothing, because the command prints the error on standard error.
func logFatal(settings *config.Settings, log *slog.Logger, err error) {
	if err != nil && settings.LogFile != "" {
		log.Error("the server exits", "cause", err)
	}
}

// logWrongSettings is logFatal for a startup that fails before the log is open.
func logWrongSettings(f *frame.Frame, settings *config.Settings, wrong error) {
	if settings.LogFile == "" {
		return
	}
	out, closeLog, err := open.Log(settings, f.Stderr)
	if err != nil {
		fmt.Fprintf(f.Stderr, "berth: %v\n", err)
		return
	}
	defer closeLog()
	logFatal(settings, open.Logger(settings, out), wrong)
}

// startupOutput returns where the first lines go: standard output, unless the audit log uses that.
func startupOutput(f *frame.Frame, settings *config.Settings) io.Writer {
	if settings.AuditLog.Path == auditlog.Stdout {
		return f.Stderr
	}
	return f.Stdout
}

// printStartup prints the addresses of the server and an example request.
func printStartup(f *frame.Frame, s *service) {
	at, through := s.doors[0].url(s.Settings.BasePath), ""
	if path, isSocket := strings.CutPrefix(at, config.UnixPrefix); isSocket {
		at, through = "http://localhost"+s.Settings.BasePath, "--unix-socket "+path+" "
	}
	if s.Settings.TLSClientCA != "" && through == "" {
		through = "--cert FILE --key FILE "
	}
	token := "'X-Auth-Token: admin'"
	switch s.Settings.Auth {
	case config.AuthKeystone:
		token = `"X-Auth-Token: $(openstack token issue -f value -c id)"`
	case config.AuthTokens, config.AuthOIDC:
		token = `"Authorization: Bearer $BERTH_TOKEN"`
	}
	pages := ""
	if address := s.consoleAddress(); address != "" {
		pages = "Console:        " + address + "\n"
	}
	fmt.Fprintf(startupOutput(f, s.Settings), `Berth is listening on %[1]s
%[6]sAPI reference:  %[2]s/docs
Try it:         curl %[3]s-H %[5]s %[2]s/resource_providers
Database:       %[4]s
`, strings.ReplaceAll(s.urls(), ",", ", "), at, through, s.Database.Description, token, pages)
}
