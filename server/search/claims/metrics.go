package claims

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
)

// The outcomes of claims, the label of the metric. Claims with another error are not counted.
const (
	placed      = "placed"
	nothingFits = "nothing_fits"
	contended   = "contended"
	undecided   = "undecided"
)

type metrics struct {
	claims               *prometheus.CounterVec
	searches, candidates prometheus.Histogram
}

func newMetrics() metrics {
	m := metrics{
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_claims_total", Help: "Number of claims that search a place, by outcome.",
		}, []string{"outcome"}),
		searches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_claim_searches", Help: "Number of searches of a claim.", Buckets: []float64{0, 1, 2, 3, 4, 8, 16},
		}),
		candidates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_claim_candidates", Help: "Number of candidates that a claim locked.",
			Buckets: []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
		}),
	}
	for _, outcome := range []string{placed, nothingFits, contended, undecided} {
		m.claims.WithLabelValues(outcome)
	}
	return m
}

// observe counts a claim.
func (m *metrics) observe(result *Result, err error) {
	locked, outcome := result.Effort.Full+result.Effort.Stale, placed
	refused := store.AsRuleViolation(err)
	switch {
	case err == nil:
		locked++
	case errors.Is(err, ErrNothingFits), refused != nil && refused.Rule == store.ClaimNoneLeft:
		outcome = nothingFits
	case errors.Is(err, ErrContended), refused != nil && refused.Rule == store.ClaimContended:
		outcome = contended
	case errors.Is(err, ErrUndecided):
		outcome = undecided
	default:
		return
	}
	m.claims.WithLabelValues(outcome).Inc()
	m.searches.Observe(float64(result.Searches))
	m.candidates.Observe(float64(locked))
}

// Collectors returns the metrics of claims.
func (c *Claims) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.metrics.claims, c.metrics.searches, c.metrics.candidates}
}
