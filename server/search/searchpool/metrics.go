package searchpool

import "github.com/prometheus/client_golang/prometheus"

var (
	runningMax = prometheus.NewDesc("berth_searches_running_max", "Maximum number of searches that run at once; 0 without a limit.", nil, nil)
	running    = prometheus.NewDesc("berth_searches_running", "Number of running searches.", nil, nil)
	long       = prometheus.NewDesc("berth_searches_running_long", "Number of running long searches.", nil, nil)
	queued     = prometheus.NewDesc("berth_searches_queued", "Number of searches that wait for their turn.", nil, nil)
	oldestWait = prometheus.NewDesc("berth_searches_oldest_wait_seconds", "Time that the oldest waiting search has waited, in seconds.", nil, nil)
)

// Describe implements prometheus.Collector.
func (p *Pool) Describe(into chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{runningMax, running, long, queued, oldestWait} {
		into <- each
	}
	p.waited.Describe(into)
}

// Collect implements prometheus.Collector.
func (p *Pool) Collect(into chan<- prometheus.Metric) {
	state := p.State()
	into <- prometheus.MustNewConstMetric(runningMax, prometheus.GaugeValue, float64(p.options.Running))
	into <- prometheus.MustNewConstMetric(running, prometheus.GaugeValue, float64(state.Running))
	into <- prometheus.MustNewConstMetric(long, prometheus.GaugeValue, float64(state.Long))
	into <- prometheus.MustNewConstMetric(queued, prometheus.GaugeValue, float64(state.Waiting))
	into <- prometheus.MustNewConstMetric(oldestWait, prometheus.GaugeValue, state.OldestWait.Seconds())
	p.waited.Collect(into)
}
