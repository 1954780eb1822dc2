package explainlog

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/explain"
)

// When is the occasion of an explanation, the label of the metric.
type When string

// The occasions.
const (
	OnRequest  When = "request"
	Background When = "background"
	OnLookup   When = "lookup"
)

const (
	// maxExplanations is how many explanations a server computes at the same time.
	maxExplanations = 2
	// grace is how much longer than the timeout a computation may take before it is canceled.
	grace = 500 * time.Millisecond
	// maxPlaceWait bounds the wait of a request for one of these places.
	maxPlaceWait = 200 * time.Millisecond
)

// ErrBusy is the error of an explanation for which there was no place. The request gets the short form.
var ErrBusy = errors.New("the maximum number of explanations is being computed")

// Maker bounds and counts the explanations of a server. It is safe for concurrent use.
type Maker struct {
	timeout  time.Duration
	places   chan struct{}
	made     *prometheus.CounterVec
	duration prometheus.Histogram
}

// durationBuckets are in seconds.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 1.5, 2.5, 5, 10}

// NewMaker returns a maker of explanations that take at most timeout.
func NewMaker(timeout time.Duration) *Maker {
	m := &Maker{
		timeout: timeout, places: make(chan struct{}, maxExplanations),
		made: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_explanations_total", Help: "Number of computed explanations by occasion.",
		}, []string{"when"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_explanation_duration_seconds", Help: "Time to compute an explanation, in seconds.", Buckets: durationBuckets,
		}),
	}
	for _, when := range []When{OnRequest, Background, OnLookup} {
		m.made.WithLabelValues(string(when))
	}
	return m
}

// Make runs the computation of an explanation when fewer than two run, and sets its time and duration. It waits for at
// most 200 ms and then returns ErrBusy; in the background it does not wait. run returns what it has after the timeout; its
// context ends 500 ms later.
func (m *Maker) Make(
	ctx context.Context, when When, run func(context.Context) (*explain.Explanation, error),
) (made *explain.Explanation, err error) {
	took, err := m.Run(ctx, when, func(bounded context.Context) (err error) {
		made, err = run(bounded)
		return err
	})
	if err != nil {
		return nil, err
	}
	if made.MadeAt == nil {
		at, ms := time.Now().UTC(), took.Milliseconds()
		made.MadeAt, made.TookMS = &at, &ms
	}
	return made, nil
}

// Run is Make for an explanation of another type. It returns the duration of the computation.
func (m *Maker) Run(ctx context.Context, when When, run func(context.Context) error) (took time.Duration, err error) {
	if !m.acquire(ctx, when) {
		return 0, ErrBusy
	}
	defer func() { <-m.places }()
	start := time.Now()
	bounded, cancel := context.WithTimeout(ctx, m.timeout+grace)
	defer cancel()
	if err := run(bounded); err != nil {
		return 0, err
	}
	took = time.Since(start)
	m.made.WithLabelValues(string(when)).Inc()
	m.duration.Observe(took.Seconds())
	return took, nil
}

func (m *Maker) acquire(ctx context.Context, when When) bool {
	select {
	case m.places <- struct{}{}:
		return true
	default:
	}
	if when == Background {
		return false
	}
	wait := time.NewTimer(maxPlaceWait)
	defer wait.Stop()
	select {
	case m.places <- struct{}{}:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// shortSummaries are the summaries of the short form.
var shortSummaries = map[explain.Reason]string{
	explain.InTree:    "in_tree names no resource provider.",
	explain.Root:      "No root provider has all that is asked of roots.",
	explain.Amount:    "No provider has room for one of the amounts.",
	explain.Trait:     "No provider has one of the required traits.",
	explain.Aggregate: "No provider is in one of the wanted aggregates.",
	explain.NoTree:    "No tree has a provider for every group.",
	explain.Together:  "Trees have a provider for every group, but not for all at once.",
}

// Reasons are the reasons of empty results, in the order of the contract.
var Reasons = []explain.Reason{
	explain.InTree, explain.Root, explain.Amount, explain.Trait, explain.Aggregate, explain.NoTree, explain.Together,
}

// ShortForm returns the explanation that needs no computation.
func ShortForm(kind string, reason explain.Reason) *explain.Explanation {
	return &explain.Explanation{Kind: kind, Reason: reason, Summary: shortSummaries[reason], Incomplete: true}
}

// dropped counts the requests that were not recorded, by cause.
type dropped struct {
	all                   *prometheus.CounterVec
	queue, rate, database prometheus.Counter
}

func newDropped() dropped {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_explanations_dropped_total",
		Help: "Number of empty results that were not recorded, by cause: the queue was full, the rate was exceeded, or the database failed.",
	}, []string{"why"})
	return dropped{all, all.WithLabelValues("queue"), all.WithLabelValues("rate"), all.WithLabelValues("database")}
}

// Collectors returns the metrics of explanations.
func (l *Log) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.maker.made, l.maker.duration, l.dropped.all}
}
