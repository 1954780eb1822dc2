package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/store"
)

// What is asked of the database for the metrics, beside the requests.
const (
	// scrapeWait is how long a scrape waits for an answer. A slower one is told by
	// the next scrape: a database in trouble must not take the other metrics along.
	scrapeWait = 500 * time.Millisecond
	// lookPatience is when an answer is given up.
	lookPatience = 10 * time.Second
	// staleAfter is how many intervals an answer is told for if no other comes: a
	// number that stands still would look like a database that does.
	staleAfter = 3
	// mostClasses are told. Each is six series, and a cloud with custom classes for
	// every kind of machine has hundreds.
	mostClasses = 300
)

// watchDatabase registers what the options ask for.
func watchDatabase(registry *prometheus.Registry, options Options) {
	data := options.Store
	if every := options.Watch.PostgresInterval; every > 0 {
		registry.MustRegister(&looking[store.Health]{
			name: "postgres", described: healthMetrics(), tell: tellHealth, upkeep: true,
			look: look[store.Health]{every: every, patience: lookPatience, ask: data.DatabaseHealth},
		})
	}
	if every := options.Watch.CapacityInterval; every > 0 {
		registry.MustRegister(&looking[[]store.Capacity]{
			name: "capacity", described: capacityMetrics(), tell: tellCapacity,
			look: look[[]store.Capacity]{every: every, patience: lookPatience, ask: func(ctx context.Context) ([]store.Capacity, error) {
				return data.CapacityList(ctx, mostClasses+1)
			}},
		})
		if baremetal := options.Baremetal; baremetal != nil {
			registry.MustRegister(&looking[[]store.BaremetalState]{
				name: "baremetal", described: baremetalMetrics(), tell: tellBaremetal,
				look: look[[]store.BaremetalState]{every: every, patience: lookPatience, ask: func(ctx context.Context) ([]store.BaremetalState, error) {
					return data.BaremetalCount(ctx, baremetal.Silence)
				}},
			})
		}
	}
}

// looking is a look at the database as a collector.
type looking[T any] struct {
	look look[T]
	// name is the value of the label of the metrics about the look itself.
	name      string
	described []*prometheus.Desc
	tell      func(T, chan<- prometheus.Metric)
	// upkeep tells as well whether the last look got an answer, as that of PostgreSQL.
	upkeep bool
}

func lookDesc(look, name, help string) *prometheus.Desc {
	return prometheus.NewDesc("berth_look_"+name, help, nil, prometheus.Labels{"look": look})
}

func (l *looking[T]) about() (age, seconds, failures *prometheus.Desc) {
	return lookDesc(l.name, "age_seconds", "Age of what the metrics tell of the database, by what was looked at."),
		lookDesc(l.name, "duration_seconds", "Time that the last look took."),
		lookDesc(l.name, "failures_total", "Looks that got no answer.")
}

var postgresUp = prometheus.NewDesc("berth_postgres_up", "Whether PostgreSQL answered the last look.", nil, nil)

// Describe implements prometheus.Collector.
func (l *looking[T]) Describe(into chan<- *prometheus.Desc) {
	age, seconds, failures := l.about()
	for _, described := range append([]*prometheus.Desc{age, seconds, failures}, l.described...) {
		into <- described
	}
	if l.upkeep {
		into <- postgresUp
	}
}

// Collect implements prometheus.Collector.
func (l *looking[T]) Collect(into chan<- prometheus.Metric) {
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
	if old < staleAfter*max(l.look.every, lookPatience) {
		l.tell(good.value, into)
	}
}

func truth(of bool) float64 {
	if of {
		return 1
	}
	return 0
}
