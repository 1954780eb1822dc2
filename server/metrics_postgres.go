package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
)

func postgresMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("berth_postgres_"+name, help, labels, nil)
}

var (
	postgresInfo        = postgresMetric("info", "Version of PostgreSQL as a label; always 1.", "version")
	postgresVersion     = postgresMetric("server_version_num", "PostgreSQL version as a number; 170006 is 17.6.")
	postgresRecovery    = postgresMetric("in_recovery", "1 if the server is a standby, which accepts no writes; otherwise 0.")
	postgresConnections = postgresMetric("connections", "Number of connections to the PostgreSQL server, of all clients.")
	postgresMost        = postgresMetric("connections_max", "Maximum number of connections of all ordinary roles.")
	postgresSize        = postgresMetric("database_size_bytes", "Size of the database, in bytes.")
	postgresDeadlocks   = postgresMetric("deadlocks_total", "Number of deadlocks in the database.")
	postgresCommits     = postgresMetric("transactions_total", "Number of transactions in the database by outcome (commit, rollback).", "outcome")
	postgresBlocks      = postgresMetric("blocks_total", "Number of block requests by source: shared buffers (hit) or the operating system (read).", "source")
	postgresOldest      = postgresMetric("oldest_transaction_seconds", "Age of the oldest visible transaction in the database, in seconds.")
	postgresIDs         = postgresMetric("transaction_id_age", "Number of transactions since the oldest row was frozen; PostgreSQL stops at 2 billion.")
	postgresStandbys    = postgresMetric("connected_standbys", "Number of connected standbys.")
	postgresLag         = postgresMetric("replication_lag_seconds", "Replication lag of the slowest standby, in seconds; on a standby its own.")
	postgresLagBytes    = postgresMetric("replication_lag_bytes", "Replication lag of the slowest standby, in bytes; on a standby its own.")
)

func healthMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{
		postgresInfo, postgresVersion, postgresRecovery, postgresConnections, postgresMost, postgresSize, postgresDeadlocks,
		postgresCommits, postgresBlocks, postgresOldest, postgresIDs, postgresStandbys, postgresLag, postgresLagBytes,
	}
}

func collectHealth(found store.Health, into chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		if value >= 0 { // negative: the role may not read it
			into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
		}
	}
	counter := func(of *prometheus.Desc, value int64, labels ...string) {
		into <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, float64(value), labels...)
	}
	gauge(postgresInfo, 1, found.Version)
	gauge(postgresVersion, float64(found.VersionNumber))
	gauge(postgresRecovery, truth(found.InRecovery))
	gauge(postgresConnections, float64(found.Connections))
	gauge(postgresMost, float64(found.MaxConnections))
	gauge(postgresSize, float64(found.Size))
	counter(postgresDeadlocks, found.Deadlocks)
	counter(postgresCommits, found.Commits, "commit")
	counter(postgresCommits, found.Rollbacks, "rollback")
	counter(postgresBlocks, found.BlocksHit, "hit")
	counter(postgresBlocks, found.BlocksRead, "read")
	gauge(postgresOldest, found.OldestTransaction)
	gauge(postgresIDs, float64(found.TransactionIDAge))
	gauge(postgresStandbys, float64(found.Standbys))
	gauge(postgresLag, found.LagSeconds)
	gauge(postgresLagBytes, found.LagBytes)
}

func classMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("berth_resource_"+name, help, []string{"resource_class"}, nil)
}

var (
	classProviders    = classMetric("providers", "Number of providers with inventory of a resource class.")
	classTotal        = classMetric("inventory", "Sum of the totals of the inventories.")
	classReserved     = classMetric("reserved", "Sum of the reserved amounts of the inventories.")
	classCapacity     = classMetric("capacity", "Sum of the capacities of the inventories, (total - reserved) * allocation_ratio.")
	classUsed         = classMetric("used", "Sum of the allocations.")
	classOverCapacity = classMetric("providers_over_capacity", "Number of providers whose allocations exceed their capacity.")
	classesTruncated  = prometheus.NewDesc("berth_resource_classes_truncated",
		"1 if more than "+strconv.Itoa(maxClasses)+" resource classes exist, so that the metrics omit some; otherwise 0.", nil, nil)
)

func capacityMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{classProviders, classTotal, classReserved, classCapacity, classUsed, classOverCapacity, classesTruncated}
}

func collectCapacity(found []store.Capacity, into chan<- prometheus.Metric) {
	into <- prometheus.MustNewConstMetric(classesTruncated, prometheus.GaugeValue, truth(len(found) > maxClasses))
	for _, class := range found[:min(len(found), maxClasses)] {
		gauge := func(of *prometheus.Desc, value float64) {
			into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, class.Name)
		}
		gauge(classProviders, float64(class.Providers))
		gauge(classTotal, class.Total)
		gauge(classReserved, class.Reserved)
		gauge(classCapacity, class.Capacity)
		gauge(classUsed, class.Used)
		gauge(classOverCapacity, float64(class.OverCapacity))
	}
}

var (
	nodesByState       = prometheus.NewDesc("berth_baremetal_nodes", "Number of bare metal nodes by provision state.", []string{"state"}, nil)
	nodesInMaintenance = prometheus.NewDesc("berth_baremetal_nodes_in_maintenance", "Number of bare metal nodes in maintenance.", nil, nil)
	nodeAllocations    = prometheus.NewDesc("berth_baremetal_allocations", "Number of node allocations by state.", []string{"state"}, nil)
	conductors         = prometheus.NewDesc("berth_baremetal_conductors",
		"Number of conductors by state: alive, stale (heartbeat missing), or offline (unregistered).", []string{"state"}, nil)
)

func baremetalMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{nodesByState, nodesInMaintenance, nodeAllocations, conductors}
}

func collectBaremetal(found []store.BaremetalState, into chan<- prometheus.Metric) {
	for _, counted := range found {
		value := float64(counted.Number)
		switch counted.Kind {
		case "node":
			into <- prometheus.MustNewConstMetric(nodesByState, prometheus.GaugeValue, value, counted.State)
		case "maintenance":
			into <- prometheus.MustNewConstMetric(nodesInMaintenance, prometheus.GaugeValue, value)
		case "allocation":
			into <- prometheus.MustNewConstMetric(nodeAllocations, prometheus.GaugeValue, value, counted.State)
		case "conductor":
			into <- prometheus.MustNewConstMetric(conductors, prometheus.GaugeValue, value, counted.State)
		}
	}
}
