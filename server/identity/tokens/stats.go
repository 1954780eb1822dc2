package tokens

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// stats counts requests by the result of their authentication.
type stats struct {
	valid, missing, malformed, unknown, expired atomic.Int64
	// outdated reports that the file could not be loaded when it was last checked, so that the tokens of an
	// earlier state are current.
	outdated atomic.Bool
}

var (
	checks = prometheus.NewDesc("berth_tokens_checks_total",
		"Number of requests by the result of the check of their token: valid, missing, malformed, unknown, or expired.", []string{"result"}, nil)
	loaded = prometheus.NewDesc("berth_tokens_file_current",
		"Whether the tokens are those of the tokens file: 0 if the file could not be loaded, so that previous tokens apply.", nil, nil)
	number = prometheus.NewDesc("berth_tokens_file_tokens",
		"Number of tokens in the tokens file by state: valid or expired.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (a *Authenticator) Describe(into chan<- *prometheus.Desc) {
	into <- checks
	into <- loaded
	into <- number
}

// Collect implements prometheus.Collector.
func (a *Authenticator) Collect(into chan<- prometheus.Metric) {
	for result, count := range map[string]*atomic.Int64{
		"valid": &a.stats.valid, "missing": &a.stats.missing, "malformed": &a.stats.malformed,
		"unknown": &a.stats.unknown, "expired": &a.stats.expired,
	} {
		into <- prometheus.MustNewConstMetric(checks, prometheus.CounterValue, float64(count.Load()), result)
	}
	current := 1.0
	if a.stats.outdated.Load() {
		current = 0
	}
	into <- prometheus.MustNewConstMetric(loaded, prometheus.GaugeValue, current)
	expired, now := 0, a.now()
	tokens := *a.current.Load()
	for _, entry := range tokens {
		if entry.IsExpired(now) {
			expired++
		}
	}
	into <- prometheus.MustNewConstMetric(number, prometheus.GaugeValue, float64(len(tokens)-expired), "valid")
	into <- prometheus.MustNewConstMetric(number, prometheus.GaugeValue, float64(expired), "expired")
}
