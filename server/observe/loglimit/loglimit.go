// Package loglimit limits the rate of log lines that clients can cause.
//
// It writes no lines: the caller asks for permission, and states in the line how many were suppressed.
package loglimit

import (
	"sync"
	"time"
)

// maxCauses bounds how many causes a Limiter distinguishes in an interval; further causes count as one.
// Above the bound, the counts of causes whose interval has ended are lost.
const maxCauses = 32

// Limiter permits one line for each cause in an interval.
type Limiter struct {
	interval time.Duration
	mutex    sync.Mutex
	causes   map[string]*cause
}

type cause struct {
	until      time.Time
	suppressed int64
}

// New returns a limiter with the given interval.
func New(interval time.Duration) *Limiter {
	return &Limiter{interval: interval, causes: map[string]*cause{}}
}

// Allow reports whether a line of a cause may be logged now, and how many lines of that cause were
// suppressed since the last one.
func (l *Limiter) Allow(name string, now time.Time) (suppressed int64, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	found := l.find(name, now)
	if now.Before(found.until) {
		found.suppressed++
		return 0, false
	}
	suppressed, found.suppressed = found.suppressed, 0
	found.until = now.Add(l.interval)
	return suppressed, true
}

// find returns the entry of a cause, or the shared entry without a name if there are too many causes.
func (l *Limiter) find(name string, now time.Time) *cause {
	if found := l.causes[name]; found != nil {
		return found
	}
	if len(l.causes) >= maxCauses {
		for each, found := range l.causes {
			if !now.Before(found.until) {
				delete(l.causes, each)
			}
		}
	}
	if len(l.causes) >= maxCauses {
		name = ""
	}
	if found := l.causes[name]; found != nil {
		return found
	}
	result := &cause{}
	l.causes[name] = result
	return result
}
