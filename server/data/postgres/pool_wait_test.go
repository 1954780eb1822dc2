package postgres

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestReadiness_PoolWaits_AreMeasured(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	exhausted := false
	w := &poolWaits{}
	want := func(when string, second, oldest, starved int) {
		t.Helper()
		if got := w.oldest(at(second)); got != time.Duration(oldest)*time.Second {
			t.Errorf("%s: oldest wait = %v, want %d s", when, got, oldest)
		}
		if got := w.starved(at(second), func() bool { return exhausted }); got != time.Duration(starved)*time.Second {
			t.Errorf("%s: starved = %v, want %d s", when, got, starved)
		}
	}
	want("nothing waits", 0, 0, 0)
	first, second, third := w.begin(t.Context(), at(0)), w.begin(t.Context(), at(1)), w.begin(t.Context(), at(2))
	want("three wait", 4, 4, 4)
	w.end(second, nil, at(5))
	want("another acquired one", 8, 8, 3)
	exhausted = true
	w.end(first, context.DeadlineExceeded, at(10))
	want("the oldest was canceled", 12, 10, 7)
	w.end(third, context.Canceled, at(13))
	want("all were canceled and the pool is exhausted", 20, 0, 15)
	exhausted = false
	want("all were canceled and the pool is free again", 20, 0, 0)
	w.end(w.begin(t.Context(), at(21)), nil, at(21))
	exhausted = true
	want("one acquired a connection", 30, 0, 0)
	w.end(w.begin(t.Context(), at(31)), errors.New("connection refused"), at(31))
	want("the database rejects connections", 40, 0, 0)
	if w.first != nil || w.last != nil {
		t.Error("the list is not empty")
	}
}
