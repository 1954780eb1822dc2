package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
)

// What supervisors usually leave between asking a process to stop and killing
// it. Draining and closing the database share it.
const (
	supervisorPatience = 5 * time.Second
	supervisorMargin   = 100 * time.Millisecond
	// What closing the database takes after the requests have drained.
	closingTime = time.Second
)

func (p *process) serveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Placement and Bare Metal APIs",
		Long: `Serve the Placement API, microversions 1.0 to 1.39, and below /v1 the Bare Metal API,
1.1 to 1.82, over HTTP.

Without any setting it listens on 127.0.0.1:8778 and runs a PostgreSQL of its own,
an embedded one: a private cluster in the user's data directory that is kept
between runs and reached over a unix socket only. It needs PostgreSQL's server
binaries (14 or newer) on this machine and downloads nothing. With --database-url,
BERTH_DATABASE_URL or PostgreSQL's own variables (PGHOST, PGDATABASE, PGSERVICE) it
uses that server and starts none.

The schema is brought up to date first, which is safe when several start at once;
--migrate=false leaves that to 'berth db migrate'.

--auth keystone asks Keystone who calls, by the token of each request; see
--keystone-auth-url and those after it. noauth2, the default, believes whatever a
caller says it is. It is meant for one machine: listening on anything but the
loopback interface needs --allow-insecure-noauth2.

It also serves TLS (--tls-cert, --tls-key), Unix sockets (--listen unix:/path) and
sockets that systemd passes to it. SIGHUP takes up changed certificates at once; a
handshake does so too.

SIGTERM or Ctrl-C stops it: for --shutdown-delay it still accepts requests while
/readyz says that it is draining, then running requests get --drain-timeout to
finish. A second signal breaks them off. The exit code is 0 when every request was
answered, 1 when some were broken off.`,
		Example: `  berth serve
  berth serve --listen 127.0.0.1:9000 --log-format json
  berth serve --listen 127.0.0.1:8778,unix:/run/berth/berth.sock
  berth serve --database-url postgres://berth:secret@db.example.org/berth --migrate=false
  berth serve --config-file /etc/placement/placement.conf --database-url postgres://berth@db.example.org/berth
  BERTH_DATA_DIR=/srv/berth berth serve`,
		Args: cobra.NoArgs,
	}
	addSettingFlags(command.Flags(), forServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		settings, err := p.settings(c, forServer)
		if err != nil {
			return err
		}
		return p.serve(c.Context(), settings)
	}
	return command
}

// serve is the whole life of the service. The error is nil when it stopped
// because somebody asked, with every request answered.
func (p *process) serve(ctx context.Context, settings *Settings) (err error) {
	tuneCollector()
	out, closeLog, err := openLog(settings, p.stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	log := newLogger(settings, out)
	stop := p.stopOnSignals(ctx)
	defer stop.done()
	patience, giveUp := patienceOf(stop, settings.stopTime())
	defer giveUp()

	service := &service{settings: settings, log: log, draining: make(chan struct{})}
	defer func() { err = errors.Join(err, service.close(patience)) }()
	if err := service.start(stop.asked); err != nil {
		if stop.asked.Err() != nil {
			log.Warn("stopped before the service was ready", "cause", err)
			return nil
		}
		return err
	}
	p.greet(service)
	supervised := &supervisor{log: log}
	defer onHangup(func() { supervised.reloading(service.reload) })()
	defer context.AfterFunc(stop.asked, func() {
		log.Info("stopping")
		supervised.stopping()
	})()
	serving := &serving{
		http: service.http, doors: service.doors, draining: service.draining,
		delay: settings.ShutdownDelay, drain: settings.DrainTimeout, lost: service.database.lost(),
	}
	defer supervised.watchServer(patience, serving)()
	supervised.send(daemon.SdNotifyReady, "STATUS=Serving on "+service.urls())
	return serving.untilAsked(stop)
}

// stopTime is how long the service may take to stop: accepting, draining, and what
// supervisors leave for closing the database.
func (s *Settings) stopTime() time.Duration {
	return s.ShutdownDelay + max(supervisorPatience, s.DrainTimeout+closingTime)
}

// tuneCollector lets the heap, some 10 MB of it live, grow to five times of that
// between collections instead of twice: they cost a tenth of the CPU otherwise.
// GOGC, if set, has the last word.
func tuneCollector() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
	}
}

// patienceOf is the time that closing may take: until the second signal, or until
// whoever sent the first is about to kill, which is after a time.
func patienceOf(stop stopSteps, most time.Duration) (context.Context, context.CancelFunc) {
	patience, giveUp := context.WithCancel(stop.atOnce)
	context.AfterFunc(stop.asked, func() { time.AfterFunc(most-supervisorMargin, giveUp) })
	return patience, giveUp
}

// greet prints what a person needs next.
func (p *process) greet(s *service) {
	at, through := s.doors[0].url(s.settings.BasePath), ""
	if path, isSocket := strings.CutPrefix(at, unixPrefix); isSocket {
		at, through = "http://localhost"+s.settings.BasePath, "--unix-socket "+path+" "
	}
	if s.settings.TLSClientCA != "" && through == "" {
		through = "--cert FILE --key FILE "
	}
	fmt.Fprintf(p.stdout, `Berth is listening on %[1]s
API reference:  %[2]s/docs
Try it:         curl %[3]s-H 'X-Auth-Token: admin' %[2]s/resource_providers
Database:       %[4]s
`, strings.ReplaceAll(s.urls(), ",", ", "), at, through, s.database.description)
}
