package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/store"
)

// service is what `berth serve` opens: each part stands on the one before it.
type service struct {
	settings *Settings
	log      *slog.Logger

	database *database
	store    *store.Store
	listener net.Listener
	// conductor is nil where the Bare Metal API is off.
	conductor *conducting
	http      *http.Server
}

// start opens the parts. Whatever was opened when it fails is left to close.
func (s *service) start(ctx context.Context) (err error) {
	if s.database, err = openDatabase(ctx, s.settings, s.log, false); err != nil {
		return err
	}
	if err = s.prepareSchema(ctx); err != nil {
		return err
	}
	if s.store, err = store.Open(ctx, store.Options{
		URL:      s.database.url,
		MaxConns: int32(s.settings.DBMaxConnections),
		Pooler:   s.settings.DBPooler == "transaction",
	}); err != nil {
		return err
	}
	if err = s.store.SyncStandardNames(ctx); err != nil {
		return err
	}
	if err = s.warnOfPlanner(ctx); err != nil {
		return err
	}
	// The port is opened last: whoever can connect is served, as soon as the
	// conductor is known to the database.
	if s.listener, err = listen(ctx, s.settings); err != nil {
		return err
	}
	if err = s.startConductor(ctx); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	handler, err := s.handler(ctx)
	if err != nil {
		return errors.Join(err, s.listener.Close())
	}
	s.http = newHTTPServer(s.settings, handler, s.log)
	if s.conductor != nil {
		s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.conductor.stopping) }))
	}
	s.warnOfRisk()
	s.log.Info("serving", "address", s.listener.Addr().String(), "database", s.settings.Database())
	return nil
}

// prepareSchema migrates, or where that is left to somebody else, refuses a schema
// that lacks something this berth uses. A newer schema is served: that is what a
// rolling upgrade looks like from the old side.
func (s *service) prepareSchema(ctx context.Context) error {
	if s.settings.Migrate {
		_, err := migrate.Up(ctx, s.database.direct, s.log)
		return err
	}
	status, err := migrate.GetStatus(ctx, s.database.direct)
	if err != nil {
		return err
	}
	if stateOf(status) == behind {
		return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; run 'berth db migrate', or serve without --migrate=false",
			status.Version, status.Latest, status.Known.Number)
	}
	return nil
}

// handler makes the service, with what the parts of the settings add to it.
func (s *service) handler(ctx context.Context) (http.Handler, error) {
	options := server.Options{
		Store:               s.store,
		Log:                 s.log,
		AccessLog:           s.settings.AccessLog,
		EnforceNewDefaults:  s.settings.EnforceNewDefaults,
		CORSAllowedOrigins:  s.settings.CORSAllowedOrigins,
		CORSAllowHeaders:    s.settings.CORSAllowHeaders,
		Prefix:              s.settings.BasePath,
		MaxBodyBytes:        s.settings.MaxBodyBytes,
		RequestTimeout:      s.settings.RequestTimeout,
		IncompleteProject:   s.settings.IncompleteProjectID,
		IncompleteUser:      s.settings.IncompleteUserID,
		MaxCandidates:       int(s.settings.MaxCandidates),
		CandidateStrategy:   s.settings.CandidateStrategy,
		RandomizeCandidates: s.settings.RandomizeCandidates,
		Baremetal:           s.baremetal(),
	}
	for _, add := range []func(context.Context, *server.Options) error{
		s.addAuthentication, s.addPolicy, s.addLimits, s.addWatching,
	} {
		if err := add(ctx, &options); err != nil {
			return nil, err
		}
	}
	return server.New(options), nil
}

// baremetal are the options of the Bare Metal API, nil where it is off.
func (s *service) baremetal() *server.Baremetal {
	if s.conductor == nil {
		return nil
	}
	return &server.Baremetal{
		Conductor: s.conductor.Hostname, Silence: s.conductor.HeartbeatTimeout, ListenURL: s.conductor.ListenURL,
		Decide: s.conductor.Decide, Stopping: s.conductor.stopping,
	}
}

// warnOfPlanner says in the log which planner settings a pooler took from the
// connections, and how to give them to the database instead.
func (s *service) warnOfPlanner(ctx context.Context) error {
	lacking, err := s.store.Unset(ctx)
	for name, found := range lacking {
		s.log.Warn("a planner setting does not reach the database's connections; requests take two to three times as long. "+
			"Set it on the database: ALTER DATABASE name SET setting = wanted",
			"setting", name, "found", found, "wanted", store.PlannerSettings()[name])
	}
	return err
}

// warnOfRisk says in the log what the settings allow and a newcomer might not
// expect.
func (s *service) warnOfRisk() {
	if s.settings.Auth == "noauth2" && !isLoopback(s.settings.Listen) {
		s.log.Warn("noauth2 believes whatever a caller says it is, and other machines can reach this address: "+
			"anybody there is an administrator", "listen", s.settings.Listen)
	}
}

// close closes what start opened, in the opposite order. A connection that is
// still busy when the context ends is left behind: its request was broken off
// already, and the database must have its turn.
func (s *service) close(ctx context.Context) error {
	s.stopConductor(ctx)
	if s.store != nil {
		closed := make(chan struct{})
		go func() {
			s.store.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
	if s.database == nil {
		return nil
	}
	return s.database.close(ctx)
}
