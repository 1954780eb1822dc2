package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/store"
)

// statementCollector tells of statements that did not go as they should.
type statementCollector struct{ data *store.Store }

var (
	retries = prometheus.NewDesc("berth_sql_retries_total",
		"Writes begun again because the database broke off a deadlock.", nil, nil)
	slowQueries = prometheus.NewDesc("berth_sql_slow_queries_total",
		"Statements that took longer than --slow-query-threshold, by the name of the query.", []string{"query"}, nil)
	replicaReads = prometheus.NewDesc("berth_sql_replica_reads_total",
		"Reads that replicas may take: answered by one (served), or by the primary and why.", []string{"outcome"}, nil)
)

// Describe implements prometheus.Collector.
func (statementCollector) Describe(into chan<- *prometheus.Desc) {
	into <- retries
	into <- slowQueries
	into <- replicaReads
}

// Collect implements prometheus.Collector.
func (c statementCollector) Collect(into chan<- prometheus.Metric) {
	into <- prometheus.MustNewConstMetric(retries, prometheus.CounterValue, float64(c.data.Retries()))
	for query, count := range c.data.SlowQueries() {
		into <- prometheus.MustNewConstMetric(slowQueries, prometheus.CounterValue, float64(count), query)
	}
	reads := c.data.ReplicaReads()
	for outcome, count := range map[string]int64{
		"served": reads.Served, "behind": reads.Behind, "down": reads.Down, "failed": reads.Failed, "unindexed": reads.Unindexed,
	} {
		into <- prometheus.MustNewConstMetric(replicaReads, prometheus.CounterValue, float64(count), outcome)
	}
}

// tokenCollector tells how tokens were found out about.
type tokenCollector func() map[string]int64

var tokens = prometheus.NewDesc("berth_keystone_tokens_total",
	"Tokens found out about: remembered (valid or refused), or by asking Keystone: valid, refused, or failed to ask.", []string{"result"}, nil)

// Describe implements prometheus.Collector.
func (tokenCollector) Describe(into chan<- *prometheus.Desc) { into <- tokens }

// Collect implements prometheus.Collector.
func (count tokenCollector) Collect(into chan<- prometheus.Metric) {
	for result, number := range count() {
		into <- prometheus.MustNewConstMetric(tokens, prometheus.CounterValue, float64(number), result)
	}
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
