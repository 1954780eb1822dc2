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

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/cmd/berth/version"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/tracing"
)

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
	if s.traces, err = tracing.Start(ctx, tracing.Options{
		Endpoint: s.Settings.TraceEndpoint, Ratio: ratio, Version: version.This().Version, Log: s.log,
	}); err != nil {
		return err
	}
	options.Spans = s.traces.Tracer()
	s.log.Info("exporting traces", "endpoint", config.MaskPassword(endpoint))
	return nil
}

// openAuditLog opens the audit log, if one is configured.
func (s *service) openAuditLog() (err error) {
	if s.Settings.AuditLog.Path == "" {
		return nil
	}
	// With SIGXFSZ ignored, a file at its size limit fails a write and not the process.
	signal.Ignore(syscall.SIGXFSZ)
	options := s.Settings.AuditLog
	options.Log = s.log
	if s.audit, err = auditlog.Open(options); err != nil {
		return fmt.Errorf("cannot open the audit log: %w; choose another file with --audit-log", err)
	}
	return nil
}

// closeAuditLog flushes and closes the audit log.
func (s *service) closeAuditLog(ctx context.Context) error {
	if s.audit == nil {
		return nil
	}
	return s.audit.Close(ctx)
}

// observability returns the options of metrics, probes and logs.
func (s *service) observability() server.Observability {
	build := version.This()
	watch := server.Observability{
		Version: build.Version, Revision: build.Revision,
		Draining: s.draining, Starved: s.Settings.ReadinessPool,
		OsloRequestLines: s.Settings.LogFormat == config.LogOslo,
		PostgresInterval: s.Settings.PostgresInterval, CapacityInterval: s.Settings.CapacityInterval,
		LogLinesLost:  s.logged.LinesLost,
		PublicMetrics: s.Settings.PublicMetrics,
		Profiles:      s.adminDoor != nil && s.Settings.Profiles(s.adminDoor.Addr()),
	}
	if s.Database.Private != nil {
		watch.EmbeddedRestarts = s.Database.Private.Restarts
	}
	if s.traces != nil {
		watch.Spans = s.traces.Tracer()
	}
	return watch
}

// listenAdmin opens --admin-listen; nil if it is not set.
func listenAdmin(ctx context.Context, settings *config.Settings) (net.Listener, error) {
	if settings.AdminListen == "" {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; stop the process that uses the port, or choose another with --admin-listen",
			settings.AdminListen, settings.Row("admin-listen").Origin, err)
	}
	if settings.Load.WriteStall > 0 {
		listener = stallListener{listener, settings.Load.WriteStall}
	}
	return listener, nil
}

// serveAdmin serves operators on --admin-listen, if it is set.
func (s *service) serveAdmin(handler http.Handler) {
	if s.adminDoor == nil {
		return
	}
	s.admin = &http.Server{
		Handler: handler, ReadHeaderTimeout: open.HeaderTimeout, IdleTimeout: open.IdleTimeout,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := s.admin.Serve(s.adminDoor); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("stopped serving the admin address", "listen", s.Settings.AdminListen, "cause", err)
		}
	}()
	s.log.Info("serving the admin address", "address", s.adminDoor.Addr().String())
}

// TraceFlushTimeout is the maximum time to export the last spans on shutdown.
const TraceFlushTimeout = 2 * time.Second

// stopWatching exports the last spans and closes the admin address, which serves probes while the
// server drains. It runs concurrently with other shutdown steps: the returned function waits for
// it.
func (s *service) stopWatching(ctx context.Context) (wait func()) {
	if s.admin != nil {
		_ = s.admin.Close() // a failed scrape needs no report
	} else if s.adminDoor != nil {
		_ = s.adminDoor.Close()
	}
	if s.traces == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		bounded, cancel := context.WithTimeout(ctx, TraceFlushTimeout)
		defer cancel()
		if err := s.traces.Stop(bounded); err != nil {
			s.log.Warn("cannot export the last traces", "cause", err)
		}
	}()
	return func() { <-stopped }
}
