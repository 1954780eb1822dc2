package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/postgres"
)

// statementCollector exports counters of failed, slow and retried statements.
type statementCollector struct{ data *postgres.Pool }

var (
	retries = prometheus.NewDesc("berth_sql_write_retries_total",
		"Number of writes retried after a deadlock.", nil, nil)
	slowQueries = prometheus.NewDesc("berth_sql_slow_queries_total",
		"Number of statements slower than --slow-query-threshold, by query.", []string{"query"}, nil)
	diskFull = prometheus.NewDesc("berth_sql_disk_full_total",
		"Number of statements that failed because the disk of the database is full.", nil, nil)
	lockTimeouts = prometheus.NewDesc("berth_sql_lock_timeouts_total",
		"Number of writes that PostgreSQL canceled because they waited too long for a lock.", nil, nil)
	dryRuns = prometheus.NewDesc("berth_dry_runs_total",
		"Number of writes that the server executed as dry runs and rolled back.", nil, nil)
	replicaReads = prometheus.NewDesc("berth_sql_replica_reads_total",
		"Number of reads that may use a replica, by outcome: served, or the reason for using the primary.", []string{"outcome"}, nil)
)

// Describe implements prometheus.Collector.
func (statementCollector) Describe(into chan<- *prometheus.Desc) {
	into <- retries
	into <- slowQueries
	into <- diskFull
	into <- replicaReads
	into <- lockTimeouts
	into <- dryRuns
}

// Collect implements prometheus.Collector.
func (c statementCollector) Collect(into chan<- prometheus.Metric) {
	into <- prometheus.MustNewConstMetric(retries, prometheus.CounterValue, float64(c.data.Retries()))
	into <- prometheus.MustNewConstMetric(diskFull, prometheus.CounterValue, float64(c.data.DiskFull()))
	into <- prometheus.MustNewConstMetric(lockTimeouts, prometheus.CounterValue, float64(c.data.LockTimeouts()))
	into <- prometheus.MustNewConstMetric(dryRuns, prometheus.CounterValue, float64(c.data.DryRuns()))
	for query, count := range c.data.SlowQueries() {
		into <- prometheus.MustNewConstMetric(slowQueries, prometheus.CounterValue, float64(count), query)
	}
	reads := c.data.ReplicaReads()
	for outcome, count := range map[string]int64{
		"served": reads.Served, "replica_lagging": reads.Lagging, "replica_unreachable": reads.Unreachable,
		"failed": reads.Failed, "primary_position_unknown": reads.PositionUnknown,
	} {
		into <- prometheus.MustNewConstMetric(replicaReads, prometheus.CounterValue, float64(count), outcome)
	}
}

// tokenCollector exports the results of token validations.
type tokenCollector func() map[string]int64

var tokens = prometheus.NewDesc("berth_keystone_token_validations_total",
	"Number of token validations by result: from the cache (cache_hit, cache_hit_invalid), by Keystone (valid, invalid, error), or without it (malformed, circuit_open, queue_full, timed_out).", []string{"result"}, nil)

// Describe implements prometheus.Collector.
func (tokenCollector) Describe(into chan<- *prometheus.Desc) { into <- tokens }

// Collect implements prometheus.Collector.
func (count tokenCollector) Collect(into chan<- prometheus.Metric) {
	for result, number := range count() {
		into <- prometheus.MustNewConstMetric(tokens, prometheus.CounterValue, float64(number), result)
	}
}

// validationCollector exports the current token validations.
type validationCollector func() map[string]int64

var tokenValidations = prometheus.NewDesc("berth_keystone_validations",
	"Number of token validations by state: running, or queued requests.", []string{"state"}, nil)

// Describe implements prometheus.Collector.
func (validationCollector) Describe(into chan<- *prometheus.Desc) { into <- tokenValidations }

// Collect implements prometheus.Collector.
func (count validationCollector) Collect(into chan<- prometheus.Metric) {
	for state, number := range count() {
		into <- prometheus.MustNewConstMetric(tokenValidations, prometheus.GaugeValue, float64(number), state)
	}
}

// poolCollector exports the state of the connection pool.
type poolCollector struct{ data *postgres.Pool }

func poolMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("berth_db_pool_"+name, help, labels, nil)
}

var (
	poolOpen     = poolMetric("connections", "Number of pool connections by state (idle, in_use, connecting).", "state")
	poolMax      = poolMetric("connections_max", "Maximum number of pool connections.")
	poolAcquired = poolMetric("acquires_total", "Number of connections acquired from the pool.")
	poolWaited   = poolMetric("acquire_waits_total", "Number of acquires that waited because no connection was idle.")
	poolWaiting  = poolMetric("acquire_wait_seconds_total", "Total time that requests waited for a connection, in seconds.")
	poolOldest   = poolMetric("oldest_wait_seconds", "Age of the oldest pending acquire, in seconds; 0 if no request waits.")
	poolGivenUp  = poolMetric("acquires_canceled_total", "Number of acquires canceled before a connection was free.")

	writesMax      = poolMetric("writes_max", "Maximum number of connections that serve writes at once; 0 without a limit.")
	writesWaiting  = poolMetric("writes_waiting", "Number of writes that wait until fewer connections serve writes.")
	writesWaited   = poolMetric("writes_waited_total", "Number of writes that waited until fewer connections served writes.")
	writesRejected = poolMetric("writes_rejected_total", "Number of writes rejected because that wait timed out.")
)

// Describe implements prometheus.Collector.
func (poolCollector) Describe(into chan<- *prometheus.Desc) {
	for _, described := range []*prometheus.Desc{
		poolOpen, poolMax, poolAcquired, poolWaited, poolWaiting, poolOldest, poolGivenUp,
		writesMax, writesWaiting, writesWaited, writesRejected,
	} {
		into <- described
	}
}

// Collect implements prometheus.Collector. All values of the pool are from one moment.
func (c poolCollector) Collect(into chan<- prometheus.Metric) {
	stat := c.data.Stat()
	gauge := func(of *prometheus.Desc, value int32, labels ...string) {
		into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, float64(value), labels...)
	}
	counter := func(of *prometheus.Desc, value float64) {
		into <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, value)
	}
	gauge(poolOpen, stat.IdleConns(), "idle")
	gauge(poolOpen, stat.AcquiredConns(), "in_use")
	gauge(poolOpen, stat.ConstructingConns(), "connecting")
	gauge(poolMax, stat.MaxConns())
	into <- prometheus.MustNewConstMetric(poolOldest, prometheus.GaugeValue, c.data.OldestWait().Seconds())
	counter(poolAcquired, float64(stat.AcquireCount()))
	counter(poolWaited, float64(stat.EmptyAcquireCount()))
	counter(poolWaiting, stat.EmptyAcquireWaitTime().Seconds())
	counter(poolGivenUp, float64(stat.CanceledAcquireCount()))
	writes := c.data.WriteStat()
	gauge(writesMax, int32(writes.Max))
	gauge(writesWaiting, int32(writes.Waiting))
	counter(writesWaited, float64(writes.Waited))
	counter(writesRejected, float64(writes.Rejected))
}
