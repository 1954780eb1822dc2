package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/spool"
)

// Limits bounds the load of the server. It applies to requests to the APIs. Other handlers have slots of their own, see
// reserve: operators need probes, metrics and the version documents most under overload.
type Limits struct {
	// Requests is the maximum number of running requests; 0: no limit.
	Requests int64
	// Queue is the maximum number of requests that wait for a slot.
	Queue int64
	// Wait is the maximum time that a request waits for a slot.
	Wait time.Duration
	// Searches is the maximum number of searches that run at once; 0: no limit. QueuedSearches is the maximum number of those
	// that wait for their turn. They hold slots of Requests, but at most half of those that running searches leave.
	Searches, QueuedSearches int
	// CombinationsPerCaller is the maximum number of combinations per second that the searches of one user try, on average;
	// 0: no limit.
	CombinationsPerCaller int64
	// PerCaller is the maximum number of running and waiting requests of one user; 0: no limit.
	PerCaller int
	// WriteStall is the maximum time without an acknowledgment by the client while a response is sent over
	// HTTP/2, where a stream can stall while its connection does not; 0: no limit. The listener bounds
	// whole connections.
	WriteStall time.Duration
	// Write is the maximum time from the start of a request to the end of its response; 0: no limit.
	Write time.Duration
	// BodyRate is the minimum average rate, in bytes per second, of a body that is read while the request
	// holds a slot; 0: no limit.
	BodyRate int64
}

// limiter enforces the limits. It is a prometheus.Collector for its state.
type limiter struct {
	limits Limits
	// running contains the slots of all requests, uploading those of requests whose body is read while
	// they hold a slot, which need one of each; nil: no limit.
	running, uploading *places
	waiting            atomic.Int64
	// versions bounds the version documents of both APIs. reserved contains it and the limiters of all other handlers.
	versions *limiter
	reserved []*limiter

	mutex   sync.Mutex
	callers map[string]int

	refused *prometheus.CounterVec

	// room buffers the responses that wait for their clients, and writing counts them. Without room, handlers write to
	// their clients.
	room    *spool.Spool
	writing prometheus.Gauge
}

// newSearches returns the pool of the searches. budget is that of one query: a caller may use it at once.
func (l Limits) newSearches(budget int64) *searchpool.Pool {
	waiting := int64(l.QueuedSearches)
	if l.Requests > 0 {
		waiting = min(waiting, max(1, (l.Requests-int64(l.Searches))/2))
	}
	return searchpool.New(searchpool.Options{
		Running: l.Searches, Waiting: int(waiting),
		Rate: l.CombinationsPerCaller, Burst: max(budget, l.CombinationsPerCaller),
	})
}

// places is a set of slots for running requests.
type places struct {
	*semaphore.Weighted
	size int64
	kind string
}

func newPlaces(size int64, kind string) *places {
	return &places{Weighted: semaphore.NewWeighted(size), size: size, kind: kind}
}

// reservedShare is the divisor of the slots that clients with slow large bodies cannot occupy: one of this
// number.
const reservedShare = 4

// The reasons of a rejected request, as values of the label of the metric.
const (
	rejectedQueueFull    = "queue_full"
	rejectedQueueTimeout = "queue_timeout"
	rejectedCallerLimit  = "caller_limit"
	rejectedSearchQueue  = "search_queue_full"
)

func newLimiter(limits Limits, room *spool.Spool) *limiter {
	l := &limiter{limits: limits, room: room, callers: map[string]int{}, writing: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "berth_http_answers_writing", Help: "Number of complete responses that are being written to clients.",
	}), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_http_requests_rejected_total",
		Help: "Number of requests rejected before they ran: per-caller limit (429), full queue, queue timeout or full queue of searches (503).",
	}, []string{"reason"})}
	for _, reason := range []string{rejectedQueueFull, rejectedQueueTimeout, rejectedCallerLimit, rejectedSearchQueue} {
		l.refused.WithLabelValues(reason)
	}
	if limits.Requests > 0 {
		l.running = newPlaces(limits.Requests, "requests")
		l.uploading = newPlaces(limits.Requests-limits.Requests/reservedShare, "requests with large bodies")
	}
	l.versions = l.reserve("requests for version documents", versionSlots, newReservedRoom())
	return l
}

// run runs an operation of a table when a slot is free, and sends its response. Authentication and the
// negotiation of the version come before, because they need no database.
func (l *limiter) run(table *route.Table, w http.ResponseWriter, r *http.Request) error {
	if auth.IsOpen(r.URL.Path) || r.URL.Path == baremetalRoot {
		return l.versions.runWithoutBody(table.Serve, w, r)
	}
	return l.runWithBody(table.Serve, w, r, maxPrebufferedBody)
}

// handler serves a request, or returns the error with which the request is answered.
type handler func(w http.ResponseWriter, r *http.Request) error

// runWithBody runs a handler when a slot is free, and sends its response. It reads a body with a declared length of at
// most prebuffered bytes first; the handler reads any other body at the minimum rate.
func (l *limiter) runWithBody(serve handler, w http.ResponseWriter, r *http.Request, prebuffered int64) error {
	wanted := []*places{l.running}
	if !prebufferBody(r, prebuffered) {
		wanted = []*places{l.uploading, l.running}
	}
	leave, err := l.admitRequest(r.Context(), auth.From(r.Context()), wanted...)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		rated(w, r, l.limits.BodyRate)
	}
	leave = sync.OnceFunc(leave)
	request.From(r.Context()).Leave = leave
	defer leave()
	return l.serve(serve, w, r, leave)
}

// maxPrebufferedBody is the maximum size of a body that is read before the request has a slot: the memory
// that a connection without a slot may use. firstRead is the initial size of its buffer.
const maxPrebufferedBody, firstRead = 64 << 10, 4 << 10

// prebufferBody reads the body of a request with a Content-Length of at most limit before it gets a slot, so that a
// slow client does not occupy one. A read error is returned to the reader of the body. It reports whether
// it read the body; other bodies are read while the request holds a slot.
func prebufferBody(r *http.Request, limit int64) bool {
	if r.ContentLength <= 0 || r.ContentLength > limit {
		return r.ContentLength == 0
	}
	var body bytes.Buffer
	body.Grow(int(min(r.ContentLength+bytes.MinRead, firstRead)))
	_, err := io.CopyN(&body, r.Body, r.ContentLength)
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&body, errorReader{cmp.Or(err, io.EOF)}), r.Body}
	return true
}

// errorReader is a body whose Read returns the error with which reading ended.
type errorReader struct{ err error }

// Read implements io.Reader.
func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

// admitRequest waits for a slot of each kind, one after the other. The caller must release them with
// leave.
func (l *limiter) admitRequest(ctx context.Context, caller auth.Caller, wanted ...*places) (leave func(), err error) {
	if !l.addCaller(caller.UserID) {
		return nil, l.refuse(rejectedCallerLimit, fault.TooMany,
			"This user has %d requests running or waiting, which is the setting max-requests-per-caller.", l.limits.PerCaller)
	}
	taken := 0
	leave = func() {
		for _, place := range wanted[:taken] {
			if place != nil {
				place.Release(1)
			}
		}
		l.removeCaller(caller.UserID)
	}
	for _, place := range wanted {
		if err := l.acquireSlot(ctx, place); err != nil {
			leave()
			return nil, err
		}
		taken++
	}
	return leave, nil
}

// acquireSlot waits for a slot; waiting requests get slots in the order of arrival.
func (l *limiter) acquireSlot(ctx context.Context, place *places) error {
	if place == nil || place.TryAcquire(1) {
		return nil
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.limits.Queue {
		return l.refuse(rejectedQueueFull, fault.Unavailable,
			"The server runs %d %s, and %d wait; it takes no more.", place.size, place.kind, l.limits.Queue)
	}
	turn, cancel := context.WithTimeout(ctx, l.limits.Wait)
	defer cancel()
	if place.Acquire(turn, 1) == nil {
		return nil
	}
	if err := ctx.Err(); err != nil { // the client disconnected, or the request timed out
		return err
	}
	return l.refuse(rejectedQueueTimeout, fault.Unavailable,
		"The server runs %d %s, and none ended within %s.", place.size, place.kind, l.limits.Wait)
}

// refuse counts a rejected request. Retry-After varies by a few seconds: with one value all these clients
// would retry at the same moment.
func (l *limiter) refuse(reason string, kind fault.Kind, format string, args ...any) error {
	l.refused.WithLabelValues(reason).Inc()
	return retryLater(kind, format, args...)
}

// retryLater returns a fault with a Retry-After of one to three seconds.
func retryLater(kind fault.Kind, format string, args ...any) error {
	refused := fault.New(kind, format, args...).WithOwn(fault.CodeOverloaded)
	if kind == fault.TooMany {
		refused.Own = fault.CodeLimitRequests
	}
	refused.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return refused
}

// addCaller reports whether a caller may have one more request. Unauthenticated requests (version
// discovery) have no per-caller limit.
func (l *limiter) addCaller(user string) bool {
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

func (l *limiter) removeCaller(user string) {
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
	limitOfRequests = prometheus.NewDesc("berth_http_requests_in_flight_max",
		"Maximum number of concurrent requests to the APIs; 0 without a limit.", nil, nil)
	requestsWaiting = prometheus.NewDesc("berth_http_requests_queued",
		"Number of requests that wait because the maximum number of requests is running.", nil, nil)
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

// rateGrace is how long a client may be below the minimum rate.
const rateGrace = 5 * time.Second

// ratedBody is a body that must arrive at a minimum rate, on average and after rateGrace. Only time in
// which the server reads counts. It sets a deadline on the connection, because a Read that waits for the
// client cannot be canceled otherwise.
type ratedBody struct {
	io.ReadCloser
	rate     int64
	deadline func(time.Time) error
	ctx      context.Context // ends before the deadline of the client

	received int64
	waited   time.Duration
}

// rated replaces the body of a request by one with a minimum rate.
func rated(w http.ResponseWriter, r *http.Request, rate int64) {
	if rate > 0 {
		r.Body = &ratedBody{
			ReadCloser: r.Body, rate: rate, deadline: http.NewResponseController(w).SetReadDeadline, ctx: r.Context(),
		}
	}
}

// Read implements io.Reader.
func (b *ratedBody) Read(p []byte) (int, error) {
	begun := time.Now()
	due := begun.Add(b.left())
	if ends, ok := b.ctx.Deadline(); ok && ends.Before(due) {
		due = ends
	}
	_ = b.deadline(due) // writers in tests do not support deadlines
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	b.waited += time.Since(begun)
	switch {
	// In HTTP/1.1, net/http has canceled the context of the request, and closes the connection.
	case errors.Is(err, os.ErrDeadlineExceeded) && b.ctx.Err() == nil:
		err = fault.New(fault.Invalid, "The request's body arrived slower than %d bytes a second, which is the setting min-body-rate. "+
			"Nothing was changed.", b.rate)
	case err == io.EOF:
		// net/http would take a later deadline as a disconnected client.
		_ = b.deadline(time.Time{})
	}
	return n, err
}

// left returns how long the client has for its next bytes.
func (b *ratedBody) left() time.Duration {
	return rateGrace + time.Duration(float64(b.received)/float64(b.rate)*float64(time.Second)) - b.waited
}
