package auditlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxQueue is the number of lines that wait for a slow disk, at most 32 MiB.
	maxQueue = 4096
	// maxBatch is the number of lines that share one fsync.
	maxBatch = 256
	// maxWait bounds how long a request waits for its line.
	maxWait = time.Second
	// maxWaitRequired is the bound if the write depends on the line: a busy disk may need seconds for an
	// fsync.
	maxWaitRequired = 5 * time.Second
	// reportInterval is the minimum interval between two log lines about lost lines.
	reportInterval = time.Minute
)

// Reasons for a lost line besides the errors of the operating system.
var (
	errFull    = fmt.Errorf("the queue of %d lines is full", maxQueue)
	errStalled = errors.New("timeout: the disk did not complete the write")
	errClosed  = errors.New("the server is stopping")
)

// Options configures a Log.
type Options struct {
	// Path is the file; Stdout is standard output.
	Path string
	// Required makes every write depend on its line; see Log.Begin.
	Required bool
	// Log receives a line about lost lines at most once a minute.
	Log *slog.Logger
}

// Log is an open audit log. One goroutine writes the file, so that a request waits for a bounded time even
// if the disk never completes a write. All methods are safe for concurrent use.
type Log struct {
	options Options
	wait    time.Duration
	file    *file // used only by the goroutine in run

	queue   chan *entry
	reopens chan chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	// stalled reports that the wait of a request timed out. Later requests do not wait until the log has
	// written a line.
	stalled atomic.Bool

	written, lost atomic.Int64

	reporting sync.Mutex
	unsaid    int64 // lost since the last report of a recovery
	announced bool
	reported  time.Time
}

// entry is a queued line.
type entry struct {
	line  []byte
	flush bool
	done  chan error
}

// Open opens the audit log and starts its goroutine, which Close stops.
func Open(options Options) (*Log, error) {
	opened, err := open(options.Path)
	if err != nil {
		return nil, err
	}
	return start(options, opened), nil
}

func start(options Options, opened *file) *Log {
	l := &Log{
		options: options, wait: maxWait, file: opened,
		queue: make(chan *entry, maxQueue), reopens: make(chan chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if options.Required {
		l.wait = maxWaitRequired
	}
	go l.run()
	return l
}

// Required reports whether every write depends on its line.
func (l *Log) Required() bool { return l.options.Required }

// Counts returns the numbers of written and of lost lines. For a nil Log both are 0.
func (l *Log) Counts() (written, lost int64) {
	if l == nil {
		return 0, 0
	}
	return l.written.Load(), l.lost.Load()
}

// Begin writes the line of a write that is about to run, and waits until the disk has stored it. If it
// returns an error, the write must not run.
func (l *Log) Begin(record *Record) error { return l.begin(record.encode(PhaseBegin, time.Now())) }

func (l *Log) begin(line []byte) error {
	if l.stalled.Load() {
		l.noteLost(errStalled)
		return errStalled
	}
	waiting, err := l.put(line, true)
	if err != nil {
		return err
	}
	return l.await(waiting)
}

// End writes the line of an outcome. It waits, for a bounded time, until the operating system has accepted
// the line. A line that cannot be written is counted and reported in the log.
func (l *Log) End(record *Record) { l.end(record.encode(PhaseEnd, time.Now())) }

func (l *Log) end(line []byte) {
	waiting, err := l.put(line, false)
	if err == nil && !l.stalled.Load() {
		_ = l.await(waiting) // the goroutine counts errors
	}
}

func (l *Log) put(line []byte, flush bool) (*entry, error) {
	result := &entry{line: line, flush: flush, done: make(chan error, 1)}
	select {
	case l.queue <- result:
		return result, nil
	default:
		l.noteLost(errFull)
		return nil, errFull
	}
}

func (l *Log) await(waiting *entry) error {
	limit := time.NewTimer(l.wait)
	defer limit.Stop()
	select {
	case err := <-waiting.done:
		return err
	case <-limit.C:
		l.stalled.Store(true)
		return errStalled
	case <-l.stopped:
		select {
		case err := <-waiting.done:
			return err
		default:
			l.noteLost(errClosed)
			return errClosed
		}
	}
}

// Reopen opens the path again, after another program has moved the file, and waits for that. If the disk
// does not respond in time, the goroutine reopens it later. On failure it logs an error and continues with
// the open file.
func (l *Log) Reopen() {
	done := make(chan struct{})
	select {
	case l.reopens <- done:
	default:
		return // another Reopen is waiting
	}
	limit := time.NewTimer(l.wait)
	defer limit.Stop()
	select {
	case <-done:
	case <-l.stopped:
	case <-limit.C:
	}
}

// Close writes the queued lines and closes the file. It stops waiting when ctx ends.
func (l *Log) Close(ctx context.Context) error {
	close(l.stop)
	select {
	case <-l.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the audit log was not closed: %w", ctx.Err())
	}
}

func (l *Log) run() {
	defer close(l.stopped)
	for {
		select {
		case first := <-l.queue:
			l.writeBatch(l.batchFrom(first))
		case done := <-l.reopens:
			l.reopenFile()
			close(done)
		case <-l.stop:
			for len(l.queue) > 0 {
				l.writeBatch(l.batchFrom(<-l.queue))
			}
			_ = l.file.Close() // each line was written with write(2)
			return
		}
	}
}

// batchFrom returns first and the lines that are queued behind it.
func (l *Log) batchFrom(first *entry) []*entry {
	batch := []*entry{first}
	for len(batch) < maxBatch {
		select {
		case next := <-l.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

func (l *Log) writeBatch(batch []*entry) {
	var flushed []*entry
	for _, next := range batch {
		err := l.file.writeLine(next.line)
		if err == nil && next.flush {
			flushed = append(flushed, next)
			continue
		}
		l.finish(next, err)
	}
	if len(flushed) > 0 {
		err := l.file.flush()
		for _, next := range flushed {
			l.finish(next, err)
		}
	}
	l.stalled.Store(false)
}

func (l *Log) finish(done *entry, err error) {
	if err != nil {
		l.noteLost(err)
	} else {
		l.noteWritten()
	}
	done.done <- err
}

func (l *Log) reopenFile() {
	opened, err := open(l.options.Path)
	if err != nil {
		l.options.Log.Error("cannot reopen the audit log; keeping the open file", "path", l.options.Path, "cause", err.Error())
		return
	}
	_ = l.file.Close() // each line was written with write(2)
	l.file = opened
}

// noteLost counts a lost line, and logs an error unless it did so within the last minute.
func (l *Log) noteLost(cause error) {
	l.lost.Add(1)
	l.reporting.Lock()
	defer l.reporting.Unlock()
	l.unsaid++
	if time.Since(l.reported) < reportInterval {
		return
	}
	l.reported, l.announced = time.Now(), true
	l.options.Log.Error("cannot write to the audit log; lines are lost",
		"path", l.options.Path, "lines_lost", l.unsaid, "cause", cause.Error())
}

// noteWritten counts a written line, and logs the recovery after lost lines.
func (l *Log) noteWritten() {
	l.written.Add(1)
	l.reporting.Lock()
	defer l.reporting.Unlock()
	if l.unsaid == 0 || !l.announced && time.Since(l.reported) < reportInterval {
		return
	}
	l.options.Log.Warn("the audit log is writable again", "path", l.options.Path, "lines_lost", l.unsaid)
	l.unsaid, l.announced = 0, false
}
