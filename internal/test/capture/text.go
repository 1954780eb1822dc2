package capture

import (
	"bytes"
	"sync"
)

// Text is a buffer that is safe for concurrent writes.
type Text struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *Text) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *Text) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
