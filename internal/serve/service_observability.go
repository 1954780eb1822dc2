package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/internal/open"
	"github.com/berthd/berth/internal/version"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/auditlog"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/tracing"
)

// observability holds the metrics, traces and logs of the server.
type observability struct {
	// traces is nil if none are exported.
	traces *tracing.Tracing
	// audit is nil without an audit log.
	audit *auditlog.Log
	// admin serves metrics, probes and profiles on --admin-listen; nil without it.
	admin *http.Server
}

// watchStore sets the logging of statements and starts the export of traces, before the store is
// opened.
func (s *service) watchStore(ctx context.Context, options *postgres.Options) (err error) {
	options.SlowQuery, options.Log = s.Settings.SlowQuery, s.log
	endpoint := cmp.Or(s.Settings.TraceEndpoint, os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return nil
	}
	ratio := s.Settings.TraceSampleRatio
	if s.Settings.Row("trace-sample-ratio").Origin == "default" && os.Getenv("OTEL_TRACES_SAMPLER") != "" {
		ratio = -1
	}
	if s.observability.traces, err = tracing.Start(ctx, tracing.Options{
		Endpoint: s.Settings.TraceEndpoint, Ratio: ratio, Version: version.This().Version, Log: s.log,
	}); err != nil {
		return err
	}
	options.Spans = s.observability.traces.Tracer()
	s.log.Info("exporting traces", "endpoint", config.MaskPassword(endpoint))
	return nil
}

// openAuditLog opens the audit log, if one is configured.
func (s *service) openAuditLog() (err error) {
	if s.Settings.AuditLog == "" {
		return nil
	}
	// With SIGXFSZ ignored, a file at its size limit fails a write and not the process.
	signal.Ignore(syscall.SIGXFSZ)
	s.observability.audit, err = auditlog.Open(auditlog.Options{
		Path: s.Settings.AuditLog, Required: s.Settings.AuditLogRequired, Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("cannot open the audit log: %w; choose another file with --audit-log", err)
	}
	return nil
}

// closeAuditLog flushes and closes the audit log.
func (s *service) closeAuditLog(ctx context.Context) error {
	if s.observability.audit == nil {
		return nil
	}
	return s.observability.audit.Close(ctx)
}

// addWatching sets the metrics and logs of the server.
func (s *service) addWatching(ctx context.Context, options *server.Options) error {
	build := version.This()
	watch := &options.Observability
	watch.Version, watch.Revision = build.Version, build.Revision
	watch.Draining = s.draining
	watch.Starved = s.Settings.ReadinessPool
	watch.OsloRequestLines = s.Settings.LogFormat == config.LogOslo
	watch.PostgresInterval, watch.CapacityInterval = s.Settings.PostgresInterval, s.Settings.CapacityInterval
	watch.LogLinesLost = s.logged.LinesLost
	if s.Database.Private != nil {
		watch.EmbeddedRestarts = s.Database.Private.Restarts
	}
	watch.HideMetrics = !s.Settings.PublicMetrics
	if s.observability.traces != nil {
		watch.Spans = s.observability.traces.Tracer()
	}
	options.AuditLog = s.observability.audit
	set, err := migrate.Embedded()
	if err != nil {
		return err
	}
	watch.Schema = func(ctx context.Context) (state server.SchemaState, err error) {
		err = s.store.Pool().WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			status, err := set.StatusOn(ctx, conn)
			state = server.SchemaState(open.SchemaState(status))
			return err
		})
		return state, err
	}
	return s.listenAdmin(ctx, watch)
}

// listenAdmin opens --admin-listen, if it is set.
func (s *service) listenAdmin(ctx context.Context, watch *server.Observability) error {
	at := s.Settings.AdminListen
	if at == "" {
		return nil
	}
	listener, err := listenOnAdmin(ctx, s.Settings)
	if err != nil {
		return err
	}
	if s.Settings.WriteStallTimeout > 0 {
		listener = stallListener{listener, s.Settings.WriteStallTimeout}
	}
	watch.HideProfiles = s.Settings.HidesProfiles(listener.Addr())
	watch.Admin = func(handler http.Handler) {
		s.observability.admin = &http.Server{
			Handler: handler, ReadHeaderTimeout: open.HeaderTimeout, IdleTimeout: open.IdleTimeout,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		}
		go func() {
			if err := s.observability.admin.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("stopped serving the admin address", "listen", at, "cause", err)
			}
		}()
		s.log.Info("serving the admin address", "address", listener.Addr().String())
	}
	return nil
}

// listenOnAdmin opens the address of --admin-listen.
func listenOnAdmin(ctx context.Context, settings *config.Settings) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; stop the process that uses the port, or choose another with --admin-listen",
			settings.AdminListen, settings.Row("admin-listen").Origin, err)
	}
	return listener, nil
}

// TraceFlushTimeout is the maximum time to export the last spans on shutdown.
const TraceFlushTimeout = 2 * time.Second

// stopWatching exports the last spans and closes the admin address, which serves probes while the
// server drains. It runs concurrently with other shutdown steps: the returned function waits for
// it.
func (s *service) stopWatching(ctx context.Context) (wait func()) {
	if s.observability.admin != nil {
		_ = s.observability.admin.Close() // a failed scrape needs no report
	}
	if s.observability.traces == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		bounded, cancel := context.WithTimeout(ctx, TraceFlushTimeout)
		defer cancel()
		if err := s.observability.traces.Stop(bounded); err != nil {
			s.log.Warn("cannot export the last traces", "cause", err)
		}
	}()
	return func() { <-stopped }
}
