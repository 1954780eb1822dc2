// Package explainlog records queries that found nothing and claims that did not fit, and explains them in the background and on look-up
// (docs/contract/berth/explain.md).
//
// A request hands over what it has in memory and never waits. One goroutine writes what all requests of a second have
// handed over, another explains it.
//
// It is not for the computation of an explanation, which is a function of the options.
package explainlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/loglimit"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// The kinds of explanations.
const (
	Candidates = "candidates"
	Claim      = "claim"
)

// Placement is the API of all recorded requests.
const Placement = "placement"

// Settings are the settings of berth serve.
type Settings struct {
	// Keep is how long a request can be explained; 0: nothing is recorded.
	Keep time.Duration
	// Rows is the maximum number of requests that are kept.
	Rows int64
	// Rate is how many explanations of queries for candidates the server makes in the background in a minute; 0: none.
	Rate int64
	// Timeout bounds the computation of one explanation.
	Timeout time.Duration
}

// DefaultTimeout is Settings.Timeout if that is zero.
const DefaultTimeout = time.Second

// Options configure a Log.
type Options struct {
	Settings
	Store *store.Store
	Log   *slog.Logger
	// Explain computes an explanation of a query for candidates or of a claim; nil: explanations have the short form.
	Explain func(context.Context, Query) (*explain.Explanation, error)

	// interval is that between two statements of the writer, cleanInterval that between two cleanings. Tests set them; 0:
	// a second and a minute.
	interval, cleanInterval time.Duration
}

// SearchOptions are the settings of the server that take part in a search.
type SearchOptions struct {
	Max       int    `json:"max_allocation_candidates"`
	Strategy  string `json:"strategy"`
	Randomize bool   `json:"randomize"`
}

// Query is a recorded query, with all that the computation of its explanation needs.
type Query struct {
	Kind, API string
	// Version is that of the request, with the version of the extensions.
	Version microversion.Version
	// Text is the query string; of a claim its JSON.
	Text    string
	Options SearchOptions
	Reason  explain.Reason
}

// digest returns the SHA-256 of what equal queries have in common.
func (q *Query) digest() store.Digest {
	encoded, _ := json.Marshal([]any{q.Kind, q.API, q.Version.Label(), q.Text, q.Options}) // it has strings and numbers only
	return sha256.Sum256(encoded)
}

// Record is a request with an empty result, or a claim that does not fit, as it is in memory when the response is sent.
type Record struct {
	// RequestID and GlobalRequestID begin with "req-". The second is empty without one.
	RequestID, GlobalRequestID string
	At                         time.Time
	Kind                       string
	Version                    microversion.Version
	// Values is the query; of a claim, Text is its JSON.
	Values  querystring.Values
	Text    string
	Options SearchOptions
	Reason  explain.Reason
	// Content is the JSON of the explanation that was computed for the request; nil: none was.
	Content json.RawMessage
}

// text returns the size of the query.
func (r *Record) text() int64 { return int64(len(r.Text) + r.Values.Size()) }

func (r *Record) size() int64 { return r.text() + int64(len(r.Content)) }

// The bounds of the queue: records, and the bytes of their queries, also while they are written. A record with a longer
// query than maxText is dropped, so that the table stays small.
const (
	queueLength   = 1000
	maxQueueBytes = 2 << 20
	maxText       = 64 << 10
)

// Log records requests. Its methods are safe for concurrent use.
type Log struct {
	Options
	queue chan Record
	// queued is the number of bytes of the queries in the queue and in the batch that is written.
	queued   atomic.Int64
	work     chan task
	maker    *Maker
	dropped  dropped
	failures *loglimit.Limiter

	stop     sync.Once
	stopping chan struct{}
	stopped  atomic.Bool
	running  sync.WaitGroup
}

// New returns a log. It records nothing before Start.
func New(options Options) *Log {
	options.Timeout = cmp.Or(options.Timeout, DefaultTimeout)
	options.interval = cmp.Or(options.interval, time.Second)
	options.cleanInterval = cmp.Or(options.cleanInterval, time.Minute)
	return &Log{
		Options: options, queue: make(chan Record, queueLength), work: make(chan task, maxTasks),
		maker: NewMaker(options.Timeout), dropped: newDropped(), failures: loglimit.New(failureInterval), stopping: make(chan struct{}),
	}
}

// Maker returns what bounds and counts all explanations of this server.
func (l *Log) Maker() *Maker { return l.maker }

// Keeps returns for how long a request can be explained; 0: nothing is recorded.
func (l *Log) Keeps() time.Duration { return l.Keep }

// Add records a request. It never waits: it counts and drops what exceeds the queue.
func (l *Log) Add(record Record) {
	if l.Keep == 0 {
		return
	}
	size := record.size()
	if record.text() > maxText || l.stopped.Load() || !l.reserve(size) {
		l.dropped.queue.Inc()
		return
	}
	select {
	case l.queue <- record:
	default:
		l.queued.Add(-size)
		l.dropped.queue.Inc()
	}
}

// reserve adds bytes to the queue, and reports false if they exceed it.
func (l *Log) reserve(size int64) bool {
	if l.queued.Add(size) <= maxQueueBytes {
		return true
	}
	l.queued.Add(-size)
	return false
}

// Start starts the goroutines, which run until Close.
func (l *Log) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.running.Go(func() {
		<-l.stopping
		cancel()
	})
	l.running.Go(func() { l.clean(ctx) })
	if l.Keep == 0 {
		return
	}
	l.running.Go(l.write)
	if l.Rate > 0 && l.Explain != nil {
		l.running.Go(func() { l.explain(ctx) })
	}
}

// Close writes what is in the queue and stops the goroutines. It waits for them until the context ends.
func (l *Log) Close(ctx context.Context) {
	l.stop.Do(func() {
		l.stopped.Store(true)
		close(l.stopping)
	})
	ended := make(chan struct{})
	go func() {
		l.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// maxLookupTimeouts bounds the time for all explanations of one look-up, in timeouts of one explanation. The others have
// the short form.
const maxLookupTimeouts = 5

// Show returns the recorded requests with an id, or else with it as their global request id. It explains the queries that
// are not explained yet, and stores that. An explanation that cannot be computed has the short form, and no time.
func (l *Log) Show(ctx context.Context, id uuid.UUID) ([]store.RecordedResult, error) {
	found, err := l.Store.ExplanationShow(ctx, id)
	if err != nil {
		return nil, err
	}
	type explained struct {
		content json.RawMessage
		madeAt  *time.Time
	}
	known := map[int64]explained{}
	deadline := time.Now().Add(maxLookupTimeouts * l.Timeout)
	for i := range found {
		row := &found[i]
		if row.Content != nil {
			continue
		}
		explained, done := known[row.Stored.ID]
		if !done {
			explained.content, explained.madeAt = l.lookUp(ctx, row, time.Now().Before(deadline))
			known[row.Stored.ID] = explained
		}
		row.Content, row.MadeAt = explained.content, explained.madeAt
	}
	return found, nil
}

// lookUp explains a query now, or returns the short form.
func (l *Log) lookUp(ctx context.Context, row *store.RecordedResult, inTime bool) (json.RawMessage, *time.Time) {
	var explanation *explain.Explanation
	query, err := queryOf(&row.RecordedQuery)
	if err == nil && inTime && l.Explain != nil {
		explanation, err = l.maker.Make(ctx, OnLookup, func(ctx context.Context) (*explain.Explanation, error) {
			return l.Explain(ctx, query)
		})
	}
	if err != nil && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
		l.logFailure("cannot explain a recorded request", err)
	}
	if explanation == nil {
		content, _ := json.Marshal(explain.Short(row.Kind, explain.Reason(row.Reason))) // it has strings only
		return content, nil
	}
	if err := l.setContent(ctx, row.Stored, explanation); err != nil && ctx.Err() == nil {
		l.logFailure("cannot store an explanation", err)
	}
	content, _ := json.Marshal(explanation) // it has strings and finite numbers only
	return content, explanation.MadeAt
}

// queryOf returns a stored query.
func queryOf(row *store.RecordedQuery) (Query, error) {
	query := Query{Kind: row.Kind, API: row.API, Text: row.Text, Reason: explain.Reason(row.Reason)}
	if err := json.Unmarshal(row.Options, &query.Options); err != nil {
		return query, fmt.Errorf("invalid options of a stored query: %w", err)
	}
	versions := microversion.All()
	if row.Extension != nil {
		versions = microversion.Extended()
	}
	for _, version := range versions {
		if version.String() == row.Microversion && (row.Extension == nil || version.Extension().String() == *row.Extension) {
			query.Version = version
			return query, nil
		}
	}
	return query, fmt.Errorf("this server does not support version %s of a stored query", row.Microversion)
}
