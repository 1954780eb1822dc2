package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
)

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
