package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
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
