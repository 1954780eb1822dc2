package fairqueue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// enqueue adds a request of a client and returns when it waits. It sends the outcome: the client, or the
// client and "full".
func enqueue(t *testing.T, q *Queue, client string, outcome chan<- string) {
	t.Helper()
	q.mutex.Lock()
	place, err := q.append(lineKey{client, Short})
	q.mutex.Unlock()
	if err != nil {
		outcome <- client + " full"
		return
	}
	go func() {
		if err := <-place.Value.(*waiter).admitted; err != nil {
			client += " full"
		}
		outcome <- client
	}()
}

func TestLimits_FairQueue_ClientsTakeTurns(t *testing.T) {
	t.Parallel()
	q := New(Options{Running: 1, Waiting: 100})
	if err := q.Enter(t.Context(), "a", Short); err != nil {
		t.Fatal(err)
	}
	outcome := make(chan string)
	for client := range strings.FieldsSeq("a a a a b b c") {
		enqueue(t, q, client, outcome)
	}
	var order []string
	for range 7 {
		q.Leave("", Short, 0)
		order = append(order, <-outcome)
	}
	if want := strings.Fields("a b c a b a a"); !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	q.Leave("", Short, 0)
	if state := q.State(); state != (State{}) || len(q.lines) != 0 || q.turns.Len() != 0 {
		t.Errorf("state = %+v, lines = %d, want none", state, len(q.lines))
	}
}

func TestLimits_FairQueueFull_LongestLineLosesItsNewest(t *testing.T) {
	t.Parallel()
	q := New(Options{Running: 1, Waiting: 4})
	_ = q.Enter(t.Context(), "a", Short)
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
	if state := q.State(); state.Waiting != 4 {
		t.Errorf("waiting = %d, want 4", state.Waiting)
	}
	for range 4 {
		q.Leave("", Short, 0)
		<-outcome
	}
}

func TestLimits_FairQueue_LeavingGivesThePlaceOn(t *testing.T) {
	t.Parallel()
	q := New(Options{Running: 2, Waiting: 1000})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	for n := range 200 {
		go func() {
			err := q.Enter(ctx, string(rune('a'+n%7)), Short)
			if err == nil {
				q.Leave("", Short, 0)
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
	if state := q.State(); state != (State{}) || len(q.lines) != 0 {
		t.Errorf("state = %+v, lines = %d, want none", state, len(q.lines))
	}
	if err := New(Options{}).Enter(t.Context(), "a", Short); !errors.Is(err, ErrFull) {
		t.Errorf("without a queue: %v", err)
	}
}
