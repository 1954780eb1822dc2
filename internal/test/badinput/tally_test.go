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

// tally is how many answers of each status there were, and how often each operation was
// asked for and succeeded. The status 0 stands for what net/http refuses before any
// handler is asked.
type tally struct {
	mutex     sync.Mutex
	statuses  map[int]int
	sent      map[string]int
	succeeded map[string]int
	slowest   time.Duration
	wrong     int
}

// note counts an answer. A request with another method than its operation's is none of
// that operation.
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

// fails says whether to report one more.
func (s *tally) fails() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.wrong++
	return s.wrong <= 20
}

// String names the operations that succeeded least: they are the next to need a hint.
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
