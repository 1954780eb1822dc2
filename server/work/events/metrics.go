package events

import "github.com/prometheus/client_golang/prometheus"

// newMetrics makes the collectors. All series begin at 0.
func (h *Hub) newMetrics() {
	h.sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "berth_events_sent_total", Help: "Number of events sent to watchers.",
	})
	h.behind = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "berth_events_behind", Help: "Number of streams whose next event the server reads from the database.",
	})
	h.ends = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_events_ends_total", Help: "Number of streams that have ended, by the code of the last line; none: without a last line.",
	}, []string{"code"})
	for _, code := range endings {
		h.ends.WithLabelValues(code)
	}
}

// Collectors returns the metrics of streams.
func (h *Hub) Collectors() []prometheus.Collector {
	return []prometheus.Collector{h.sent, h.behind, h.ends, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_events_watchers", Help: "Number of streams of events.",
	}, func() float64 { return float64(h.count.Load()) })}
}
