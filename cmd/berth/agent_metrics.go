package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
)

// agentMetrics count passes for Prometheus.
type agentMetrics struct {
	registry    *prometheus.Registry
	lastSuccess prometheus.Gauge
	passes      *prometheus.CounterVec
	reshapes    prometheus.Counter
	conflicts   prometheus.Counter
	duration    prometheus.Histogram
	providers   prometheus.Gauge
}

func newAgentMetrics() *agentMetrics {
	m := &agentMetrics{
		registry: prometheus.NewRegistry(),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_agent_last_success_timestamp_seconds", Help: "When a pass last ended well, in seconds since 1970; 0 for never.",
		}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_agent_passes_total", Help: "Passes, by how they ended.",
		}, []string{"outcome"}),
		reshapes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_reshapes_total", Help: "Passes that moved inventory and allocations.",
		}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_conflicts_total", Help: "Attempts that ended because somebody else wrote first.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_agent_pass_duration_seconds", Help: "Time of a pass, with all its attempts.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		providers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_agent_providers", Help: "Providers in the tree of this host.",
		}),
	}
	m.registry.MustRegister(m.lastSuccess, m.passes, m.reshapes, m.conflicts, m.duration, m.providers,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// An outcome that has not happened is 0, so that its first time is an increase.
	for _, outcome := range append([]string{outcomeFine, outcomeFailed}, outcomeNames()...) {
		m.passes.WithLabelValues(outcome)
	}
	return m
}

func (m *agentMetrics) observe(pass agent.Pass) {
	m.passes.WithLabelValues(outcomeOf(pass.Err)).Inc()
	m.conflicts.Add(float64(pass.Conflicts))
	m.duration.Observe(pass.Took.Seconds())
	if pass.Reshaped {
		m.reshapes.Inc()
	}
	if pass.Err == nil {
		m.lastSuccess.SetToCurrentTime()
		m.providers.Set(float64(pass.Providers))
	}
}

const outcomeFine, outcomeFailed = "fine", "failed"

// outcomes name errors; the first that matches counts.
var outcomes = []struct {
	name string
	of   error
}{
	{"reshape_conflict", client.ErrReshapeConflict},
	{"reshape_failed", client.ErrReshapeFailed},
	{"reshape_needed", client.ErrReshapeNeeded},
	{"conflict", client.ErrUpdateConflict},
	{"unavailable", client.ErrUnavailable},
	{"refused", client.ErrUnauthorized},
	{"refused", client.ErrForbidden},
}

func outcomeNames() []string {
	var names []string
	for _, one := range outcomes {
		names = append(names, one.name)
	}
	return names
}

func outcomeOf(err error) string {
	if err == nil {
		return outcomeFine
	}
	for _, one := range outcomes {
		if errors.Is(err, one.of) {
			return one.name
		}
	}
	return outcomeFailed
}

// serve answers /metrics at an address until the returned function is called; an
// empty address means not at all.
func (m *agentMetrics) serve(ctx context.Context, at string, log *slog.Logger) (stop func(), err error) {
	if at == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s for metrics: %w; choose another address with --metrics-listen", at, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("serving metrics", "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are no longer served", "cause", err)
		}
	}()
	return func() {
		if err := server.Close(); err != nil {
			log.Warn("closing the metrics", "cause", err)
		}
	}, nil
}
