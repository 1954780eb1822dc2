package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/store"
)

func postgresMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("berth_postgres_"+name, help, labels, nil)
}

var (
	postgresInfo        = postgresMetric("info", "The version of PostgreSQL; always 1.", "version")
	postgresVersion     = postgresMetric("version_number", "The version as a number: 170006 is 17.6.")
	postgresRecovery    = postgresMetric("in_recovery", "Whether it is a standby, which takes no writes.")
	postgresConnections = postgresMetric("connections", "Connections to the whole server, everybody's.")
	postgresMost        = postgresMetric("connections_max", "Connections that ordinary roles may have together.")
	postgresSize        = postgresMetric("database_size_bytes", "Size of the database.")
	postgresDeadlocks   = postgresMetric("deadlocks_total", "Deadlocks in the database.")
	postgresCommits     = postgresMetric("transactions_total", "Transactions in the database, by how they ended: commit or rollback.", "end")
	postgresBlocks      = postgresMetric("blocks_total", "Blocks wanted, by where they were: in memory (hit) or not (read).", "from")
	postgresOldest      = postgresMetric("oldest_transaction_seconds", "Age of the oldest transaction in the database that may be seen.")
	postgresIDs         = postgresMetric("transaction_id_age", "Transactions since the oldest row was frozen; at 2 billion PostgreSQL stops.")
	postgresStandbys    = postgresMetric("standbys", "Standbys that are connected.")
	postgresLag         = postgresMetric("replication_lag_seconds", "How long the slowest standby is behind; on a standby: this one.")
	postgresLagBytes    = postgresMetric("replication_lag_bytes", "How far the slowest standby is behind; on a standby: this one.")
)

func healthMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{
		postgresInfo, postgresVersion, postgresRecovery, postgresConnections, postgresMost, postgresSize, postgresDeadlocks,
		postgresCommits, postgresBlocks, postgresOldest, postgresIDs, postgresStandbys, postgresLag, postgresLagBytes,
	}
}

func tellHealth(found store.Health, into chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		if value >= 0 { // else it may not be seen
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
	classProviders = classMetric("providers", "Providers that have inventory of a resource class.")
	classTotal     = classMetric("total", "Sum of the totals, as the inventories say.")
	classReserved  = classMetric("reserved", "Sum of what the inventories hold back.")
	classCapacity  = classMetric("capacity", "What can be allocated: (total - reserved) * allocation_ratio of each, summed up.")
	classUsed      = classMetric("used", "Sum of the allocations.")
	classOverused  = classMetric("overused_providers", "Providers on which more is allocated than they have, since they were made smaller.")
	classesUntold  = prometheus.NewDesc("berth_resource_classes_untold",
		"1 if there are more classes than are told of ("+strconv.Itoa(mostClasses)+").", nil, nil)
)

func capacityMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{classProviders, classTotal, classReserved, classCapacity, classUsed, classOverused, classesUntold}
}

func tellCapacity(found []store.Capacity, into chan<- prometheus.Metric) {
	into <- prometheus.MustNewConstMetric(classesUntold, prometheus.GaugeValue, truth(len(found) > mostClasses))
	for _, class := range found[:min(len(found), mostClasses)] {
		gauge := func(of *prometheus.Desc, value float64) {
			into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, class.Name)
		}
		gauge(classProviders, float64(class.Providers))
		gauge(classTotal, class.Total)
		gauge(classReserved, class.Reserved)
		gauge(classCapacity, class.Capacity)
		gauge(classUsed, class.Used)
		gauge(classOverused, float64(class.Overused))
	}
}

var (
	nodesByState = prometheus.NewDesc("berth_baremetal_nodes", "Bare metal nodes, by provision state.", []string{"state"}, nil)
	nodesResting = prometheus.NewDesc("berth_baremetal_nodes_in_maintenance", "Bare metal nodes in maintenance.", nil, nil)
	nodesAsked   = prometheus.NewDesc("berth_baremetal_allocations", "Allocations of bare metal nodes, by state.", []string{"state"}, nil)
	conductors   = prometheus.NewDesc("berth_baremetal_conductors",
		"Conductors: alive, silent (taken for dead), or offline (signed off).", []string{"state"}, nil)
)

func baremetalMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{nodesByState, nodesResting, nodesAsked, conductors}
}

func tellBaremetal(found []store.BaremetalState, into chan<- prometheus.Metric) {
	for _, counted := range found {
		value := float64(counted.Number)
		switch counted.Kind {
		case "node":
			into <- prometheus.MustNewConstMetric(nodesByState, prometheus.GaugeValue, value, counted.State)
		case "maintenance":
			into <- prometheus.MustNewConstMetric(nodesResting, prometheus.GaugeValue, value)
		case "allocation":
			into <- prometheus.MustNewConstMetric(nodesAsked, prometheus.GaugeValue, value, counted.State)
		case "conductor":
			into <- prometheus.MustNewConstMetric(conductors, prometheus.GaugeValue, value, counted.State)
		}
	}
}
