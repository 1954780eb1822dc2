package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/spool"
)

// The constants of collectors that query the database.
const (
	// scrapeWait is how long a scrape waits for a query. The next scrape returns the result of a slower
	// one, so that a slow database does not delay the other metrics.
	scrapeWait = 500 * time.Millisecond
	// collectorTimeout is the maximum duration of a collector query.
	collectorTimeout = 10 * time.Second
	// maxStaleIntervals is for how many intervals a result is exported without a new one: constant values
	// would hide that the database does not respond.
	maxStaleIntervals = 3
	// maxClasses is the maximum number of resource classes in the metrics. Each has six series, and a
	// cloud with a custom class for every type of machine has hundreds.
	maxClasses = 300
)

// watchDatabase registers the collectors that the options enable.
func watchDatabase(registry *prometheus.Registry, options Options) {
	data := options.Store
	if every := options.Observability.PostgresInterval; every > 0 {
		registry.MustRegister(&databaseCollector[store.Health]{
			name: "postgres", described: healthMetrics(), tell: collectHealth, upkeep: true,
			look: cachedQuery[store.Health]{ttl: every, timeout: collectorTimeout, fetch: data.DatabaseHealth},
		})
	}
	if every := options.Observability.CapacityInterval; every > 0 {
		registry.MustRegister(&databaseCollector[[]store.Capacity]{
			name: "capacity", described: capacityMetrics(), tell: collectCapacity,
			look: cachedQuery[[]store.Capacity]{ttl: every, timeout: collectorTimeout, fetch: func(ctx context.Context) ([]store.Capacity, error) {
				return data.CapacityList(ctx, maxClasses+1)
			}},
		})
		if baremetal := options.Baremetal; baremetal != nil {
			registry.MustRegister(&databaseCollector[[]store.BaremetalState]{
				name: "baremetal", described: baremetalMetrics(), tell: collectBaremetal,
				look: cachedQuery[[]store.BaremetalState]{ttl: every, timeout: collectorTimeout, fetch: func(ctx context.Context) ([]store.BaremetalState, error) {
					return data.BaremetalCount(ctx, baremetal.HeartbeatTimeout)
				}},
			})
		}
	}
}

// databaseCollector is a collector that exports the result of a cached query.
type databaseCollector[T any] struct {
	look cachedQuery[T]
	// name is the value of the label collector in the metrics about the query itself.
	name      string
	described []*prometheus.Desc
	tell      func(T, chan<- prometheus.Metric)
	// upkeep also exports whether the last query succeeded, as berth_postgres_up.
	upkeep bool
}

func collectorDesc(collector, name, help string) *prometheus.Desc {
	return prometheus.NewDesc("berth_collector_"+name, help, nil, prometheus.Labels{"collector": collector})
}

func (l *databaseCollector[T]) about() (age, seconds, failures *prometheus.Desc) {
	return collectorDesc(l.name, "age_seconds", "Age of the values of a collector, in seconds."),
		collectorDesc(l.name, "duration_seconds", "Duration of the last collector query, in seconds."),
		collectorDesc(l.name, "failures_total", "Number of failed collector queries.")
}

var postgresUp = prometheus.NewDesc("berth_postgres_up", "1 if the last collector query of PostgreSQL succeeded; otherwise 0.", nil, nil)

// Describe implements prometheus.Collector.
func (l *databaseCollector[T]) Describe(into chan<- *prometheus.Desc) {
	age, seconds, failures := l.about()
	for _, described := range append([]*prometheus.Desc{age, seconds, failures}, l.described...) {
		into <- described
	}
	if l.upkeep {
		into <- postgresUp
	}
}

// Collect implements prometheus.Collector.
func (l *databaseCollector[T]) Collect(into chan<- prometheus.Metric) {
	found := l.look.get(context.Background(), scrapeWait)
	good, failed := l.look.last()
	age, seconds, failures := l.about()
	into <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(failed))
	if l.upkeep && !found.at.IsZero() {
		into <- prometheus.MustNewConstMetric(postgresUp, prometheus.GaugeValue, truth(found.err == nil))
	}
	if good.at.IsZero() {
		return
	}
	old := time.Since(good.at)
	into <- prometheus.MustNewConstMetric(age, prometheus.GaugeValue, old.Seconds())
	into <- prometheus.MustNewConstMetric(seconds, prometheus.GaugeValue, good.took.Seconds())
	if old < maxStaleIntervals*max(l.look.ttl, collectorTimeout) {
		l.tell(good.value, into)
	}
}

func truth(of bool) float64 {
	if of {
		return 1
	}
	return 0
}

// keyCollector exports the number of idempotency keys and of replayed responses.
type keyCollector struct{ data *store.Store }

var (
	storedKeys = prometheus.NewDesc("berth_idempotency_keys",
		"Number of stored idempotency keys of all servers, at the last count and with those of this server since.", nil, nil)
	keyReplays = prometheus.NewDesc("berth_idempotency_replays_total",
		"Number of requests that got the stored response of an earlier request with the same Idempotency-Key.", nil, nil)
)

// Describe implements prometheus.Collector.
func (keyCollector) Describe(into chan<- *prometheus.Desc) {
	into <- storedKeys
	into <- keyReplays
}

// Collect implements prometheus.Collector.
func (c keyCollector) Collect(into chan<- prometheus.Metric) {
	keys, replays := c.data.IdempotencyStat()
	into <- prometheus.MustNewConstMetric(storedKeys, prometheus.GaugeValue, float64(keys))
	into <- prometheus.MustNewConstMetric(keyReplays, prometheus.CounterValue, float64(replays))
}

// newBodyMetrics returns a collector for the memory of request bodies.
func newBodyMetrics(bodies *route.Budget) prometheus.Collector { return bodyMetrics{bodies} }

type bodyMetrics struct{ bodies *route.Budget }

var (
	bodyMemoryUsed = prometheus.NewDesc("berth_http_body_memory_bytes",
		"Estimated memory of the request bodies that are read and decoded, in bytes, without small bodies.", nil, nil)
	bodyMemoryLimit = prometheus.NewDesc("berth_http_body_memory_limit_bytes",
		"Limit of the memory of request bodies, in bytes; 0 without a limit. One request at a time may exceed it.", nil, nil)
	bodyMemoryWaiting = prometheus.NewDesc("berth_http_body_memory_waiting",
		"Number of requests that wait for memory for their body.", nil, nil)
	bodyMemoryRejected = prometheus.NewDesc("berth_http_body_memory_rejected_total",
		"Number of requests answered 503 because there was no memory for their body.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m bodyMetrics) Describe(into chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{bodyMemoryUsed, bodyMemoryLimit, bodyMemoryWaiting, bodyMemoryRejected} {
		into <- desc
	}
}

// Collect implements prometheus.Collector.
func (m bodyMetrics) Collect(into chan<- prometheus.Metric) {
	usage := m.bodies.Usage()
	into <- prometheus.MustNewConstMetric(bodyMemoryUsed, prometheus.GaugeValue, float64(usage.Bytes))
	into <- prometheus.MustNewConstMetric(bodyMemoryLimit, prometheus.GaugeValue, float64(usage.Limit))
	into <- prometheus.MustNewConstMetric(bodyMemoryWaiting, prometheus.GaugeValue, float64(usage.Waiting))
	into <- prometheus.MustNewConstMetric(bodyMemoryRejected, prometheus.CounterValue, float64(usage.Rejected))
}

// spoolCollector exports the state of the responses that wait for their clients.
type spoolCollector struct{ room *spool.Spool }

var (
	spoolBytes = prometheus.NewDesc("berth_spool_bytes",
		"Bytes used by complete responses until their clients have read them.", []string{"place"}, nil)
	spoolLimit = prometheus.NewDesc("berth_spool_limit_bytes",
		"Limit of the bytes used by responses; 0: no limit in memory, no files.", []string{"place"}, nil)
	spoolAnswers = prometheus.NewDesc("berth_spool_answers_total",
		"Number of responses of more than 36 KiB, by the place where they waited for their clients.", []string{"place"}, nil)
	spoolRejected = prometheus.NewDesc("berth_spool_rejected_total",
		"Number of responses rejected with 503 by reason: memory or files at their limit, or a failing disk.", []string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (spoolCollector) Describe(into chan<- *prometheus.Desc) {
	for _, described := range []*prometheus.Desc{spoolBytes, spoolLimit, spoolAnswers, spoolRejected} {
		into <- described
	}
}

// Collect implements prometheus.Collector.
func (c spoolCollector) Collect(into chan<- prometheus.Metric) {
	stat := c.room.Stat()
	report := func(of *prometheus.Desc, kind prometheus.ValueType, value int64, label string) {
		into <- prometheus.MustNewConstMetric(of, kind, float64(value), label)
	}
	report(spoolBytes, prometheus.GaugeValue, stat.Memory, "memory")
	report(spoolBytes, prometheus.GaugeValue, stat.Files, "file")
	report(spoolLimit, prometheus.GaugeValue, stat.MemoryLimit, "memory")
	report(spoolLimit, prometheus.GaugeValue, stat.FilesLimit, "file")
	report(spoolAnswers, prometheus.CounterValue, stat.InMemory, "memory")
	report(spoolAnswers, prometheus.CounterValue, stat.InFile, "file")
	for reason, count := range stat.Rejected {
		report(spoolRejected, prometheus.CounterValue, count, string(reason))
	}
}
