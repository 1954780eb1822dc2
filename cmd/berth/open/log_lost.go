package open

import (
	"bytes"
	"io"
	"sync"

	"github.com/berthd/berth/cmd/berth/config"
)

// CountedLog counts log lines that cannot be written, for example on a full disk, and logs their
// number before the next line. No request waits or fails because of them.
type CountedLog struct {
	Out io.Writer
	// LostLine is the line that reports lost lines.
	LostLine func(count int64) []byte

	mutex sync.Mutex
	// total is the number since startup, pending the number not reported yet.
	total, pending int64
	// torn reports whether the last write ended in the middle of a line.
	torn bool
}

// LostLineOf returns a function that formats the report of lost lines in the log format of the
// settings.
func LostLineOf(settings *config.Settings) func(count int64) []byte {
	return func(count int64) []byte {
		var line bytes.Buffer
		Logger(settings, &line).Error("log lines were lost: cannot write the log", "lines", count)
		return line.Bytes()
	}
}

// Write implements io.Writer for one line. It always returns success, because callers cannot
// handle the error.
func (l *CountedLog) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.pending > 0 && l.write(l.LostLine(l.pending)) {
		l.pending = 0
	}
	if l.pending > 0 || !l.write(line) {
		l.pending++
		l.total++
	}
	return len(line), nil
}

// write terminates a torn line before it writes another.
func (l *CountedLog) write(line []byte) bool {
	if l.torn {
		line = append([]byte("\n"), line...)
	}
	written, err := l.Out.Write(line)
	if written > 0 {
		l.torn = written < len(line) && line[written-1] != '\n'
	}
	return err == nil
}

// LinesLost returns the number of lost lines since startup.
func (l *CountedLog) LinesLost() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.total
}
