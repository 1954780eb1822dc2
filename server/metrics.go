package server

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
)

// metrics counts requests for Prometheus. Each server has its own registry, so that several servers in one
// process, as in tests, have separate counters.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	roundTrips *prometheus.CounterVec
	conflicts  *prometheus.CounterVec
	candidates prometheus.Histogram
	empty      *prometheus.CounterVec
	refused    *prometheus.CounterVec
	inFlight   prometheus.Gauge
	cut        *prometheus.CounterVec
	versions   versionLabels
}

// durationBuckets are in seconds. Most operations take a few milliseconds; the upper buckets show lock
// waits and large lists.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// candidateBuckets are numbers of candidates. 0 is a bucket of its own.
var candidateBuckets = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000}

func newMetrics(options Options) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		// Each label has few values: operations are those of the route tables and the open paths, versions
		// those that clients use. Paths and callers are not labels.
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total", Help: "Requests answered.",
		}, []string{"api", "operation", "microversion", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_duration_seconds", Help: "Time from the header of a request to the end of its response, or to the beginning of a stream, in seconds.",
			Buckets: durationBuckets,
		}, []string{"api", "operation", "microversion"}),
		roundTrips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_sql_round_trips_total", Help: "Number of database round trips of requests.",
		}, []string{"operation"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_conflicts_total", Help: "Number of 409 responses by error code.",
		}, []string{"operation", "code"}),
		candidates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_allocation_candidates_returned", Help: "Number of allocation candidates in a response.", Buckets: candidateBuckets,
		}),
		empty: newReasonCounter("berth_allocation_candidates_empty_total", "Number of allocation candidate queries without a result, by reason.",
			candidates.EmptyCauses),
		refused: newReasonCounter("berth_claims_refused_total", "Number of claims that did not fit, by reason.", explainlog.ClaimReasons),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_http_requests_in_flight", Help: "Number of requests being served.",
		}),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_answers_cut_total",
			Help: "Number of truncated responses by reason: the client stalled, it disconnected, or the server failed.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{cutStalled, cutGone, cutInternal} {
		m.cut.WithLabelValues(reason)
	}
	m.registry.MustRegister(options.Explanations.Collectors()...)
	m.registry.MustRegister(options.Placement.Claims.Collectors()...)
	m.registry.MustRegister(options.Leases...)
	m.registry.MustRegister(options.History...)
	m.registry.MustRegister(m.requests, m.durations, m.roundTrips, m.conflicts, m.candidates, m.empty, m.refused, m.inFlight, m.cut,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(options.Observability), statementCollector{options.Store.Pool()}, poolCollector{options.Store.Pool()}, keyCollector{options.Store}, auditCollector{options.AuditLog})
	if options.Baremetal != nil {
		m.registry.MustRegister(options.Baremetal.Collectors...)
	}
	if options.Observability.Tokens != nil {
		m.registry.MustRegister(tokenCollector(options.Observability.Tokens))
	}
	if options.Observability.Authentication != nil {
		m.registry.MustRegister(options.Observability.Authentication)
	}
	registerCounter(m.registry, "berth_allocation_candidates_trees_given_up_total",
		"Number of trees that searches for allocation candidates gave up at the limit of combinations.", options.Placement.Search.TreesGivenUp)
	registerCounter(m.registry, "berth_log_lines_lost_total", "Number of log lines that could not be written.", options.Observability.LogLinesLost)
	registerCounter(m.registry, "berth_embedded_postgres_restarts_total",
		"Number of restarts of the embedded PostgreSQL after an unexpected exit.", options.Observability.EmbeddedRestarts)
	if options.Observability.Validations != nil {
		m.registry.MustRegister(validationCollector(options.Observability.Validations))
	}
	watchDatabase(m.registry, options)
	return m
}

// newReasonCounter returns a counter by reason. All its series begin at 0.
func newReasonCounter[R ~string](name, help string, reasons []R) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"reason"})
	for _, reason := range reasons {
		counter.WithLabelValues(string(reason))
	}
	return counter
}

// registerCounter registers a counter that another package maintains, unless it is nil.
func registerCounter(registry *prometheus.Registry, name, help string, count func() int64) {
	if count != nil {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(count()) }))
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Values of labels for requests that have no value of their own.
const (
	labelNone  = "none"
	labelOther = "other"
	// labelOpen is the api of open paths: probes, documents.
	labelOpen = "open"
)

// observe counts a completed request.
func (m *metrics) observe(w *responseRecorder, trips int64, took time.Duration) {
	operation, api := cmp.Or(w.info.Operation, labelNone), apiOf(w.info)
	version := m.versions.label(api, w.info.Microversion)
	m.requests.WithLabelValues(api, operation, version, strconv.Itoa(w.status)).Inc()
	m.durations.WithLabelValues(api, operation, version).Observe(took.Seconds())
	m.roundTrips.WithLabelValues(operation).Add(float64(trips))
	switch {
	case w.status == http.StatusConflict:
		m.conflicts.WithLabelValues(operation, conflictCode(w.info)).Inc()
		if w.info.ConflictReason != "" {
			m.refused.WithLabelValues(w.info.ConflictReason).Inc()
		}
	case w.status == http.StatusOK && slices.Contains(candidateOperations, operation) && !w.info.OfConsole:
		m.candidates.Observe(float64(w.info.Candidates))
		if w.info.EmptyCause != "" {
			m.empty.WithLabelValues(w.info.EmptyCause).Inc()
		}
	}
}

// candidateOperations are the operations that return allocation candidates.
var candidateOperations = []string{"candidate-list", "candidate-search"}

// conflictCode returns the error code of a 409. The Bare Metal API has almost none.
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

// versionLabels bounds the number of microversions in labels: a client that requests each version in turn
// would otherwise create thousands of series. Real clients use a handful. The first versions get a label
// of their own, later ones get "other".
type versionLabels struct{ seen sync.Map }

// maxVersions is the maximum number of versions with a label of their own, for each API.
const maxVersions = 20

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
	if count >= maxVersions {
		return labelOther
	}
	v.seen.Store(key, true)
	return version
}

func buildInfo(watch Observability) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_build_info", Help: "Version of berth as labels; always 1.",
		ConstLabels: prometheus.Labels{
			"version": cmp.Or(watch.Version, "unknown"), "revision": cmp.Or(watch.Revision, "unknown"), "goversion": runtime.Version(),
		},
	}, func() float64 { return 1 })
}
