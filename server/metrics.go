package server

import (
	"cmp"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/request"
)

// metrics counts requests for Prometheus. The registry is the server's own, so
// that several servers in one process, as in tests, count apart.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	roundTrips *prometheus.CounterVec
	conflicts  *prometheus.CounterVec
	candidates prometheus.Histogram
	empty      prometheus.Counter
	inFlight   prometheus.Gauge
	versions   versionLabels
}

// durationBuckets are in seconds. Most operations take a few milliseconds; the
// upper ones tell locks and large lists.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// candidateBuckets are numbers of candidates. 0 is a bucket of its own.
var candidateBuckets = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000}

func newMetrics(options Options) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		// Each label has few values: operations are those of the tables and the open
		// paths, versions those that clients use. Paths and callers are no labels.
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total", Help: "Requests answered.",
		}, []string{"api", "operation", "microversion", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_duration_seconds", Help: "Time from the head of a request to the end of its answer.",
			Buckets: durationBuckets,
		}, []string{"api", "operation", "microversion"}),
		roundTrips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_sql_round_trips_total", Help: "How often requests waited for the database.",
		}, []string{"operation"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_conflicts_total", Help: "Requests answered 409, by the code of the error.",
		}, []string{"operation", "code"}),
		candidates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_candidates_returned", Help: "Allocation candidates in an answer.", Buckets: candidateBuckets,
		}),
		empty: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_candidates_empty_total", Help: "Questions for allocation candidates that nothing fits.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_http_requests_in_flight", Help: "Requests being served.",
		}),
	}
	m.registry.MustRegister(m.requests, m.durations, m.roundTrips, m.conflicts, m.candidates, m.empty, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(options.Watch), statementCollector{options.Store}, poolCollector{options.Store})
	if options.Watch.Tokens != nil {
		m.registry.MustRegister(tokenCollector(options.Watch.Tokens))
	}
	watchDatabase(m.registry, options)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Values of labels where a request has none of its own.
const (
	labelNone  = "none"
	labelOther = "other"
	// labelOpen is the api of what is open to all: probes, documents.
	labelOpen = "open"
)

// observe counts a request that has been served.
func (m *metrics) observe(w *watcher, trips int64, took time.Duration) {
	m.inFlight.Dec()
	operation, api := cmp.Or(w.info.Operation, labelNone), apiOf(w.info)
	version := m.versions.label(api, w.info.Microversion)
	m.requests.WithLabelValues(api, operation, version, strconv.Itoa(w.status)).Inc()
	m.durations.WithLabelValues(api, operation, version).Observe(took.Seconds())
	m.roundTrips.WithLabelValues(operation).Add(float64(trips))
	switch {
	case w.status == http.StatusConflict:
		m.conflicts.WithLabelValues(operation, conflictCode(w.info)).Inc()
	case w.status == http.StatusOK && operation == candidateOperation:
		m.candidates.Observe(float64(w.info.Candidates))
		if w.info.Candidates == 0 {
			m.empty.Inc()
		}
	}
}

// candidateOperation answers allocation candidates.
const candidateOperation = "candidate-list"

// conflictCode is the code of a 409. The Bare Metal API has hardly any.
func conflictCode(info *request.Info) string {
	if info.Service == request.Baremetal {
		return cmp.Or(info.ErrorCode, labelNone)
	}
	return cmp.Or(info.ErrorCode, fault.CodeUndefined)
}

func apiOf(info *request.Info) string {
	if openOperations[info.Operation] {
		return labelOpen
	}
	return cmp.Or(info.Service, "placement")
}

// versionLabels bounds how many microversions are told apart: somebody who asks for
// each in turn would otherwise leave thousands of series behind. Real clients use a
// handful. The first to come are told, later ones are "other".
type versionLabels struct{ seen sync.Map }

// mostVersions are told apart for each API.
const mostVersions = 20

type versionSeen struct{ api, version string }

func (v *versionLabels) label(api, version string) string {
	if version == "" {
		return labelNone
	}
	key := versionSeen{api, version}
	if _, known := v.seen.Load(key); known {
		return version
	}
	count := 0
	for present := range v.seen.Range {
		if present.(versionSeen).api == api {
			count++
		}
	}
	if count >= mostVersions {
		return labelOther
	}
	v.seen.Store(key, true)
	return version
}

func buildInfo(watch Watch) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_build_info", Help: "Which berth this is; always 1.",
		ConstLabels: prometheus.Labels{
			"version": cmp.Or(watch.Version, "unknown"), "revision": cmp.Or(watch.Revision, "unknown"), "goversion": runtime.Version(),
		},
	}, func() float64 { return 1 })
}
