package open

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
)

// logFile is a log file that logrotate may move or remove: logFile reopens it under its name. It
// needs no signal and loses no line: lines written in between are in the moved file.
//
// The library lumberjack was evaluated: it rotates files itself and does not detect files that
// other programs move.
type logFile struct {
	name string

	mutex   sync.Mutex
	file    *os.File
	checked time.Time
}

// logFileCheck is the interval between checks whether the file has been moved.
const logFileCheck = time.Second

// Log opens the log file of the settings; without one it returns the writer unchanged.
func Log(settings *config.Settings, otherwise io.Writer) (out io.Writer, closeLog func(), err error) {
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
		return nil, fmt.Errorf("cannot write the log: %w; choose another file with --log-file", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	// The runtime reports a crash to this file as well as to standard error. If that fails,
	// standard error still has it.
	_ = debug.SetCrashOutput(file, debug.CrashOptions{})
	if l.file != nil {
		_ = l.file.Close() // lines are not buffered
	}
	l.file, l.checked = file, time.Now()
	return nil
}

// Write implements io.Writer. If the file cannot be reopened, it continues with the old one.
func (l *logFile) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if time.Since(l.checked) >= logFileCheck {
		l.checked = time.Now()
		if l.moved() {
			_ = l.open() // retried after logFileCheck; no line is lost
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

// Close closes the file.
func (l *logFile) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.file.Close()
}
