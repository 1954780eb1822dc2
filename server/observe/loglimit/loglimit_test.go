package loglimit

import (
	"fmt"
	"testing"
	"time"
)

func TestLimits_LogLines_OneForEachCauseInAnInterval(t *testing.T) {
	t.Parallel()
	now, limiter := time.Now(), New(10*time.Second)
	want := func(name string, after time.Duration, wantSuppressed int64, wantOK bool) {
		t.Helper()
		if suppressed, ok := limiter.Allow(name, now.Add(after)); suppressed != wantSuppressed || ok != wantOK {
			t.Errorf("%s after %s: got %d, %v, want %d, %v", name, after, suppressed, ok, wantSuppressed, wantOK)
		}
	}
	want("a", 0, 0, true)
	want("b", time.Second, 0, true)
	for range 100 {
		want("a", 9*time.Second, 0, false)
	}
	want("a", 10*time.Second, 100, true)
	want("a", 20*time.Second, 0, true)
}

func TestLimits_LogLinesOfManyCauses_AreBounded(t *testing.T) {
	t.Parallel()
	now, limiter, logged := time.Now(), New(10*time.Second), 0
	for n := range 10_000 {
		if _, ok := limiter.Allow(fmt.Sprint(n), now); ok {
			logged++
		}
	}
	if logged != maxCauses+1 || len(limiter.causes) != maxCauses+1 {
		t.Errorf("%d lines of %d causes, want %d", logged, len(limiter.causes), maxCauses+1)
	}
	if _, ok := limiter.Allow("later", now.Add(time.Minute)); !ok || len(limiter.causes) != 1 {
		t.Errorf("%d causes whose interval has ended are kept", len(limiter.causes))
	}
}
