package events

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

const (
	// maxSkipped is the number of events in a row that do not match, after which a stream has a bookmark.
	maxSkipped = 1000
	// stopGrace is how long a client has to take its last lines when the server stops.
	stopGrace = 2 * time.Second
	// retryDelay is the time between two attempts to read a page while the database fails.
	retryDelay = 250 * time.Millisecond
)

// Begin is the state of the record at the beginning of a stream.
type Begin struct {
	Log            uuid.UUID
	Oldest, Newest int64
}

// Client writes the lines of a stream. Its errors end the stream.
type Client interface {
	Begin(Begin) error
	// Event writes an event that Options.Encode has encoded.
	Event(index int64, encoded []byte) error
	// Bookmark writes that everything up to an index was sent or does not match, and with a time that every write is that was answered
	// before it.
	Bookmark(index int64, at *time.Time) error
	End(code, detail string, index int64) error
	// Flush sends what was written.
	Flush() error
	// Expire makes writes fail that wait for the client at a time.
	Expire(at time.Time)
}

// The codes of ends that are no errors of a request.
const (
	codeAge      = "berth.events.age"
	codeToken    = "berth.events.token"
	codeStopping = "berth.events.stopping"
	codeFailed   = "berth.events.failed"
)

// ending is why a stream ends.
type ending struct{ code, detail string }

var (
	endAge = &ending{codeAge, "The stream has reached its longest age. Go on behind the index."}
	// endToken is the end of the caller's token.
	endToken    = &ending{codeToken, "The token has expired. Go on behind the index with another one."}
	endStopping = &ending{codeStopping, "The server stops. Go on behind the index, with another server."}
	endFailed   = &ending{codeFailed, "The database does not answer. Go on behind the index."}
	endOff      = &ending{fault.CodeHistoryOff, "The record was turned off. All of its events were sent."}
	endLog      = &ending{fault.CodeHistoryGone, "The log has changed: indexes start over. Read the state, and watch without after."}
	endDeleted  = &ending{fault.CodeHistoryGone, "The next events are deleted: the stream was slower than the retention. Read the state, and watch without after."}
)

// endings are the ends of streams by their codes, and the end without a line.
var endings = []string{
	codeAge, codeToken, codeStopping, codeFailed, fault.CodeHistoryOff, fault.CodeHistoryGone, endedByClient,
}

// endedByClient is the label of streams that end without a line, because the client has disconnected or takes nothing.
const endedByClient = "none"

// Watcher is a stream.
type Watcher struct {
	hub *Hub
	// filter decides about events, read is the part of it that the database decides for pages.
	filter, read store.HistoryFilter
	log          uuid.UUID
	// position is the index up to which everything was sent or does not match.
	position int64
	// skipped is the number of events before position that did not match, since the last line.
	skipped   int64
	heartbeat time.Duration
	begin     Begin
	// lasts is how long the stream may last, ended why it ends then.
	lasts time.Duration
	ended *ending
	// free frees the place of the stream; keep prevents that it becomes free with the request.
	free func()
	keep func() bool

	to       Client
	end      *time.Timer
	beats    *time.Ticker
	isOver   bool
	isBehind bool
	// failedSince is the time of the first failed read since the last success; zero: none.
	failedSince time.Time
}

// Run sends the lines until the stream ends, the client disconnects, or ctx ends. It frees the place of the stream.
func (w *Watcher) Run(ctx context.Context, to Client) {
	if !w.keep() {
		return // the request has ended before
	}
	defer w.free()
	defer w.setBehind(false)
	w.to, w.end, w.beats = to, time.NewTimer(w.lasts), time.NewTicker(w.heartbeat)
	defer w.end.Stop()
	defer w.beats.Stop()
	defer context.AfterFunc(w.hub.stopping, func() { to.Expire(time.Now().Add(stopGrace)) })()
	end, err := w.run(ctx)
	if err == nil && end != nil {
		if err = to.End(end.code, end.detail, w.position); err == nil {
			err = to.Flush()
		}
	}
	code := endedByClient
	if err == nil && end != nil {
		code = end.code
	}
	w.hub.ends.WithLabelValues(code).Inc()
}

// run returns why the stream ends; nil: ctx has ended.
func (w *Watcher) run(ctx context.Context) (*ending, error) {
	if err := w.to.Begin(w.begin); err != nil {
		return nil, err
	}
	for {
		if end, err := w.signal(ctx); end != nil || err != nil || ctx.Err() != nil {
			return end, err
		}
		seen := w.hub.ring.view(w.log, w.position)
		w.setBehind(seen.isBehind)
		var err error
		switch {
		case seen.end != nil:
			return seen.end, nil
		case seen.isBehind:
			var end *ending
			if end, err = w.readPage(ctx); end != nil {
				return end, nil
			}
		case len(seen.events) > 0:
			err = w.send(seen.events)
		default:
			if err = w.to.Flush(); err == nil {
				_, err = w.wait(ctx, seen.changed)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// signal writes a bookmark if it is time for one, and returns the end of the stream if it is time for that.
func (w *Watcher) signal(ctx context.Context) (*ending, error) {
	select {
	case <-ctx.Done():
	case <-w.hub.stopping.Done():
		return endStopping, nil
	case <-w.end.C:
		w.isOver = true
	case <-w.beats.C:
		return nil, w.bookmark()
	default:
	}
	if w.isOver {
		return w.ended, nil
	}
	return nil, nil
}

// wait waits for a channel, and reports whether it was it: the stream can have to end, or have a bookmark.
func (w *Watcher) wait(ctx context.Context, changed <-chan struct{}) (bool, error) {
	select {
	case <-changed:
		return true, nil
	case <-ctx.Done():
	case <-w.hub.stopping.Done():
	case <-w.end.C:
		w.isOver = true
	case <-w.beats.C:
		return false, w.bookmark()
	}
	return false, nil
}

// bookmark writes and sends a bookmark.
func (w *Watcher) bookmark() error {
	w.skipped = 0
	if err := w.to.Bookmark(w.position, w.hub.ring.view(w.log, w.position).at); err != nil {
		return err
	}
	return w.to.Flush()
}

// send writes the events that match.
func (w *Watcher) send(events []*event) error {
	for _, next := range events {
		if !w.filter.Passes(next.changes) {
			if err := w.skip(next.index); err != nil {
				return err
			}
			continue
		}
		if err := w.write(next.index, next.encoded); err != nil {
			return err
		}
	}
	return nil
}

// write writes an event that matches, behind some that do not.
func (w *Watcher) write(index int64, encoded []byte) error {
	if err := w.to.Event(index, encoded); err != nil {
		return err
	}
	w.position, w.skipped = index, 0
	w.hub.sent.Inc()
	return nil
}

// skip moves to an index, if no event up to it matches.
func (w *Watcher) skip(index int64) error {
	w.skipped += index - w.position
	if w.position = index; w.skipped < maxSkipped {
		return nil
	}
	return w.bookmark()
}

// setBehind counts the watchers that are behind the ring.
func (w *Watcher) setBehind(is bool) {
	if w.isBehind == is {
		return
	}
	if w.isBehind = is; is {
		w.hub.behind.Inc()
	} else {
		w.hub.behind.Dec()
	}
}

// readPage reads a page of the database and writes it, or waits for a connection.
func (w *Watcher) readPage(ctx context.Context) (*ending, error) {
	isMine, err := w.wait(ctx, w.hub.readers)
	if err != nil || !isMine {
		return nil, err
	}
	begun := time.Now()
	page, end, err := w.fetch(ctx)
	w.hub.readers <- struct{}{}
	switch {
	case end != nil:
		return end, nil
	case err == nil:
		w.failedSince = time.Time{}
		return w.sendPage(page)
	case w.failedSince.IsZero():
		w.failedSince = begun
	}
	if time.Since(w.failedSince) >= w.hub.options.Timeout {
		return endFailed, nil
	}
	retry := make(chan struct{})
	defer time.AfterFunc(retryDelay, func() { close(retry) }).Stop()
	_, err = w.wait(ctx, retry)
	return nil, err
}

// fetch reads a page. Retention can drop a day while a statement is planned, which then finds fewer events without an error; the bounds behind it
// show that.
func (w *Watcher) fetch(ctx context.Context) (*store.HistoryList, *ending, error) {
	ctx, cancel := context.WithTimeout(ctx, w.hub.options.Timeout)
	defer cancel()
	page, err := w.hub.options.Store.EventList(ctx, &w.read, w.position+1, pageSize)
	if err != nil {
		return nil, nil, err
	}
	bounds, err := w.hub.options.Store.EventBounds(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case page.Log != w.log:
		return nil, endLog, nil
	case bounds.KeptFrom > w.position+1:
		return nil, endDeleted, nil
	}
	return &page, nil, nil
}

// sendPage writes the events of a page that match. It encodes one at a time.
func (w *Watcher) sendPage(page *store.HistoryList) (*ending, error) {
	for i := range page.Events {
		next := &page.Events[i]
		if w.filter.Passes(next.Changes) {
			encoded, err := w.hub.options.Encode(next)
			if err != nil {
				w.hub.options.Log.Error("cannot encode an event", "index", next.Index, "error", err)
				return endFailed, nil
			}
			if err := w.write(next.Index, encoded); err != nil {
				return nil, err
			}
		}
		next.Changes = nil
	}
	upTo := page.Newest
	if page.Next != nil {
		upTo = *page.Next - 1
	}
	if upTo > w.position {
		if err := w.skip(upTo); err != nil {
			return nil, err
		}
	}
	return nil, w.to.Flush()
}
