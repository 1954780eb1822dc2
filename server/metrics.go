package server

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berthd/berth/server/store"
)

// metrics counts requests for Prometheus. The registry is the server's own, so
// that several servers in one process, as in tests, count apart.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	roundTrips *prometheus.CounterVec
	inFlight   prometheus.Gauge
}

// durationBuckets are in seconds. Most operations take a few milliseconds; the
// upper ones tell locks and large lists.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics(data *store.Store) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		// Each label has few values: operations are those of the table and the
		// open paths, versions those that clients use. Paths are no label.
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total", Help: "Requests answered.",
		}, []string{"operation", "microversion", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_duration_seconds", Help: "Time from the head of a request to the end of its answer.",
			Buckets: durationBuckets,
		}, []string{"operation"}),
		roundTrips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_sql_round_trips_total", Help: "How often requests waited for the database.",
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_http_requests_in_flight", Help: "Requests being served.",
		}),
	}
	m.registry.MustRegister(m.requests, m.durations, m.roundTrips, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		poolCollector{data}, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "berth_sql_retries_total", Help: "Writes begun again because the database broke off a deadlock.",
		}, func() float64 { return float64(data.Retries()) }))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe counts a request that has been served.
func (m *metrics) observe(w *watcher, trips int64, took time.Duration) {
	operation := cmp.Or(w.info.Operation, "none")
	m.inFlight.Dec()
	m.requests.WithLabelValues(operation, cmp.Or(w.info.Microversion, "none"), strconv.Itoa(w.status)).Inc()
	m.durations.WithLabelValues(operation).Observe(took.Seconds())
	m.roundTrips.WithLabelValues(operation).Add(float64(trips))
}

// poolCollector tells how the connections to the database are doing.
type poolCollector struct{ data *store.Store }

func poolMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("berth_sql_connections_"+name, help, labels, nil)
}

var (
	poolOpen     = poolMetric("open", "Connections, by what they do: idle, busy or opening.", "state")
	poolMax      = poolMetric("max", "The most connections that may be open.")
	poolAcquired = poolMetric("acquired_total", "How often a connection was taken for a request.")
	poolWaited   = poolMetric("waited_total", "How often a request waited for a connection, because none was idle.")
	poolWaiting  = poolMetric("wait_seconds_total", "Time that requests waited for a connection.")
	poolGivenUp  = poolMetric("given_up_total", "How often a request ended before it had a connection.")
)

// Describe implements prometheus.Collector.
func (poolCollector) Describe(into chan<- *prometheus.Desc) {
	for _, described := range []*prometheus.Desc{poolOpen, poolMax, poolAcquired, poolWaited, poolWaiting, poolGivenUp} {
		into <- described
	}
}

// Collect implements prometheus.Collector. All numbers are of one moment.
func (c poolCollector) Collect(into chan<- prometheus.Metric) {
	stat := c.data.Stat()
	gauge := func(of *prometheus.Desc, value int32, labels ...string) {
		into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, float64(value), labels...)
	}
	counter := func(of *prometheus.Desc, value float64) {
		into <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, value)
	}
	gauge(poolOpen, stat.IdleConns(), "idle")
	gauge(poolOpen, stat.AcquiredConns(), "busy")
	gauge(poolOpen, stat.ConstructingConns(), "opening")
	gauge(poolMax, stat.MaxConns())
	counter(poolAcquired, float64(stat.AcquireCount()))
	counter(poolWaited, float64(stat.EmptyAcquireCount()))
	counter(poolWaiting, stat.EmptyAcquireWaitTime().Seconds())
	counter(poolGivenUp, float64(stat.CanceledAcquireCount()))
}
