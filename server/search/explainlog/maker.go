package explainlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/search/explain"
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
	// maxSearch bounds a search before an explanation. The explanation bounds itself.
	maxSearch = 10 * time.Second
	// maxPlaceWait bounds the wait of a request for one of these places.
	maxPlaceWait = 200 * time.Millisecond
)

// ErrBusy is the error of an explanation for which there was no place. The request gets the short form.
var ErrBusy = errors.New("the maximum number of explanations is being computed")

// Maker bounds and counts the explanations of a server. It is safe for concurrent use.
type Maker struct {
	timeout      time.Duration
	places       chan struct{}
	explanations *prometheus.CounterVec
	duration     prometheus.Histogram
}

// durationBuckets are in seconds.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 1.5, 2.5, 5, 10}

// NewMaker returns a maker of explanations that take at most timeout.
func NewMaker(timeout time.Duration) *Maker {
	m := &Maker{
		timeout: cmp.Or(timeout, DefaultTimeout), places: make(chan struct{}, maxExplanations),
		explanations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_explanations_total", Help: "Number of computed explanations by occasion.",
		}, []string{"when"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_explanation_duration_seconds", Help: "Time to compute an explanation, in seconds.", Buckets: durationBuckets,
		}),
	}
	for _, when := range []When{OnRequest, Background, OnLookup} {
		m.explanations.WithLabelValues(string(when))
	}
	return m
}

// Make runs the computation of an explanation, perhaps after a search, when fewer than two run, and sets its time and
// duration. It returns ErrBusy without a place, see Enter.
func (m *Maker) Make(
	ctx context.Context, when When, run func(context.Context) (*explain.Explanation, error),
) (explanation *explain.Explanation, err error) {
	took, err := m.run(ctx, when, maxSearch+m.timeout, func(ctx context.Context) (err error) {
		explanation, err = run(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if explanation.MadeAt == nil {
		at, ms := time.Now().UTC(), took.Milliseconds()
		explanation.MadeAt, explanation.TookMS = &at, &ms
	}
	return explanation, nil
}

// Run is Make for an explanation of another type, which needs no search. It returns the duration of the computation.
func (m *Maker) Run(ctx context.Context, when When, run func(context.Context) error) (took time.Duration, err error) {
	return m.run(ctx, when, m.timeout, run)
}

func (m *Maker) run(ctx context.Context, when When, limit time.Duration, run func(context.Context) error) (took time.Duration, err error) {
	leave, entered := m.Enter(ctx, when)
	if !entered {
		return 0, ErrBusy
	}
	defer leave()
	start := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := Guard(func() error { return run(bounded) }); err != nil {
		return 0, err
	}
	took = time.Since(start)
	m.Count(when, took)
	return took, nil
}

// Guard computes an explanation. It returns an error for a panic: an explanation makes no request fail, and none in the
// background ends the process.
func Guard(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return run()
}

// Count counts an explanation.
func (m *Maker) Count(when When, took time.Duration) {
	m.explanations.WithLabelValues(string(when)).Inc()
	m.duration.Observe(took.Seconds())
}

// Enter reports whether fewer than two explanations are computed. leave must be called once, after the computation. Enter
// waits for at most 200 ms, in the background not at all.
func (m *Maker) Enter(ctx context.Context, when When) (leave func(), entered bool) {
	leave, entered = m.TryEnter()
	if entered || when == Background {
		return leave, entered
	}
	wait := time.NewTimer(maxPlaceWait)
	defer wait.Stop()
	select {
	case m.places <- struct{}{}:
		return leave, true
	case <-wait.C:
	case <-ctx.Done():
	}
	return leave, false
}

// TryEnter is Enter without a wait.
func (m *Maker) TryEnter() (leave func(), entered bool) {
	leave = func() { <-m.places }
	select {
	case m.places <- struct{}{}:
		return leave, true
	default:
		return leave, false
	}
}

// Reasons are the reasons of empty results, in the order of the contract.
var Reasons = []explain.Reason{
	explain.InTree, explain.Root, explain.Amount, explain.Trait, explain.Aggregate, explain.NoTree, explain.Together,
}

// ClaimReasons are the reasons of claims that are a conflict.
var ClaimReasons = []explain.Reason{explain.NoInventory, explain.Units, explain.Capacity}

// dropped counts the requests that were not recorded, by cause.
type dropped struct {
	all                   *prometheus.CounterVec
	queue, rate, database prometheus.Counter
}

func newDropped() dropped {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_explanations_dropped_total",
		Help: "Number of empty results and claims that were not recorded, by cause: the queue was full, the rate was exceeded, or the database failed.",
	}, []string{"why"})
	return dropped{all, all.WithLabelValues("queue"), all.WithLabelValues("rate"), all.WithLabelValues("database")}
}

// Collectors returns the metrics of explanations.
func (l *Log) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.maker.explanations, l.maker.duration, l.dropped.all}
}
