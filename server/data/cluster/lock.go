package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// InUseError is the error for data that another process holds.
type InUseError struct {
	// Dir is the home of the cluster.
	Dir string
	// PID is the owner, or 0 if the lock file does not contain it.
	PID int
}

// Error contains the directory and, if known, the process.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the database in %s is in use by another berth", e.Dir)
	}
	return fmt.Sprintf("the database in %s is in use by another berth (pid %d)", e.Dir, e.PID)
}

// acquire takes the lock of a cluster and writes this process's id into it. The kernel releases the lock when the
// process ends. The server does not inherit it, because Go opens files close-on-exec.
func acquire(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the database: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := &InUseError{Dir: filepath.Dir(path), PID: readPID(file)}
		return nil, errors.Join(held, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	if err := writePID(file); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), file.Close())
	}
	return file, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns the process that holds the lock; 0 if it has not written its id yet.
func readPID(file *os.File) int {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
