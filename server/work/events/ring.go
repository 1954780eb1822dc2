package events

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

const (
	// maxEvents and maxBytes bound the ring. An event that is larger is in it alone.
	maxEvents = 10_000
	maxBytes  = 16 << 20
	// changeBytes is what the filters of a change take in memory, about.
	changeBytes = 400
	// maxTaken and maxTakenBytes bound what a watcher takes from the ring at once.
	maxTaken      = 256
	maxTakenBytes = 256 << 10
)

// event is an event in the ring. It never changes.
type event struct {
	index   int64
	encoded []byte
	// changes have only what filters compare.
	changes []store.HistoryChange
}

// newEvent returns an event with its encoded form. It takes the changes.
func newEvent(from *store.HistoryEvent, encoded []byte) *event {
	for i := range from.Changes {
		change := &from.Changes[i]
		change.Caller, change.Before, change.After = nil, nil, nil
	}
	return &event{index: from.Index, encoded: encoded, changes: from.Changes}
}

func (e *event) size() int { return len(e.encoded) + changeBytes*len(e.changes) }

// ring has the newest events. Those in it are dense: they have the indexes from first to newest.
type ring struct {
	mutex  sync.Mutex
	log    uuid.UUID
	events []*event
	bytes  int
	// newest is the index up to which the record was read.
	newest int64
	// at is a time of the database: a write that was answered before it has an index up to newest.
	at time.Time
	// end is why streams end that have read everything; nil: they wait.
	end *ending
	// changed is closed, and replaced, when something else changes than at.
	changed chan struct{}
}

// view is what a watcher sees of the ring.
type view struct {
	// events are the next ones of the watcher, without its filters.
	events []*event
	// isBehind reports that the next event of the watcher is not in the ring.
	isBehind bool
	// end is why the stream ends; nil: it does not.
	end *ending
	// at is set if the watcher has everything up to this time of the database.
	at *time.Time
	// changed is closed when there is something else to see.
	changed <-chan struct{}
}

// view returns what is next behind a position.
func (r *ring) view(log uuid.UUID, position int64) view {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	seen := view{changed: r.changed}
	first := r.newest - int64(len(r.events)) + 1
	switch {
	case r.log != log:
		seen.end = endLog
	case position < first-1:
		seen.isBehind = true
	case position < r.newest:
		size := 0
		for _, next := range r.events[position+1-first:] {
			if size += next.size(); len(seen.events) == maxTaken || size > maxTakenBytes && len(seen.events) > 0 {
				break
			}
			seen.events = append(seen.events, next)
		}
	default:
		at := r.at
		seen.end, seen.at = r.end, &at
	}
	return seen
}

func (r *ring) logNow() uuid.UUID {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.log
}

func (r *ring) newestNow() int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.newest
}

// reset begins a log behind an index.
func (r *ring) reset(log uuid.UUID, newest int64, at time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.restart(log, newest)
	r.at = at
}

// restart is reset for callers that hold the mutex.
func (r *ring) restart(log uuid.UUID, newest int64) {
	r.log, r.newest, r.end = log, newest, nil
	r.events, r.bytes = nil, 0
	r.notify()
}

// followLog gives the ring the log of bounds if it still has the one that it had before them. Otherwise it returns false, unless the
// logs are the same.
func (r *ring) followLog(before uuid.UUID, bounds *store.EventBounds) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch r.log {
	case bounds.Log:
		return true
	case before:
		r.restart(bounds.Log, bounds.Newest)
		return true
	}
	return false
}

// empty forgets the events.
func (r *ring) empty() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.events, r.bytes = nil, 0
}

// add adds a page of the record that begins behind newest. Where events are missing, which retention has deleted, the ring begins behind
// them.
func (r *ring) add(page *store.HistoryList, events []*event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.log != page.Log {
		r.restart(page.Log, page.Newest)
		return
	}
	upTo := page.Newest
	if page.Next != nil {
		upTo = *page.Next - 1
	}
	if upTo <= r.newest {
		return
	}
	isDense := int64(len(events)) == upTo-r.newest
	r.newest = upTo
	if !isDense {
		r.events, r.bytes, events = nil, 0, nil
	}
	for _, added := range events {
		r.events = append(r.events, added)
		r.bytes += added.size()
	}
	dropped := 0
	for len(r.events)-dropped > maxEvents || r.bytes > maxBytes && len(r.events)-dropped > 1 {
		r.bytes -= r.events[dropped].size()
		r.events[dropped] = nil
		dropped++
	}
	r.events = r.events[dropped:]
	r.notify()
}

// caughtUp reports that the ring has everything up to a time of the database, and whether the record is off.
func (r *ring) caughtUp(at time.Time, isOff bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.at = at
	var end *ending
	if isOff || r.end == endOff { // a record that is turned on has another log
		end = endOff
	}
	if r.end != end {
		r.end = end
		r.notify()
	}
}

// fail ends the streams that wait for events.
func (r *ring) fail() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.end != endFailed {
		r.end = endFailed
		r.notify()
	}
}

// notify wakes the watchers. The caller holds the mutex.
func (r *ring) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}
