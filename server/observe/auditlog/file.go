package auditlog

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Stdout is the path that means standard output.
const Stdout = "-"

// file is the open audit log. Only the goroutine of the Log uses it.
type file struct {
	*os.File
	// torn reports that the file ends with a part of a line, after a full disk or a crash.
	torn bool
}

// open opens the audit log for appending, and creates a regular file with mode 0640 if there is none. It
// does not wait for the reader of a named pipe.
func open(path string) (*file, error) {
	if path == Stdout {
		// A duplicate, because a write to descriptor 1 itself ends the process after its reader has
		// exited.
		copied, err := syscall.Dup(int(os.Stdout.Fd()))
		if err != nil {
			return nil, fmt.Errorf("cannot copy standard output: %w", err)
		}
		return &file{File: os.NewFile(uintptr(copied), "standard output")}, nil
	}
	opened, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return nil, err
	}
	found, err := opened.Stat()
	if err == nil && !found.Mode().IsRegular() && found.Mode()&os.ModeCharDevice == 0 {
		err = fmt.Errorf("%s is neither a regular file nor a character device; write to - and pipe standard output instead", path)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &file{File: opened, torn: found.Mode().IsRegular() && endsInside(path, found.Size())}, nil
}

// endsInside reports whether a file ends inside a line. It returns false for a file that this process may
// write but not read.
func endsInside(path string, size int64) bool {
	if size == 0 {
		return false
	}
	reading, err := os.Open(path)
	if err != nil {
		return false
	}
	defer reading.Close()
	last := make([]byte, 1)
	_, err = reading.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

// writeLine appends a line with one write(2). After a torn line it starts with a line feed, so that the
// torn line does not corrupt the new one.
func (f *file) writeLine(line []byte) error {
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.Write(line)
	if n > 0 {
		f.torn = line[n-1] != '\n'
	}
	return err
}

// flush waits until the disk has stored the lines (fsync). Devices and pipes do not support it.
func (f *file) flush() error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
