package badinput

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally is the number of responses by status, and of requests and successes by operation. The
// status 0 stands for requests that net/http rejects before a handler.
type tally struct {
	mutex     sync.Mutex
	statuses  map[int]int
	sent      map[string]int
	succeeded map[string]int
	slowest   time.Duration
	wrong     int
}

// note counts a response. A request with another method than that of its operation does not count
// for the operation.
func (s *tally) note(m *message, status int, took time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.statuses[status]++
	s.slowest = max(s.slowest, took)
	if m.method != m.of.method {
		return
	}
	s.sent[m.of.name()]++
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		s.succeeded[m.of.name()]++
	}
}

// fails reports whether the test should report another failure.
func (s *tally) fails() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.wrong++
	return s.wrong <= 20
}

// String lists the operations with the fewest successes, which need more hints.
func (s *tally) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	names := slices.SortedFunc(maps.Keys(s.sent), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.succeeded[a], s.succeeded[b]), cmp.Compare(a, b))
	})
	var least []string
	for _, name := range names[:min(len(names), 8)] {
		least = append(least, fmt.Sprintf("%s %d of %d", name, s.succeeded[name], s.sent[name]))
	}
	return fmt.Sprintf("statuses %v, %d of %d operations succeeded, slowest %s, least often succeeded: %s",
		s.statuses, len(s.succeeded), len(s.sent), s.slowest, strings.Join(least, "; "))
}
