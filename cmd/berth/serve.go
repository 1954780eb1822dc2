package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// What supervisors usually leave between asking a process to stop and killing
// it. Draining and closing the database share it.
const (
	supervisorPatience = 5 * time.Second
	supervisorMargin   = 100 * time.Millisecond
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

noauth2, the only kind of authentication in this version, believes whatever a
caller says it is. It is meant for one machine: listening on anything but the
loopback interface needs --allow-insecure-noauth2.

SIGTERM or Ctrl-C stops it: running requests get --drain-timeout to finish. A
second signal breaks them off. The exit code is 0 when every request was answered,
1 when some were broken off.`,
		Example: `  berth serve
  berth serve --listen 127.0.0.1:9000 --log-format json
  berth serve --database-url postgres://berth:secret@db.example.org/berth --migrate=false
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
	log := newLogger(settings, p.stderr)
	stop := p.stopOnSignals(ctx)
	defer stop.done()
	patience, giveUp := patienceOf(stop)
	defer giveUp()

	service := &service{settings: settings, log: log}
	defer func() { err = errors.Join(err, service.close(patience)) }()
	if err := service.start(stop.asked); err != nil {
		if stop.asked.Err() != nil {
			log.Warn("stopped before the service was ready", "cause", err)
			return nil
		}
		return err
	}
	p.greet(service)
	err = serveUntilAsked(service.http, service.listener, stop, settings.DrainTimeout, service.database.lost())
	log.Info("stopping")
	return err
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
// whoever sent the first is about to kill.
func patienceOf(stop stopSteps) (context.Context, context.CancelFunc) {
	patience, giveUp := context.WithCancel(stop.atOnce)
	context.AfterFunc(stop.asked, func() { time.AfterFunc(supervisorPatience-supervisorMargin, giveUp) })
	return patience, giveUp
}

// greet prints what a person needs next.
func (p *process) greet(s *service) {
	at := reachableURL(s.listener.Addr(), s.settings.BasePath)
	fmt.Fprintf(p.stdout, `Berth is listening on %[1]s
API reference:  %[1]s/docs
Try it:         curl -H 'X-Auth-Token: admin' %[1]s/resource_providers
Database:       %[2]s
`, at, s.database.description)
}
