// Package leases removes consumers whose leases have expired, and counts the others (docs/contract/berth/leases.md). Every
// server does it; the database gives each consumer to one of them.
//
// It is not for requests: package store writes leases with the allocations and renews them.
package leases

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/loglimit"
)

// Settings are the settings of berth serve.
type Settings struct {
	// Interval is the time between two looks for expired leases.
	Interval time.Duration
	// Min is the shortest lease that a request may ask for.
	Min time.Duration
}

// Options configure a Remover.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// Audit gets a line for each removed consumer; nil: there is no audit log.
	Audit *auditlog.Log
	// Interval is the time between two looks; 0: two seconds.
	Interval time.Duration
}

const (
	// stepTimeout bounds a statement that removes consumers.
	stepTimeout = 30 * time.Second
	// failureInterval is the time between two log lines about failures.
	failureInterval = time.Minute
	// stepInterval is the minimum time from one of these statements to the next, so that other writes keep most of the processors
	// while many leases have expired: 25 consumers each make 1,080 a second. Shorter statements lock providers for a shorter time.
	stepInterval = 23 * time.Millisecond
	// countInterval is the time between two counts of the leases.
	countInterval = time.Minute
)

// Remover removes consumers whose leases have expired. Its methods are safe for concurrent use.
type Remover struct {
	Options
	failures *loglimit.Limiter
	stop     sync.Once
	stopping chan struct{}
	ended    sync.WaitGroup

	leases  atomic.Int64
	overdue atomic.Int64 // nanoseconds
	counted time.Time
	expired prometheus.Counter
	delay   prometheus.Histogram
}

// New returns a remover that Start starts.
func New(options Options) *Remover {
	options.Interval = cmp.Or(options.Interval, 2*time.Second)
	return &Remover{
		Options: options, failures: loglimit.New(failureInterval), stopping: make(chan struct{}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_leases_expired_total", Help: "Number of consumers that this server has removed because their leases had expired.",
		}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_lease_removal_delay_seconds", Help: "Time from the end of a lease to the removal of its consumer, in seconds.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200},
		}),
	}
}

// Start starts the passes. The first one begins at once.
func (r *Remover) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.ended.Go(func() {
		<-r.stopping
		cancel()
	})
	r.ended.Go(func() { r.run(ctx) })
}

// Close stops the passes. It waits for the end of the statement that removes consumers, and for their lines, or for the end of the
// context.
func (r *Remover) Close(ctx context.Context) {
	r.stop.Do(func() { close(r.stopping) })
	ended := make(chan struct{})
	go func() {
		r.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// Collectors returns the metrics.
func (r *Remover) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		r.expired, r.delay,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_leases", Help: "Number of consumers with a lease, at the last count (once a minute).",
		}, func() float64 { return float64(r.leases.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_lease_overdue_seconds", Help: "Time since a server should have looked at the first lease, at the last count, in seconds; 0: at none.",
		}, func() float64 { return time.Duration(r.overdue.Load()).Seconds() }),
	}
}

func (r *Remover) run(ctx context.Context) {
	for {
		if err := errors.Join(r.pass(ctx), r.count(ctx)); err != nil && ctx.Err() == nil {
			const text = "cannot remove consumers whose leases have expired"
			if suppressed, ok := r.failures.Allow(text, time.Now()); ok {
				r.Log.Error(text, "error", err, "suppressed", suppressed)
			}
		}
		// Servers that were started together look at different times.
		pause(ctx, r.Interval-time.Duration(rand.Int64N(int64(r.Interval)/4+1))) //nolint:gosec // no secret
		if ctx.Err() != nil {
			return
		}
	}
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// pass removes all consumers whose leases have expired.
func (r *Remover) pass(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for more := true; more; {
		next := time.Now().Add(stepInterval)
		// Close does not cancel it: it may have removed consumers, whose lines would be missing.
		bounded, cancel := context.WithTimeout(store.AsProcess(context.WithoutCancel(ctx), store.ProcessLease), stepTimeout)
		removed, again, err := r.Store.LeaseExpire(bounded)
		cancel()
		if err != nil {
			return err
		}
		for i := range removed {
			r.record(&removed[i])
		}
		if more = again && ctx.Err() == nil; more {
			pause(ctx, time.Until(next))
		}
	}
	return nil
}

// count counts the leases once in countInterval.
func (r *Remover) count(ctx context.Context) error {
	if time.Since(r.counted) < countInterval {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	count, overdue, err := r.Store.LeaseCount(bounded)
	if err == nil {
		r.leases.Store(count)
		r.overdue.Store(int64(overdue))
		r.counted = time.Now()
	}
	return err
}

// prepare writes a line to an audit log that every write depends on, if a lease has expired. If the line cannot be written,
// nothing is removed in this pass.
func (r *Remover) prepare(ctx context.Context) error {
	if r.Audit == nil || !r.Audit.Required() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	due, err := r.Store.LeaseDue(bounded)
	if err != nil || !due {
		return err
	}
	return r.Audit.BeginProcess(&auditlog.Process{Process: auditlog.ProcessLease})
}

// record writes the audit line and the log line of a removed consumer, and counts it.
func (r *Remover) record(removed *store.RemovedConsumer) {
	delay := removed.RemovedAt.Sub(removed.Lease.ExpiresAt)
	r.expired.Inc()
	r.delay.Observe(delay.Seconds())
	consumerType := ""
	if removed.Type != nil {
		consumerType = *removed.Type
	}
	if r.Audit != nil {
		r.Audit.EndProcess(&auditlog.Process{
			Process: auditlog.ProcessLease, Outcome: auditlog.Success,
			ProjectID: removed.ProjectID, UserID: removed.UserID, ConsumerType: consumerType, ExpiresAt: &removed.Lease.ExpiresAt,
			Consumers: []auditlog.Generation{{UUID: removed.Consumer, Before: &removed.Generation, Removed: true}},
		})
	}
	r.Log.Info("removed a consumer whose lease has expired", "consumer", removed.Consumer, "project", removed.ProjectID,
		"type", consumerType, "allocations", allocationsText(removed), "since", removed.CreatedAt.UTC().Format(time.RFC3339),
		"expired", removed.Lease.ExpiresAt.UTC().Format(time.RFC3339Nano), "delay", delay.Round(time.Millisecond))
}
