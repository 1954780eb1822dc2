package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/tracing"
)

// watching is what tells others how the service is doing.
type watching struct {
	// traces are nil where none are sent.
	traces *tracing.Tracing
	// admin serves those who watch on an address of their own, nil if there is none.
	admin *http.Server
}

// watchStore says what the store tells of its statements, and begins to send traces.
// It comes before the store is opened.
func (s *service) watchStore(ctx context.Context, options *store.Options) (err error) {
	options.SlowQuery, options.Log = s.settings.SlowQuery, s.log
	endpoint := cmp.Or(s.settings.TraceEndpoint, os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return nil
	}
	ratio := s.settings.TraceSampleRatio
	if s.settings.setting("trace-sample-ratio").origin == "default" && os.Getenv("OTEL_TRACES_SAMPLER") != "" {
		ratio = -1
	}
	if s.watching.traces, err = tracing.Start(ctx, tracing.Options{
		Endpoint: s.settings.TraceEndpoint, Ratio: ratio, Version: thisBuild().Version, Log: s.log,
	}); err != nil {
		return err
	}
	options.Spans = s.watching.traces.Tracer()
	s.log.Info("traces are sent", "endpoint", maskPassword(endpoint))
	return nil
}

// addWatching says what the server tells those who watch it.
func (s *service) addWatching(ctx context.Context, options *server.Options) error {
	build := thisBuild()
	watch := &options.Watch
	watch.Version, watch.Revision = build.Version, build.Revision
	watch.Draining = s.draining
	watch.OsloRequestLines = s.settings.LogFormat == logOslo
	watch.PostgresInterval, watch.CapacityInterval = s.settings.PostgresInterval, s.settings.CapacityInterval
	watch.HideMetrics = !s.settings.PublicMetrics
	if s.watching.traces != nil {
		watch.Spans = s.watching.traces.Tracer()
	}
	set, err := migrate.Embedded()
	if err != nil {
		return err
	}
	watch.Schema = func(ctx context.Context) (state server.SchemaState, err error) {
		err = s.store.Look(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			status, err := set.StatusOn(ctx, conn)
			state = server.SchemaState(stateOf(status))
			return err
		})
		return state, err
	}
	return s.listenAdmin(ctx, watch)
}

// listenAdmin opens the address of those who watch, if there is one.
func (s *service) listenAdmin(ctx context.Context, watch *server.Watch) error {
	at := s.settings.AdminListen
	if at == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%s): %w; stop what uses the port, or choose another with --admin-listen",
			at, s.settings.setting("admin-listen").origin, err)
	}
	watch.Admin = func(handler http.Handler) {
		s.watching.admin = &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		}
		go func() {
			if err := s.watching.admin.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("the address for those who watch is not served any more", "listen", at, "cause", err)
			}
		}()
		s.log.Info("serving those who watch", "address", listener.Addr().String())
	}
	return nil
}

// tracesPatience is how long the end waits for the last spans to be sent.
const tracesPatience = 2 * time.Second

// stopWatching sends the last spans and closes the address of those who watch, which
// until now could see the service drain. It goes on while other things are closed: the
// function that it returns waits for it.
func (s *service) stopWatching(ctx context.Context) (wait func()) {
	if s.watching.admin != nil {
		_ = s.watching.admin.Close() // nobody is told what a scrape missed
	}
	if s.watching.traces == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		bounded, cancel := context.WithTimeout(ctx, tracesPatience)
		defer cancel()
		if err := s.watching.traces.Stop(bounded); err != nil {
			s.log.Warn("the last traces could not be sent", "cause", err)
		}
	}()
	return func() { <-stopped }
}
