package cluster

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// minRestartDelay and maxRestartDelay limit the backoff between two starts.
	minRestartDelay = 250 * time.Millisecond
	maxRestartDelay = 5 * time.Second
	// stableAfter is the run time after which the exit of a server resets the backoff.
	stableAfter = 30 * time.Second
	// restartTimeout is how long starts may fail for another reason than a full disk. One attempt on the data of a
	// killed server takes half of it.
	restartTimeout = 30 * time.Second
	// minFreeBytes is what PostgreSQL needs to start after a crash: one file of WAL.
	minFreeBytes = 16 << 20
)

// restarts counts the servers that replaced one that exited.
type restarts struct{ count atomic.Int64 }

// Restarts returns how often the server was restarted.
func (c *Cluster) Restarts() int64 {
	if c.restarts == nil {
		return 0
	}
	return c.restarts.count.Load()
}

// supervise restarts the server when it exits, if Options.Restart is set, and closes exited when it does not.
func (c *Cluster) supervise() {
	defer close(c.exited)
	for delay := time.Duration(0); ; {
		server, began := c.running(), time.Now()
		<-server.exited
		if c.restarts == nil || c.closing.Err() != nil {
			return
		}
		if time.Since(began) >= stableAfter {
			delay = 0
		}
		c.log.Error("the private PostgreSQL exited unexpectedly; restarting it", "directory", c.home.dir, "pid", server.pid,
			"disk_full", c.home.isDiskFull(nil), "log_directory", c.home.logDir())
		var err error
		if delay, err = c.startAgain(server.socketDir, delay); err != nil {
			if c.closing.Err() == nil {
				c.log.Error("cannot start the private PostgreSQL; giving up", "directory", c.home.dir, "cause", err)
			}
			return
		}
	}
}

// startAgain starts a server that replaces one that exited. It retries as long as the disk is full, and returns the
// delay before the last attempt.
func (c *Cluster) startAgain(socketDir string, delay time.Duration) (time.Duration, error) {
	for begun := time.Now(); ; {
		delay = min(max(2*delay, minRestartDelay), maxRestartDelay)
		if err := pause(c.closing, delay); err != nil {
			return delay, err
		}
		server, err := c.replaceServer(socketDir)
		if err == nil {
			c.restarts.count.Add(1)
			c.log.Info("private PostgreSQL is up", "directory", c.home.dir, "pid", server.pid, "restarts", c.Restarts())
			return delay, nil
		}
		if c.closing.Err() != nil {
			return delay, err
		}
		full := c.home.isDiskFull(err)
		if full {
			begun = time.Now()
		} else if time.Since(begun) > restartTimeout {
			return delay, err
		}
		c.log.Warn("cannot start the private PostgreSQL; retrying", "directory", c.home.dir, "disk_full", full, "cause", err)
	}
}

// replaceServer makes one attempt, which Close cancels.
func (c *Cluster) replaceServer(socketDir string) (*postmaster, error) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if err := c.closing.Err(); err != nil {
		return nil, err
	}
	server, err := launch(c.closing, c.home, socketDir, c.settings)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.server = server
	return server, nil
}

// isDiskFull reports whether the server exited or failed to start because the disk of its data is full. That is the
// case if the error or the log reports it (the log may have been full too), or if no space is left on the disk.
func (h home) isDiskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	if failed, ok := errors.AsType[*startError](err); ok {
		for _, reason := range []error{syscall.ENOSPC, syscall.EDQUOT} {
			if strings.Contains(strings.ToLower(failed.tail), reason.Error()) {
				return true
			}
		}
	}
	var disk syscall.Statfs_t
	if syscall.Statfs(h.data(), &disk) != nil {
		return false
	}
	return uint64(disk.Bavail)*uint64(disk.Bsize) < minFreeBytes
}
