package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/api/route"
)

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
