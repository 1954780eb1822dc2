package keystone

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// errQueueFull is the error of a request that is rejected by the queue: it is full, and no other client
// has more requests waiting.
var errQueueFull = errors.New("the queue of token validations is full")

// fairQueue bounds the number of concurrent token validations and shares them among clients. Each client
// has a line of its own, first in, first out; free slots go to the lines in round-robin order. So a client
// that sends many made-up tokens delays only itself.
//
// All lines together hold a bounded number of requests. If they are full, a request of a client with a
// shorter line replaces the newest request of the longest line.
type fairQueue struct {
	maxRunning, maxWaiting int

	mutex            sync.Mutex
	running, waiting int
	lines            map[string]*line
	// turns holds the lines that are not empty, in the order in which they get slots.
	turns list.List
}

// line holds the waiting requests of one client.
type line struct {
	client  string
	waiters list.List // of chan error
	turn    *list.Element
}

func newFairQueue(maxRunning, maxWaiting int) *fairQueue {
	return &fairQueue{maxRunning: maxRunning, maxWaiting: maxWaiting, lines: map[string]*line{}}
}

// enter waits for a slot until ctx ends. A caller that got one returns it with leave.
func (q *fairQueue) enter(ctx context.Context, client string) error {
	q.mutex.Lock()
	if q.running < q.maxRunning {
		q.running++
		q.mutex.Unlock()
		return nil
	}
	waiter, err := q.append(client)
	q.mutex.Unlock()
	if err != nil {
		return err
	}
	admitted := waiter.Value.(chan error)
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
			q.release()
		}
	default:
		q.remove(q.lines[client], waiter)
	}
	return ctx.Err()
}

// leave returns a slot.
func (q *fairQueue) leave() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.release()
}

// counts returns the number of running validations and the number of waiting requests.
func (q *fairQueue) counts() (running, waiting int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.running, q.waiting
}

// append adds a request to the line of a client. The caller holds the mutex.
func (q *fairQueue) append(client string) (*list.Element, error) {
	own := q.lines[client]
	if q.waiting >= q.maxWaiting {
		length := 0
		if own != nil {
			length = own.waiters.Len()
		}
		longest := q.longest()
		// With a difference of one, the two lines would only exchange a slot.
		if longest == nil || longest.waiters.Len() <= length+1 {
			return nil, errQueueFull
		}
		newest := longest.waiters.Back()
		newest.Value.(chan error) <- errQueueFull
		q.remove(longest, newest)
	}
	if own == nil {
		own = &line{client: client}
		own.turn = q.turns.PushBack(own)
		q.lines[client] = own
	}
	q.waiting++
	return own.waiters.PushBack(make(chan error, 1)), nil
}

// longest returns the line with the most requests, nil if no request waits.
func (q *fairQueue) longest() *line {
	var found *line
	for _, each := range q.lines {
		if found == nil || each.waiters.Len() > found.waiters.Len() {
			found = each
		}
	}
	return found
}

// remove takes a request out of its line. The caller holds the mutex.
func (q *fairQueue) remove(from *line, waiter *list.Element) {
	from.waiters.Remove(waiter)
	q.waiting--
	if from.waiters.Len() == 0 {
		q.turns.Remove(from.turn)
		delete(q.lines, from.client)
	}
}

// release passes a slot to the oldest request of the next line. The caller holds the mutex.
func (q *fairQueue) release() {
	front := q.turns.Front()
	if front == nil {
		q.running--
		return
	}
	next := front.Value.(*line)
	q.turns.MoveToBack(front)
	waiter := next.waiters.Front()
	waiter.Value.(chan error) <- nil
	q.remove(next, waiter)
}
