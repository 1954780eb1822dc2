// Package fairqueue bounds concurrent work and shares it among clients. Each client has lines of its own, first in, first
// out; free slots go to the lines in round-robin order. So a client with many requests delays only itself.
//
// It is not for HTTP: it knows neither requests nor the responses to those that it rejects.
package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is the error of a request that the queue rejects: it is full, and no other client has more requests waiting.
var ErrFull = errors.New("the queue is full")

// Class is the kind of a request. Each class of a client has a line.
type Class int

const (
	// Short requests may use all slots.
	Short Class = iota
	// Long requests may use Options.Long slots, and only while the client is within its rate.
	Long
)

// Options are the bounds of a queue.
type Options struct {
	// Running is the maximum number of running requests, Long that of long ones among them.
	Running, Long int
	// Waiting is the maximum number of waiting requests. If the queue is full, a request of a client with a shorter line
	// replaces the newest request of the longest line.
	Waiting int
	// Rate is the work per second of one client, in the unit of Leave; 0: no limit. A client may exceed it by Burst before its
	// long requests wait.
	Rate, Burst int64
}

// Queue is a set of slots and the requests that wait for them. It is safe for concurrent use.
type Queue struct {
	options Options

	mutex                  sync.Mutex
	running, long, waiting int
	lines                  map[lineKey]*line
	// turns holds the lines that are not empty, in the order in which they get slots.
	turns list.List
	work  workOfClients
	// timer ends the wait of long requests whose client exceeded its rate.
	timer *time.Timer
}

// lineKey identifies a line.
type lineKey struct {
	client string
	class  Class
}

// line holds the waiting requests of one class of a client.
type line struct {
	key     lineKey
	waiters list.List // of *waiter
	turn    *list.Element
}

// waiter is a waiting request. It receives nil with its slot, or the error with which its wait ends.
type waiter struct {
	admitted chan error
	since    time.Time
}

// New returns an empty queue.
func New(options Options) *Queue {
	return &Queue{options: options, lines: map[lineKey]*line{}, work: workOfClients{rate: options.Rate, sweepAt: minSweep, all: map[string]clientWork{}}}
}

// Enter waits for a slot until ctx ends. A caller that got one returns it with Leave.
func (q *Queue) Enter(ctx context.Context, client string, class Class) error {
	key := lineKey{client, class}
	q.mutex.Lock()
	q.dispatch()
	if q.canRun(key) { // so no earlier request of the line waits
		q.begin(class)
		q.mutex.Unlock()
		return nil
	}
	place, err := q.append(key)
	q.mutex.Unlock()
	if err != nil {
		return err
	}
	admitted := place.Value.(*waiter).admitted
	select {
	case err := <-admitted:
		return err
	case <-ctx.Done():
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	select {
	case err := <-admitted:
		if err == nil { // the slot was granted concurrently with the end of ctx
			q.end(class)
		}
	default:
		q.remove(q.lines[key], place)
	}
	return ctx.Err()
}

// Leave returns the slot of a request, which has done an amount of work for its client.
func (q *Queue) Leave(client string, class Class, work int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.options.Rate > 0 && work > 0 {
		q.work.add(client, work, time.Now())
	}
	q.end(class)
}

// Lengthen makes a running short request a long one. It reports false if too many long requests run, if others wait, or if
// the client has exceeded its rate.
func (q *Queue) Lengthen(client string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.long >= q.options.Long || q.delay(client) > 0 {
		return false
	}
	for place := q.turns.Front(); place != nil; place = place.Next() {
		if key := place.Value.(*line).key; key.class == Long && q.delay(key.client) == 0 {
			return false
		}
	}
	q.long++
	return true
}

// State is the number of requests in a queue.
type State struct {
	Running, Long, Waiting int
	// OldestWait is how long the oldest waiting request has waited.
	OldestWait time.Duration
}

// State returns the number of running and waiting requests.
func (q *Queue) State() State {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	found := State{Running: q.running, Long: q.long, Waiting: q.waiting}
	for _, each := range q.lines {
		found.OldestWait = max(found.OldestWait, time.Since(each.waiters.Front().Value.(*waiter).since))
	}
	return found
}

// canRun reports whether a request of a line may run now. The caller of this and the following methods holds the mutex.
func (q *Queue) canRun(key lineKey) bool {
	return q.running < q.options.Running && (key.class == Short || q.long < q.options.Long && q.delay(key.client) == 0)
}

// delay returns how long the long requests of a client have to wait because of its rate.
func (q *Queue) delay(client string) time.Duration {
	if q.options.Rate == 0 {
		return 0
	}
	return q.work.delay(client, q.options.Burst, time.Now())
}

func (q *Queue) begin(class Class) {
	q.running++
	if class == Long {
		q.long++
	}
}

func (q *Queue) end(class Class) {
	q.running--
	if class == Long {
		q.long--
	}
	q.dispatch()
}

// dispatch grants free slots to the oldest requests of the next lines.
func (q *Queue) dispatch() {
	for place := q.turns.Front(); place != nil && q.running < q.options.Running; {
		next := place.Value.(*line)
		if !q.canRun(next.key) {
			place = place.Next()
			continue
		}
		q.turns.MoveToBack(place)
		oldest := next.waiters.Front()
		oldest.Value.(*waiter).admitted <- nil
		q.begin(next.key.class)
		q.remove(next, oldest)
		place = q.turns.Front()
	}
	q.setTimer()
}

// setTimer makes dispatch run when the first client that exceeded its rate may go on, if its request could run then.
func (q *Queue) setTimer() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if q.options.Rate == 0 || q.running >= q.options.Running || q.long >= q.options.Long {
		return
	}
	var first time.Duration
	for key := range q.lines {
		if wait := q.delay(key.client); key.class == Long && (first == 0 || wait < first) {
			first = wait
		}
	}
	if first > 0 {
		q.timer = time.AfterFunc(first, func() {
			q.mutex.Lock()
			defer q.mutex.Unlock()
			q.dispatch()
		})
	}
}

// append adds a request to a line.
func (q *Queue) append(key lineKey) (*list.Element, error) {
	own := q.lines[key]
	if q.waiting >= q.options.Waiting {
		length := 0
		if own != nil {
			length = own.waiters.Len()
		}
		longest := q.longest()
		// With a difference of one, the two lines would only exchange a slot.
		if longest == nil || longest.waiters.Len() <= length+1 {
			return nil, ErrFull
		}
		newest := longest.waiters.Back()
		newest.Value.(*waiter).admitted <- ErrFull
		q.remove(longest, newest)
	}
	if own == nil {
		own = &line{key: key}
		own.turn = q.turns.PushBack(own)
		q.lines[key] = own
	}
	q.waiting++
	place := own.waiters.PushBack(&waiter{make(chan error, 1), time.Now()})
	q.setTimer()
	return place, nil
}

// longest returns the line with the most requests, of several the one whose turn is next; nil if no request waits.
func (q *Queue) longest() *line {
	var found *line
	for place := q.turns.Front(); place != nil; place = place.Next() {
		if each := place.Value.(*line); found == nil || each.waiters.Len() > found.waiters.Len() {
			found = each
		}
	}
	return found
}

// remove takes a request out of its line.
func (q *Queue) remove(from *line, place *list.Element) {
	from.waiters.Remove(place)
	q.waiting--
	if from.waiters.Len() == 0 {
		q.turns.Remove(from.turn)
		delete(q.lines, from.key)
	}
}
