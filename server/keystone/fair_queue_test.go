package keystone

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// enqueue adds a request of a client and returns when it waits. It sends the outcome: the client, or the
// client and "full".
func enqueue(t *testing.T, q *fairQueue, client string, outcome chan<- string) {
	t.Helper()
	q.mutex.Lock()
	waiter, err := q.append(client)
	q.mutex.Unlock()
	if err != nil {
		outcome <- client + " full"
		return
	}
	go func() {
		if err := <-waiter.Value.(chan error); err != nil {
			client += " full"
		}
		outcome <- client
	}()
}

func TestKeystone_FairQueue_ClientsTakeTurns(t *testing.T) {
	t.Parallel()
	q := newFairQueue(1, 100)
	if err := q.enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	outcome := make(chan string)
	for client := range strings.FieldsSeq("a a a a b b c") {
		enqueue(t, q, client, outcome)
	}
	var order []string
	for range 7 {
		q.leave()
		order = append(order, <-outcome)
	}
	if want := strings.Fields("a b c a b a a"); !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	q.leave()
	if running, waiting := q.counts(); running != 0 || waiting != 0 || len(q.lines) != 0 || q.turns.Len() != 0 {
		t.Errorf("running = %d, waiting = %d, lines = %d, want 0", running, waiting, len(q.lines))
	}
}

func TestKeystone_FairQueueFull_LongestLineLosesItsNewest(t *testing.T) {
	t.Parallel()
	q := newFairQueue(1, 4)
	_ = q.enter(t.Context(), "a")
	outcome := make(chan string)
	for range 4 {
		enqueue(t, q, "a", outcome)
	}
	for _, client := range []string{"b", "c"} {
		enqueue(t, q, client, outcome)
		if got := <-outcome; got != "a full" {
			t.Errorf("%s replaced %s", client, got)
		}
	}
	// The lines have two, one and one requests now: a second request of b would only exchange a slot with
	// one of a.
	go enqueue(t, q, "b", outcome)
	if got := <-outcome; got != "b full" {
		t.Errorf("there went %s", got)
	}
	go enqueue(t, q, "a", outcome)
	if got := <-outcome; got != "a full" {
		t.Errorf("there went %s", got)
	}
	if _, waiting := q.counts(); waiting != 4 {
		t.Errorf("%d wait", waiting)
	}
	for range 4 {
		q.leave()
		<-outcome
	}
}

func TestKeystone_FairQueue_LeavingGivesThePlaceOn(t *testing.T) {
	t.Parallel()
	q := newFairQueue(2, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	for n := range 200 {
		go func() {
			err := q.enter(ctx, string(rune('a'+n%7)))
			if err == nil {
				q.leave()
			}
			done <- err
		}()
		if n == 100 {
			cancel()
		}
	}
	for range 200 {
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if running, waiting := q.counts(); running != 0 || waiting != 0 || len(q.lines) != 0 {
		t.Errorf("running = %d, waiting = %d, lines = %d, want 0", running, waiting, len(q.lines))
	}
	if err := newFairQueue(0, 0).enter(t.Context(), "a"); !errors.Is(err, errQueueFull) {
		t.Errorf("without a queue: %v", err)
	}
}
