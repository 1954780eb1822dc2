// Package events follows the record of changes for streams of events. While it has watchers, it puts committed writes in order every
// 100 ms, and reads each new event once for all of them into a ring. A watcher that is behind the ring reads pages from the database, at
// the pace of its client. No connection to the database is held while a client reads.
//
// It is not for the format of the lines, which the operation writes, nor for the record itself: package work/history keeps it, and
// operations list it through package store. It delivers to clients that are connected, and remembers none of them.
package events

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/loglimit"
)

// Settings are the settings of streams.
type Settings struct {
	// Interval is the time between two steps while there are watchers; 0: 100 ms.
	Interval time.Duration
	// MaxWatchers is the maximum number of streams at once; 0: there are no streams.
	MaxWatchers int64
	// MaxAge is the longest life of a stream, give or take a tenth; 0: an hour.
	MaxAge time.Duration
}

// Defaults are the defaults of the settings.
func Defaults() Settings {
	return Settings{Interval: 100 * time.Millisecond, MaxWatchers: 200, MaxAge: time.Hour}
}

// Options configure a Hub.
type Options struct {
	Settings
	Store *store.Store
	Log   *slog.Logger
	// Encode returns an event as streams have it, without a line break.
	Encode func(*store.HistoryEvent) ([]byte, error)
	// Timeout is how long the database may fail before streams end; 0: a minute.
	Timeout time.Duration
}

const (
	// maxReaders is the number of connections to the database for watchers that are behind the ring.
	maxReaders = 2
	// pageSize is the number of events of a page from the database.
	pageSize = 500
	// stateInterval is the time after which the state of the record is read although there is no new event.
	stateInterval = time.Second
	// failureInterval is the time between two log lines about failures.
	failureInterval = time.Minute
)

// Hub has the ring and the watchers of a server. Its methods are safe for concurrent use.
type Hub struct {
	options  Options
	ring     ring
	failures *loglimit.Limiter
	// readers has a token for each connection that a watcher behind the ring may use.
	readers chan struct{}
	count   atomic.Int64

	// mutex guards isReading, whether the reader of the ring runs.
	mutex     sync.Mutex
	isReading bool
	reading   sync.WaitGroup

	// stopping ends all streams, closing also the reader of the ring.
	stopping, closing context.Context
	stop, cancel      context.CancelFunc

	sent   prometheus.Counter
	behind prometheus.Gauge
	ends   *prometheus.CounterVec
}

// New returns a Hub without watchers. It runs nothing until there is one.
func New(options Options) *Hub {
	defaults := Defaults()
	if options.Interval <= 0 {
		options.Interval = defaults.Interval
	}
	if options.MaxAge <= 0 {
		options.MaxAge = defaults.MaxAge
	}
	if options.Timeout <= 0 {
		options.Timeout = time.Minute
	}
	h := &Hub{options: options, failures: loglimit.New(failureInterval), readers: make(chan struct{}, maxReaders)}
	h.stopping, h.stop = context.WithCancel(context.Background())
	h.closing, h.cancel = context.WithCancel(context.Background())
	h.ring.changed = make(chan struct{})
	for range maxReaders {
		h.readers <- struct{}{}
	}
	h.newMetrics()
	return h
}

// Stop ends all streams with a line that names the reason, and those that begin later.
func (h *Hub) Stop() { h.stop() }

// Close is Stop; it waits for the statement of the reader, which it cancels.
func (h *Hub) Close() {
	h.stop()
	h.mutex.Lock()
	h.cancel() // no reader starts from here on
	h.mutex.Unlock()
	h.reading.Wait()
}

// TooManyError is the error of a stream for which the server has no place. Max 0: the server has no streams.
type TooManyError struct{ Max int64 }

// Error returns a text for the log.
func (e *TooManyError) Error() string { return fmt.Sprintf("there are %d watchers already", e.Max) }

// OffError is the error of a stream while nothing is recorded.
type OffError struct{}

// Error returns a text for the log.
func (*OffError) Error() string { return "nothing is recorded" }

// GoneError is the error of a stream that cannot begin where it was asked to.
type GoneError struct {
	// Log is the log of the record, if another one was asked for; nil otherwise.
	Log *uuid.UUID
	// KeptFrom and Newest are the indexes between which a stream can begin.
	KeptFrom, Newest int64
}

// Error returns a text for the log.
func (e *GoneError) Error() string {
	return fmt.Sprintf("the record has another log, or no longer this index: it begins at %d, and its newest is %d", e.KeptFrom, e.Newest)
}

// Request is what a client asks for.
type Request struct {
	// After is the index of the last event that the client has; nil: the newest.
	After *int64
	// Log is the log of After; nil: any.
	Log *uuid.UUID
	// Filter has filters by providers, tree, consumers, nodes, project and topics. Its tree is that in which a provider is at the beginning.
	Filter store.HistoryFilter
	// Heartbeat is the time between two bookmarks.
	Heartbeat time.Duration
	// Expires is when the token of the caller ends; zero: it does not.
	Expires time.Time
}

// Watch returns a watcher, for which the client waits. The caller runs it; if ctx ends before, its place becomes free. Errors
// are *TooManyError, *OffError, *GoneError, and those of the store.
func (h *Hub) Watch(ctx context.Context, request *Request) (*Watcher, error) {
	if h.count.Add(1) > h.options.MaxWatchers {
		h.count.Add(-1)
		return nil, &TooManyError{h.options.MaxWatchers}
	}
	free := sync.OnceFunc(func() { h.count.Add(-1) })
	w, err := h.admit(ctx, request)
	if err != nil {
		free()
		return nil, err
	}
	w.free, w.keep = free, context.AfterFunc(ctx, free)
	return w, nil
}

// admit checks a request against the record, and makes the ring follow it.
func (h *Hub) admit(ctx context.Context, request *Request) (*Watcher, error) {
	stepped, err := h.options.Store.EventStep(ctx)
	if err != nil {
		return nil, err
	}
	bounds, err := h.follow(ctx, stepped.At)
	if err != nil {
		return nil, err
	}
	w := &Watcher{hub: h, filter: request.Filter, log: bounds.Log, position: bounds.Newest, heartbeat: request.Heartbeat, begin: Begin{
		Log: bounds.Log, Oldest: bounds.Oldest, Newest: bounds.Newest,
	}}
	if request.Log != nil && *request.Log != bounds.Log {
		return nil, &GoneError{Log: &bounds.Log, KeptFrom: bounds.KeptFrom, Newest: bounds.Newest}
	}
	if request.After != nil {
		if w.position = *request.After; w.position < bounds.KeptFrom-1 || w.position > bounds.Newest {
			return nil, &GoneError{KeptFrom: bounds.KeptFrom, Newest: bounds.Newest}
		}
	}
	if request.Filter.InTree != nil {
		root, err := h.options.Store.EventTree(ctx, *request.Filter.InTree)
		if err != nil {
			return nil, err
		}
		w.filter.InTree = &root
	}
	w.read = w.filter
	w.read.InTree = nil // the database would look for the tree of a root that has got a parent since
	w.limitAge(request.Expires)
	return w, nil
}

// limitAge sets the end of a stream: a random age, so that streams which began together do not end together, or the end of the token. A
// token that has ended before, and was accepted with that of a service, does not end the stream.
func (w *Watcher) limitAge(expires time.Time) {
	age := w.hub.options.MaxAge
	age += time.Duration((rand.Float64()*2 - 1) * float64(age) / 10)
	w.lasts, w.ended = age, endAge
	if left := time.Until(expires); left > 0 && left < age {
		w.lasts, w.ended = left, endToken
	}
}

// follow returns the state of the record, and starts the reader of the ring.
func (h *Hub) follow(ctx context.Context, at time.Time) (store.EventBounds, error) {
	for {
		before := h.ring.logNow()
		bounds, err := h.options.Store.EventBounds(ctx)
		if err != nil {
			return bounds, err
		}
		if bounds.State == store.HistoryOff {
			return bounds, &OffError{}
		}
		// The bounds are newer than the log of the ring, which follows them if it is still that one.
		if h.begin(before, &bounds, at) {
			return bounds, nil
		}
	}
}

// begin starts the reader of the ring unless it runs, and gives the ring the log of the record if it has an older one. It returns false if the
// log of the ring has changed in the meantime.
func (h *Hub) begin(before uuid.UUID, bounds *store.EventBounds, at time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.isReading {
		h.ring.reset(bounds.Log, bounds.Newest, at)
		if h.closing.Err() == nil {
			h.isReading = true
			h.reading.Go(h.readWhileWatched)
		}
		return true
	}
	return h.ring.followLog(before, bounds)
}

// readWhileWatched is the reader of the ring.
func (h *Hub) readWhileWatched() {
	var pass reader
	for {
		if err := h.pass(&pass); err != nil && h.closing.Err() == nil {
			const text = "cannot read events for the streams"
			if suppressed, ok := h.failures.Allow(text, time.Now()); ok {
				h.options.Log.Error(text, "error", err, "suppressed", suppressed)
			}
		}
		select {
		case <-h.closing.Done():
		case <-time.After(h.options.Interval):
		}
		h.mutex.Lock()
		if h.count.Load() == 0 || h.closing.Err() != nil {
			h.isReading = false
			h.ring.empty()
			h.mutex.Unlock()
			return
		}
		h.mutex.Unlock()
	}
}

// reader is the state of the reader of the ring.
type reader struct {
	// readAt is the time of the last read of the record, failedSince that of the first failure since the last success; zero: none.
	readAt, failedSince time.Time
}

// pass puts committed writes in order and reads what is new.
func (h *Hub) pass(r *reader) error {
	ctx, cancel := context.WithTimeout(h.closing, h.options.Timeout)
	defer cancel()
	begun := time.Now()
	err := h.readNew(ctx, r)
	switch {
	case err == nil:
		r.failedSince = time.Time{}
	case r.failedSince.IsZero():
		r.failedSince = begun
	}
	if err != nil && time.Since(r.failedSince) >= h.options.Timeout {
		h.ring.fail()
	}
	return err
}

func (h *Hub) readNew(ctx context.Context, r *reader) error {
	stepped, err := h.options.Store.EventStep(ctx)
	if err != nil {
		return err
	}
	if stepped.Newest == h.ring.newestNow() && time.Since(r.readAt) < stateInterval {
		h.ring.caughtUp(stepped.At, false)
		return nil
	}
	for {
		page, err := h.options.Store.EventList(ctx, &store.HistoryFilter{}, h.ring.newestNow()+1, pageSize)
		if err != nil {
			return err
		}
		events := make([]*event, 0, len(page.Events))
		for i := range page.Events {
			encoded, err := h.options.Encode(&page.Events[i])
			if err != nil {
				return err
			}
			events = append(events, newEvent(&page.Events[i], encoded))
		}
		h.ring.add(&page, events)
		if page.Next == nil {
			r.readAt = time.Now()
			h.ring.caughtUp(stepped.At, page.State == store.HistoryOff)
			return nil
		}
	}
}
