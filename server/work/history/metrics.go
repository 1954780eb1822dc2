package history

import (
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
)

// metrics are what the last passes have seen.
type metrics struct {
	newest, waiting, bytes *atomic.Int64
	lag                    *atomic.Uint64 // bits of a float64
	seconds                prometheus.Histogram
}

func newMetrics() metrics {
	return metrics{
		newest: new(atomic.Int64), waiting: new(atomic.Int64), bytes: new(atomic.Int64), lag: new(atomic.Uint64),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_history_step_seconds", Help: "Time of a step of this server, which puts committed writes in order, in seconds.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5},
		}),
	}
}

// show shows what a pass has seen.
func (m *metrics) show(progress *store.HistoryProgress) {
	m.newest.Store(progress.Newest)
	m.waiting.Store(progress.Waiting)
	m.lag.Store(math.Float64bits(progress.LagSeconds))
}

// Collectors returns the metrics.
func (s *Stepper) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		s.metrics.seconds,
		gauge("berth_history_index", "Index of the newest event of the history.", func() float64 { return float64(s.metrics.newest.Load()) }),
		gauge("berth_history_waiting", "Number of notes that were not in order, at the beginning of the last pass (every second).",
			func() float64 { return float64(s.metrics.waiting.Load()) }),
		gauge("berth_history_lag_seconds", "Age of the oldest note that was not in order, at the beginning of the last pass, in seconds; 0: there was none.",
			func() float64 { return math.Float64frombits(s.metrics.lag.Load()) }),
		gauge("berth_history_bytes", "Size of the history on disk, at the last look (once a minute while changes are recorded).",
			func() float64 { return float64(s.metrics.bytes.Load()) }),
	}
}
