package main

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

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/store"
)

// service is what `berth serve` opens: each part stands on the one before it.
type service struct {
	settings *Settings
	log      *slog.Logger

	policy   *policy.Policy
	database *database
	store    *store.Store
	doors    []door
	// draining is closed when the service is about to stop.
	draining chan struct{}
	// certificates are nil where TLS is off.
	certificates *certificates
	// conductor is nil where the Bare Metal API is off.
	conductor *conducting
	http      *http.Server
	watching  watching
}

// start opens the parts. Whatever was opened when it fails is left to close.
func (s *service) start(ctx context.Context) (err error) {
	s.settings.logOptions(ctx, s.log)
	if s.certificates, err = loadCertificates(s.settings, s.log); err != nil {
		return err
	}
	if err = s.loadPolicy(); err != nil {
		return err
	}
	if s.database, err = openDatabase(ctx, s.settings, s.log, false); err != nil {
		return err
	}
	if err = s.prepareSchema(ctx); err != nil {
		return err
	}
	options := store.Options{
		URL:      s.database.url,
		MaxConns: int32(s.settings.DBMaxConnections),
		Pooler:   s.settings.DBPooler == "transaction",
		Replicas: s.settings.ReplicaURLs, ReplicaWait: s.settings.ReplicaWait,
	}
	if err = s.watchStore(ctx, &options); err != nil {
		return err
	}
	if s.store, err = store.Open(ctx, options); err != nil {
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
	if s.doors, err = listen(ctx, s.settings); err != nil {
		return err
	}
	if err = s.startConductor(ctx); err != nil {
		return errors.Join(err, closeDoors(s.doors))
	}
	handler, err := s.handler(ctx)
	if err != nil {
		return errors.Join(err, closeDoors(s.doors))
	}
	s.http = newHTTPServer(s.settings, handler, s.log)
	if s.certificates != nil {
		s.http.TLSConfig = s.certificates.config()
	}
	if s.conductor != nil {
		s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.conductor.stopping) }))
	}
	s.warnOfRisk()
	s.log.Info("serving", "address", s.urls(), "database", s.settings.Database())
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
	switch stateOf(status) {
	case foreign:
		return migrate.ErrForeign
	case behind:
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
		CORSExposeHeaders:   s.settings.CORSExposeHeaders,
		CORSAllowMethods:    s.settings.CORSAllowMethods,
		CORSMaxAge:          s.settings.corsMaxAge(),
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
	options.CORSRefuseCredentials = !s.settings.CORSAllowCredentials
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
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); ok && s.settings.Auth == "noauth2" && !tcp.IP.IsLoopback() {
			s.log.Warn("noauth2 believes whatever a caller says it is, and other machines can reach this address: "+
				"anybody there is an administrator", "listen", tcp.String())
		}
	}
}

// urls are where the service can be reached, with commas.
func (s *service) urls() string {
	var urls []string
	for _, door := range s.doors {
		urls = append(urls, door.url(s.settings.BasePath))
	}
	return strings.Join(urls, ",")
}

// reload takes up what has changed in files since the start.
func (s *service) reload() {
	if s.certificates != nil {
		s.certificates.refresh(time.Now())
	}
}

// close closes what start opened, in the opposite order. A connection that is
// still busy when the context ends is left behind: its request was broken off
// already, and the database must have its turn.
func (s *service) close(ctx context.Context) error {
	s.stopConductor(ctx)
	defer s.stopWatching(ctx)()
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
