// Package spool buffers complete responses until their clients have read them, so that a client that reads
// slowly occupies neither a database connection nor a slot among the running requests. A response is first
// in memory and then in an unlinked file; both have limits over all responses.
//
// It is not for HTTP: the server decides what a response contains, and what a client receives when the
// spool is full.
package spool

import (
	"fmt"
	"os"
	"sync/atomic"
)

const (
	// maxInMemory is the maximum size of one response in memory if files are possible.
	maxInMemory = 1 << 20
	// fileStep is the unit in which file space is charged. A response in a file is charged at least one,
	// so the limit also bounds the number of open files.
	fileStep = 1 << 20
	// overhead is the cost of a response that waits for its client in addition to its bytes: the stack of
	// its goroutine and the buffers of its connection.
	overhead = 16 << 10
)

// Options contains the limits of a Spool.
type Options struct {
	// Memory is the limit in bytes for all responses in memory; 0: no limit.
	Memory int64
	// Dir is the directory of the files; empty: the spool uses no files.
	Dir string
	// FileBytes is the limit in bytes for all responses in files; 0: the spool uses no files.
	FileBytes int64
}

// Spool is the space that all responses share. It is safe for concurrent use.
type Spool struct {
	dir string
	// Responses in production leave a quarter of the memory to responses that wait for clients.
	memory, files                 budget
	producers                     int64
	inMemory, inFile              atomic.Int64
	fullMemory, fullFiles, failed atomic.Int64
}

// New returns a Spool. It creates a file in Dir and removes it, and returns an error if that fails.
func New(options Options) (*Spool, error) {
	spool := &Spool{memory: budget{limit: options.Memory}, producers: options.Memory - options.Memory/4}
	if options.Dir == "" || options.FileBytes == 0 {
		return spool, nil
	}
	spool.dir, spool.files.limit = options.Dir, options.FileBytes
	file, err := spool.create()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Write([]byte{0}); err != nil {
		return nil, err
	}
	return spool, nil
}

// create creates a file that disappears with the process, even after a crash.
func (s *Spool) create() (*os.File, error) {
	file, err := os.CreateTemp(s.dir, "berth-answer-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Reason is the reason for which a response was rejected.
type Reason string

// The reasons for a rejected response.
const (
	// MemoryFull means that the memory limit is reached and files are disabled.
	MemoryFull Reason = "memory"
	// FilesFull means that the limit of files is reached.
	FilesFull Reason = "files"
	// Disk means that a file could not be created, written or read.
	Disk Reason = "disk"
)

// Error is the error of a response that the spool rejected.
type Error struct {
	Reason Reason
	// Cause is the error of the disk, nil for the other reasons.
	Cause error
}

// Error returns a text for the log.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("cannot buffer the response (%s): %s", e.Reason, e.Cause)
	}
	return fmt.Sprintf("cannot buffer the response (%s): the limit for all responses is reached", e.Reason)
}

// Unwrap returns the error of the disk.
func (e *Error) Unwrap() error { return e.Cause }

func (s *Spool) full(reason Reason, cause error) error {
	switch reason {
	case MemoryFull:
		s.fullMemory.Add(1)
	case FilesFull:
		s.fullFiles.Add(1)
	case Disk:
		s.failed.Add(1)
	}
	return &Error{Reason: reason, Cause: cause}
}

// Stat contains the current use of a Spool and its counters.
type Stat struct {
	// Memory and Files are the bytes that are charged now; the limits are 0 if memory is not limited, or
	// files are disabled.
	Memory, MemoryLimit, Files, FilesLimit int64
	// InMemory and InFile count responses by their final place. Responses of up to FreeBytes are in
	// neither.
	InMemory, InFile int64
	// Rejected counts the rejected responses by reason.
	Rejected map[Reason]int64
}

// Stat returns values for metrics.
func (s *Spool) Stat() Stat {
	return Stat{
		Memory: s.memory.used.Load(), MemoryLimit: s.memory.limit, Files: s.files.used.Load(), FilesLimit: s.files.limit,
		InMemory: s.inMemory.Load(), InFile: s.inFile.Load(),
		Rejected: map[Reason]int64{MemoryFull: s.fullMemory.Load(), FilesFull: s.fullFiles.Load(), Disk: s.failed.Load()},
	}
}

// budget counts bytes up to a limit; 0 is no limit.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take charges n bytes unless more than upTo would be in use.
func (b *budget) take(n, upTo int64) bool {
	if used := b.used.Add(n); b.limit == 0 || used <= upTo {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }
