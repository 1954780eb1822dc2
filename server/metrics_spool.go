package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/wire/spool"
)

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
