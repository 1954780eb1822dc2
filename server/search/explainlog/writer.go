package explainlog

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/microversion"
)

// The maximum numbers of requests that one statement records, by kind.
var maxRecorded = map[string]int{Candidates: 200, Claim: 20}

const (
	// window is the time in which equal queries share a row.
	window = 5 * time.Minute
	// statementTimeout bounds a statement of the background, with the wait for its connection.
	statementTimeout = 2 * time.Second
	// failureInterval is the interval between two log lines about the same failure.
	failureInterval = time.Minute
)

// batch is what one statement records.
type batch struct {
	places          map[batchKey]int
	recordedQueries []store.RecordedQuery
	queries         []Query
	requests        []store.RecordedRequest
	recorded        map[string]int
	// bytes is the size of its records in the queue.
	bytes int64
}

// explainParam selects an explanation in the response. It is no part of the query that is explained.
const explainParam = "explain"

type batchKey struct {
	digest store.Digest
	window time.Time
}

func newBatch() *batch { return &batch{places: map[batchKey]int{}, recorded: map[string]int{}} }

// isFull reports whether the batch has the maximum number of records of a kind.
func (b *batch) isFull(kind string) bool { return b.recorded[kind] >= maxRecorded[kind] }

// add adds a record, and merges its query with an equal one.
func (b *batch) add(record *Record) {
	recorded := Query{
		Kind: record.Kind, API: Placement, Version: record.Version, Text: record.Text, Options: record.Options, Reason: record.Reason,
	}
	if recorded.Kind == Candidates {
		recorded.Text = record.Values.Without(explainParam).Encode()
	}
	key := batchKey{recorded.digest(), record.At.UTC().Truncate(window)}
	place, known := b.places[key]
	if !known {
		place = len(b.recordedQueries)
		b.places[key] = place
		b.recordedQueries, b.queries = append(b.recordedQueries, recorded.recorded(key, record.At)), append(b.queries, recorded)
	}
	query := &b.recordedQueries[place]
	query.Requests++
	if record.At.Before(query.FirstAskedAt) {
		query.FirstAskedAt = record.At
	}
	if record.At.After(query.LastAskedAt) {
		query.LastAskedAt = record.At
	}
	if record.Content != nil && query.Content == nil {
		query.Content, query.MadeAt = record.Content, &record.At
	}
	id, _ := uuid.Parse(strings.TrimPrefix(record.RequestID, requestPrefix)) // the server has made it
	request := store.RecordedRequest{ID: id, AskedAt: record.At, Query: place}
	if global, ok := ParseRequestID(record.GlobalRequestID); ok {
		request.GlobalID = &global
	}
	b.requests = append(b.requests, request)
	b.recorded[record.Kind]++
}

// recorded returns the row of a query without requests.
func (q *Query) recorded(key batchKey, at time.Time) store.RecordedQuery {
	recordedQuery := store.RecordedQuery{
		Digest: key.digest, WindowStart: key.window, Kind: q.Kind, API: q.API, Microversion: q.Version.String(),
		Text: q.Text, Reason: string(q.Reason), FirstAskedAt: at, LastAskedAt: at,
	}
	recordedQuery.Options, _ = json.Marshal(q.Options) // it has strings and numbers only
	if extension := q.Version.Extension(); extension >= microversion.PlacementExtensionMin {
		text := extension.String()
		recordedQuery.Extension = &text
	}
	return recordedQuery
}

const requestPrefix = "req-"

// ParseRequestID parses a request id: "req-" and a UUID in its usual form.
func ParseRequestID(text string) (uuid.UUID, bool) {
	digits, ok := strings.CutPrefix(text, requestPrefix)
	if !ok || len(digits) != 36 {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(digits)
	return id, err == nil
}

// write writes the records of each interval until Close, and then the rest of the queue. It reads the queue once in each
// interval: a goroutine that waited for each record would cost a request more than all else here.
func (l *Log) write() {
	ticks := time.NewTicker(l.interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			next := newBatch()
			for range len(l.queue) {
				record := <-l.queue
				l.collect(next, &record)
			}
			if len(next.requests) > 0 {
				_ = l.flush(next) // counted and logged
			}
		case <-l.stopping:
			l.drain(newBatch())
			return
		}
	}
}

// collect adds a record to a batch, or drops and counts it if the batch is full.
func (l *Log) collect(into *batch, record *Record) {
	size := record.size()
	if into.isFull(record.Kind) {
		l.queued.Add(-size)
		l.dropped.rate.Inc()
		return
	}
	into.bytes += size
	into.add(record)
}

// drain writes the batch and the queue. After a statement has failed, it drops the rest.
func (l *Log) drain(next *batch) {
	var err error
	finish := func() {
		if err == nil && len(next.requests) > 0 {
			err = l.flush(next)
		} else {
			l.dropped.database.Add(float64(len(next.requests)))
		}
		next = newBatch()
	}
	for {
		select {
		case record := <-l.queue:
			if next.isFull(record.Kind) {
				finish()
			}
			l.collect(next, &record)
		default:
			finish()
			return
		}
	}
}

// flush writes a batch, and hands new queries over to the goroutine that explains. The connection may be in use for one
// explanation.
func (l *Log) flush(result *batch) error {
	defer l.queued.Add(-result.bytes)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout+maxSearch+l.Timeout)
	defer cancel()
	stored, isNew, err := l.Store.ExplanationRecord(ctx, result.recordedQueries, result.requests)
	if err != nil {
		l.dropped.database.Add(float64(len(result.requests)))
		l.logFailure("cannot record requests to explain", err)
		return err
	}
	for i := range stored {
		if !isNew[i] {
			continue
		}
		select {
		case l.work <- task{stored[i], result.queries[i], time.Now()}:
		default: // a look-up explains it
		}
	}
	return nil
}

// logFailure logs a failure of the background, at most once in failureInterval.
func (l *Log) logFailure(text string, err error) {
	if suppressed, ok := l.failures.Allow(text, time.Now()); ok {
		l.Options.Log.Warn(text, "error", err, "suppressed", suppressed)
	}
}
