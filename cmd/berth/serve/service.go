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

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/keystone"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/identity/tokens"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/tracing"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/spool"
	"github.com/berthd/berth/server/work/history"
	"github.com/berthd/berth/server/work/idempotency"
	"github.com/berthd/berth/server/work/leases"
)

// service holds the parts of `berth serve`, each of which depends on those before it.
type service struct {
	Settings *config.Settings
	log      *slog.Logger

	policy   *policy.Policy
	Database *open.Database
	store    *store.Store
	spool    *spool.Spool
	doors    []boundListener
	// draining is closed when the server drains.
	draining chan struct{}
	// certificates is nil without TLS.
	certificates *open.Certificates
	// keystone is nil without --auth keystone.
	keystone *keystone.Authenticator
	// tokens is nil without --auth tokens.
	tokens       *tokens.Authenticator
	explanations *explainlog.Log
	keys         *idempotency.Cleaner
	leases       *leases.Remover
	history      *history.Stepper
	// conductor is nil without the Bare Metal API.
	conductor *conductorRun
	http      *http.Server
	handled   server.Handlers
	// console is nil without one.
	console *console.Console
	// audit is nil without an audit log, traces if none are exported.
	audit  *auditlog.Log
	traces *tracing.Tracing
	// adminDoor and admin are nil without --admin-listen.
	adminDoor net.Listener
	admin     *http.Server
	// logged counts lost log lines.
	logged *open.CountedLog
}

// start opens the parts. If it fails, close closes the opened ones.
func (s *service) start(ctx context.Context) (err error) {
	s.Settings.LogSettings(ctx, s.log)
	if s.certificates, err = open.LoadCertificates(s.Settings, s.log); err != nil {
		return err
	}
	if err = s.openAuditLog(); err != nil {
		return err
	}
	if err = s.loadPolicy(); err != nil {
		return err
	}
	if err = s.loadTokens(); err != nil {
		return err
	}
	if err = s.openSpool(); err != nil {
		return err
	}
	application, err := s.Settings.ServerApplication()
	if err != nil {
		return err
	}
	if err = tryListen(ctx, s.Settings); err != nil {
		return err
	}
	if s.Database, err = open.Postgres(ctx, s.Settings, application, s.log, false); err != nil {
		return err
	}
	if err = s.prepareSchema(ctx); err != nil {
		return err
	}
	var replicas []string
	for _, replica := range s.Settings.ReplicaURLs {
		replicas = append(replicas, config.WithApplication(open.Safely(replica, "replica-url", s.log), application))
	}
	options := postgres.Options{
		URL:         s.Database.URL,
		MaxConns:    int32(s.Settings.DBMaxConnections),
		Pooler:      s.Settings.DBPooler == "transaction",
		ReadReserve: s.Settings.ReadConnections(), Limits: s.Settings.Limits(),
		Replicas: replicas, ReplicaWait: s.Settings.ReplicaWait,
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
	if err = s.warnOfSettings(ctx); err != nil {
		return err
	}
	// The port is opened last, after the conductor is registered, so that the server serves every
	// client that can connect.
	if s.doors, err = listen(ctx, s.Settings); err != nil {
		return err
	}
	if err = s.startConductor(ctx); err != nil {
		return errors.Join(err, closeListeners(s.doors))
	}
	adminDoor, err := listenAdmin(ctx, s.Settings)
	if err != nil {
		return errors.Join(err, closeListeners(s.doors))
	}
	s.adminDoor = adminDoor
	handlers, err := s.handlers(ctx)
	if err != nil {
		return errors.Join(err, closeListeners(s.doors))
	}
	s.serveAdmin(handlers.Admin)
	s.http = newHTTPServer(s.Settings, handlers.Public, s.log)
	if s.certificates != nil {
		s.http.TLSConfig = s.certificates.Config()
	}
	if s.conductor != nil {
		s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.conductor.stopping) }))
	}
	s.http.RegisterOnShutdown(s.handled.StopStreams)
	s.warnInsecure()
	s.logConnections(application)
	serving := []any{"address", s.urls(), "database", s.Settings.Database()}
	if address := s.consoleAddress(); address != "" {
		serving = append(serving, "console", address)
	}
	s.log.Info("serving", serving...)
	return nil
}

// prepareSchema migrates the schema. With --migrate=false it returns an error if the schema is
// older than this berth requires. A newer schema is accepted, as in a rolling upgrade.
func (s *service) prepareSchema(ctx context.Context) error {
	if s.Settings.Migrate {
		_, err := migrate.Install(ctx, s.Database.Direct, s.Settings.Waits(), s.log)
		return err
	}
	status, err := migrate.GetStatus(ctx, s.Database.Direct)
	if err != nil {
		return err
	}
	switch status.State() {
	case migrate.StatePlacement:
		return migrate.ErrForeign
	case migrate.StateOutdated:
		return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; run 'berth db migrate', or serve without --migrate=false",
			status.Version, status.Latest, status.Known.Number)
	}
	return nil
}

// handlers returns the handlers of the server with the options of all settings.
func (s *service) handlers(ctx context.Context) (_ server.Handlers, err error) {
	options := server.Options{
		Store: s.store, Log: s.log, AccessLog: s.Settings.AccessLog, AuditLog: s.audit,
		AllowedHosts: s.Settings.AllowedHosts, CORS: s.Settings.CORS, Prefix: s.Settings.BasePath,
		Bodies: s.Settings.Bodies, Events: s.Settings.Events, Limits: s.Settings.Load, Spool: s.spool, RequestTimeout: s.Settings.RequestTimeout,
		Policy: s.policy, BaremetalPolicy: s.policy,
		Placement: s.Settings.Placement, Baremetal: s.baremetal(),
		Observability: s.observability(),
	}
	options.Limits.Write = answerLimitOf(s.Settings)
	if s.Settings.ProxyHeaders {
		options.Proxies = &forwarded.Proxies{Trusted: s.Settings.TrustedProxies}
	}
	go s.policy.Watch(ctx, policyInterval, s.log)
	if err = s.authenticate(ctx, &options); err != nil {
		return server.Handlers{}, err
	}
	s.explanations = explainlog.New(explainlog.Options{
		Settings: s.Settings.Explain, Store: s.store, Log: s.log,
		Explain: placement.StoredExplainer(s.store, s.Settings.Placement.Candidates, s.Settings.Explain.Timeout),
	})
	options.Explanations = s.explanations
	s.explanations.Start()
	s.store.LimitIdempotencyKeys(s.Settings.Idempotency.Rows)
	options.IdempotencyLifetime = s.Settings.Idempotency.Lifetime
	s.keys = idempotency.Start(idempotency.Options{Store: s.store, Log: s.log})
	s.leases = leases.New(leases.Options{Store: s.store, Log: s.log, Audit: s.audit, Interval: s.Settings.Leases.Interval})
	options.Leases, options.Placement.LeaseMin = s.leases.Collectors(), s.Settings.Leases.Min
	s.leases.Start()
	s.store.RecordCallers(server.CallerOf)
	s.history = history.New(history.Options{Store: s.store, Log: s.log})
	options.History = s.history.Collectors()
	s.history.Start()
	if err = s.mountConsole(&options); err != nil {
		return server.Handlers{}, err
	}
	s.handled = server.New(options)
	return s.handled, nil
}

// baremetal returns the options of the Bare Metal API; nil if it is disabled.
func (s *service) baremetal() *baremetal.Options {
	if s.conductor == nil {
		return nil
	}
	return &baremetal.Options{
		Conductor: s.conductor.Hostname, HeartbeatTimeout: s.conductor.HeartbeatTimeout, ListenURL: s.conductor.ListenURL,
		Decide: s.conductor.Decide, Collectors: s.conductor.Collectors(), Stopping: s.conductor.stopping,
		LockTimeout: s.Settings.BaremetalLockTimeout,
	}
}

// warnOfSettings logs the settings with which PostgreSQL may lose acknowledged writes, and those that a pooler has
// dropped, with the statement that sets them.
func (s *service) warnOfSettings(ctx context.Context) error {
	settings, err := s.store.Pool().Settings(ctx)
	if err != nil {
		return err
	}
	s.store.Pool().LogLosses(ctx, s.log, settings.Losses())
	lacking, err := s.store.Pool().MissingPlannerSettings(ctx)
	for name, found := range lacking {
		s.log.Warn("a pooler drops a planner setting; requests take two to three times as long. "+
			"Set it on the database: ALTER DATABASE name SET setting = wanted",
			"setting", name, "found", found, "wanted", postgres.PlannerSettings()[name])
	}
	if err != nil {
		return err
	}
	missing, err := s.store.Pool().Unlimited(ctx)
	for _, name := range missing {
		s.log.Warn("a pooler drops a timeout, so that requests may wait for locks indefinitely. "+
			"Set it on Berth's role: ALTER ROLE name SET setting = ...; docs/postgresql-operations.md has the lines", "setting", name)
	}
	return err
}

// logConnections logs the maximum number of sessions of this server, for max_connections.
func (s *service) logConnections(application string) {
	budget := s.Settings.ConnectionBudget()
	s.log.Info("connections to PostgreSQL", "application_name", application, "max_total", budget.Total(),
		"max_pool", budget.Pool, "max_writes", s.store.Pool().WriteStat().Max, "max_metrics", budget.Metrics, "max_explanations", budget.Explanations, "max_listen", budget.Listen, "max_conductor", budget.Conductor,
		"replicas", len(s.Settings.ReplicaURLs))
}

// warnInsecure logs warnings about insecure settings.
func (s *service) warnInsecure() {
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); ok && s.Settings.Auth == "noauth2" && !tcp.IP.IsLoopback() {
			s.log.Warn("noauth2 does not authenticate callers, and other hosts can reach this address: "+
				"all of them have the admin role", "listen", tcp.String())
		}
	}
}

// urls returns the comma-separated URLs of the server.
func (s *service) urls() string {
	var urls []string
	for _, door := range s.doors {
		urls = append(urls, door.url(s.Settings.BasePath))
	}
	return strings.Join(urls, ",")
}

// reload reloads changed certificates, a changed tokens file and the names of the console, reopens the audit log and
// empties the token cache.
func (s *service) reload() {
	if s.certificates != nil {
		s.certificates.Refresh(time.Now())
	}
	if s.keystone != nil {
		s.log.Info("emptied the token cache", "tokens", s.keystone.EmptyCache())
	}
	if s.tokens != nil {
		s.tokens.Reload(s.log)
	}
	if s.audit != nil {
		s.audit.Reopen()
	}
	if s.console != nil {
		s.reloadConsole()
	}
}

// close closes the parts in reverse order. It abandons connections that are in use when the
// context ends: their requests are canceled already, and the database must still be closed.
func (s *service) close(ctx context.Context) error {
	s.stopConductor(ctx)
	_ = s.handled.Close()
	if s.keys != nil {
		s.keys.Close(ctx)
	}
	if s.leases != nil {
		s.leases.Close(ctx)
	}
	if s.history != nil {
		s.history.Close()
	}
	if s.explanations != nil {
		s.explanations.Close(ctx)
	}
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
	err := s.closeAuditLog(ctx)
	if s.Database == nil {
		return err
	}
	return errors.Join(err, s.Database.Close(ctx))
}
