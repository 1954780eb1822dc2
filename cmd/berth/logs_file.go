package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// logFile is a log that may be moved away or removed while it is written to, as
// logrotate does: it is then opened anew under its name. Nothing needs to be signalled,
// and no line is lost: what is written meanwhile is in the file that was moved.
//
// Libraries looked at: lumberjack rotates by itself, which is the system's business
// here, and does not see what others move.
type logFile struct {
	name string

	mutex   sync.Mutex
	file    *os.File
	checked time.Time
}

// logFileCheck is how often a look is taken at what has the name.
const logFileCheck = time.Second

// openLog opens the file of the settings for the log; where none is named it stays
// where it is.
func openLog(settings *Settings, otherwise io.Writer) (out io.Writer, closeLog func(), err error) {
	if settings.LogFile == "" {
		return otherwise, func() {}, nil
	}
	file, err := openLogFile(settings.LogFile)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil
}

func openLogFile(name string) (*logFile, error) {
	l := &logFile{name: name}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("the log cannot be written: %w; choose another file with --log-file", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // each line was written when it came
	}
	l.file, l.checked = file, time.Now()
	return nil
}

// Write implements io.Writer. Where the file can't be opened anew, the old one goes on.
func (l *logFile) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if time.Since(l.checked) >= logFileCheck {
		l.checked = time.Now()
		if l.moved() {
			_ = l.open() // tried again in a second; meanwhile nothing is lost
		}
	}
	return l.file.Write(line)
}

func (l *logFile) moved() bool {
	named, err := os.Stat(l.name)
	if err != nil {
		return os.IsNotExist(err)
	}
	held, err := l.file.Stat()
	return err != nil || !os.SameFile(named, held)
}

// Close ends the log.
func (l *logFile) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.file.Close()
}
