package server

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/route"
)

// Limits say how much the service takes on at once. They hold for requests to the
// APIs only: open paths, the documents of versions among them, are always served, since
// those who watch a service want to see it most when it has too much to do.
type Limits struct {
	// Requests is how many run at once; 0: as many as come.
	Requests int64
	// Queue is how many more may wait for their turn.
	Queue int64
	// Wait is how long one of those waits, at the longest.
	Wait time.Duration
	// PerCaller is how many of one user may run and wait at once; 0: any number.
	PerCaller int
}

// limiter holds requests to the limits. It is a prometheus.Collector that tells how
// it goes.
type limiter struct {
	limits  Limits
	running *semaphore.Weighted // nil: any number
	waiting atomic.Int64

	mutex   sync.Mutex
	callers map[string]int

	refused *prometheus.CounterVec
}

// Why a request was refused, as a label of the metric.
const (
	refusedQueue  = "queue_full"
	refusedWait   = "waited_too_long"
	refusedCaller = "caller"
)

func newLimiter(limits Limits) *limiter {
	l := &limiter{limits: limits, callers: map[string]int{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_http_requests_refused_total",
		Help: "Requests that were not begun: too many of one caller (429), the queue was full, or the turn did not come in time (503).",
	}, []string{"reason"})}
	for _, reason := range []string{refusedQueue, refusedWait, refusedCaller} {
		l.refused.WithLabelValues(reason)
	}
	if limits.Requests > 0 {
		l.running = semaphore.NewWeighted(limits.Requests)
	}
	return l
}

// run runs an operation of a table as soon as there is room for it. It comes after
// the questions who calls and for which version, which ask no database.
func (l *limiter) run(table *route.Table, w http.ResponseWriter, r *http.Request) error {
	if auth.IsOpen(r.URL.Path) || r.URL.Path == baremetalRoot {
		return table.Serve(w, r)
	}
	readAhead(r)
	leave, err := l.enter(r.Context(), auth.From(r.Context()))
	if err != nil {
		return err
	}
	defer leave()
	return table.Serve(w, r)
}

// smallBody is the size up to which a body is read before the request's turn: so much
// may a connection cost that has none yet.
const smallBody = 64 << 10

// readAhead reads the body of a request that says it is a small one, so that a client
// which sends slowly keeps nobody from running. What goes wrong is told to whoever
// reads the body. Larger ones are read in their turn, of which there are so many.
func readAhead(r *http.Request) {
	if r.ContentLength <= 0 || r.ContentLength > smallBody {
		return
	}
	body := make([]byte, r.ContentLength)
	n, err := io.ReadFull(r.Body, body)
	if err == nil {
		err = io.EOF
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body[:n]), ending{err}), r.Body}
}

// ending is how the reading of a body ended.
type ending struct{ err error }

// Read implements io.Reader.
func (e ending) Read([]byte) (int, error) { return 0, e.err }

// enter waits for a turn. Who gets one has to leave.
func (l *limiter) enter(ctx context.Context, caller auth.Caller) (leave func(), err error) {
	if !l.count(caller.UserID) {
		return nil, l.refuse(refusedCaller, fault.TooMany,
			"This user has %d requests running or waiting, which is the setting max-requests-per-caller.", l.limits.PerCaller)
	}
	if err := l.turn(ctx); err != nil {
		l.discount(caller.UserID)
		return nil, err
	}
	return func() {
		if l.running != nil {
			l.running.Release(1)
		}
		l.discount(caller.UserID)
	}, nil
}

// turn is first come, first served.
func (l *limiter) turn(ctx context.Context) error {
	if l.running == nil || l.running.TryAcquire(1) {
		return nil
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.limits.Queue {
		return l.refuse(refusedQueue, fault.Unavailable,
			"The server runs %d requests, and %d wait; it takes no more.", l.limits.Requests, l.limits.Queue)
	}
	patience, cancel := context.WithTimeout(ctx, l.limits.Wait)
	defer cancel()
	if l.running.Acquire(patience, 1) == nil {
		return nil
	}
	if err := ctx.Err(); err != nil { // the client left, or its time is up
		return err
	}
	return l.refuse(refusedWait, fault.Unavailable,
		"The server runs %d requests, and none ended within %s.", l.limits.Requests, l.limits.Wait)
}

// refuse spreads those who are sent away over a few seconds: told the same time,
// they would all come back at once.
func (l *limiter) refuse(reason string, kind fault.Kind, format string, args ...any) error {
	l.refused.WithLabelValues(reason).Inc()
	refused := fault.New(kind, format, args...)
	refused.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return refused
}

// count says whether a caller may have one more request. Nobody in particular, who
// reads which versions there are, may have any number.
func (l *limiter) count(user string) bool {
	if l.limits.PerCaller == 0 || user == "" {
		return true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.callers[user] >= l.limits.PerCaller {
		return false
	}
	l.callers[user]++
	return true
}

func (l *limiter) discount(user string) {
	if l.limits.PerCaller == 0 || user == "" {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.callers[user]--; l.callers[user] == 0 {
		delete(l.callers, user)
	}
}

var (
	limitOfRequests = prometheus.NewDesc("berth_http_requests_limit",
		"The most requests to the APIs that run at once; 0 if any number does.", nil, nil)
	requestsWaiting = prometheus.NewDesc("berth_http_requests_waiting",
		"Requests that wait for their turn, since as many run as may.", nil, nil)
)

// Describe implements prometheus.Collector.
func (l *limiter) Describe(into chan<- *prometheus.Desc) {
	l.refused.Describe(into)
	into <- limitOfRequests
	into <- requestsWaiting
}

// Collect implements prometheus.Collector.
func (l *limiter) Collect(into chan<- prometheus.Metric) {
	l.refused.Collect(into)
	into <- prometheus.MustNewConstMetric(limitOfRequests, prometheus.GaugeValue, float64(l.limits.Requests))
	into <- prometheus.MustNewConstMetric(requestsWaiting, prometheus.GaugeValue, float64(l.waiting.Load()))
}
