package hostcommand

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
	"github.com/berthd/berth/cmd/berth/open"
)

// agentMetrics holds the Prometheus metrics of reconciliations.
type agentMetrics struct {
	registry    *prometheus.Registry
	lastSuccess prometheus.Gauge
	passes      *prometheus.CounterVec
	reshapes    prometheus.Counter
	conflicts   prometheus.Counter
	duration    prometheus.Histogram
	providers   prometheus.Gauge
}

// newAgentMetrics returns registered metrics, with a counter of 0 for each outcome.
func newAgentMetrics() *agentMetrics {
	m := &agentMetrics{
		registry: prometheus.NewRegistry(),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_agent_last_success_timestamp_seconds", Help: "Unix time of the last successful reconciliation in seconds; 0 if there was none.",
		}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_agent_reconciliations_total", Help: "Number of reconciliations by outcome.",
		}, []string{"outcome"}),
		reshapes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_reshapes_total", Help: "Number of reconciliations that reshaped the provider tree.",
		}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_conflicts_total", Help: "Number of attempts that failed with a generation conflict.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_agent_reconcile_duration_seconds", Help: "Duration of reconciliations, including retries, in seconds.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		providers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_agent_providers", Help: "Number of resource providers in the tree of this host.",
		}),
	}
	m.registry.MustRegister(m.lastSuccess, m.passes, m.reshapes, m.conflicts, m.duration, m.providers,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Outcomes start at 0, so that the first occurrence is an increase.
	for _, outcome := range append([]string{outcomeSuccess, outcomeFailed}, outcomeNames()...) {
		m.passes.WithLabelValues(outcome)
	}
	return m
}

// observe records a reconciliation.
func (m *agentMetrics) observe(pass agent.Reconciliation) {
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

const outcomeSuccess, outcomeFailed = "success", "failed"

// outcomes maps errors to outcomes; the first match counts.
var outcomes = []struct {
	name string
	err  error
}{
	{"reshape_conflict", client.ErrReshapeConflict},
	{"reshape_failed", client.ErrReshapeFailed},
	{"reshape_needed", client.ErrReshapeNeeded},
	{"conflict", client.ErrUpdateConflict},
	{"unavailable", client.ErrUnavailable},
	{"unauthorized", client.ErrUnauthorized},
	{"unauthorized", client.ErrForbidden},
}

func outcomeNames() []string {
	var names []string
	for _, outcome := range outcomes {
		names = append(names, outcome.name)
	}
	return names
}

// outcomeOf returns the outcome of a reconciliation with an error, or nil.
func outcomeOf(err error) string {
	if err == nil {
		return outcomeSuccess
	}
	for _, outcome := range outcomes {
		if errors.Is(err, outcome.err) {
			return outcome.name
		}
	}
	return outcomeFailed
}

// serve serves /metrics at an address until the returned function is called; an empty address
// disables it.
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
		Handler: mux, ReadHeaderTimeout: open.HeaderTimeout, ReadTimeout: open.HeaderTimeout, WriteTimeout: open.HeaderTimeout, IdleTimeout: open.IdleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("serving metrics", "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("stopped serving metrics", "cause", err)
		}
	}()
	return func() {
		if err := server.Close(); err != nil {
			log.Warn("cannot close the metrics listener", "cause", err)
		}
	}, nil
}
