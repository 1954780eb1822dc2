package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	// pollInterval is the interval between checks whether a server is up or has exited.
	pollInterval = 20 * time.Millisecond
	// stopTimeout limits stopping a server whose start failed.
	stopTimeout = 20 * time.Second
	// killGrace is how long a server may take to exit after an immediate shutdown.
	killGrace = 5 * time.Second
	// orphanGrace is how long the children of a killed server may use the data before a start fails.
	orphanGrace = 15 * time.Second
)

// defaultSettings apply to every private server. fsync and full_page_writes keep their safe defaults.
var defaultSettings = map[string]string{
	"listen_addresses":        "",
	"unix_socket_permissions": "0700",
	"max_connections":         "200",
	"timezone":                "UTC",
	"log_timezone":            "UTC",
	"log_checkpoints":         "off",
	// The SQLSTATE distinguishes a full disk (53100) from rule violations of requests.
	"log_line_prefix": "%m [%p] %e ",
	// PostgreSQL logs each rule violation as an error: with these settings one short line, without the statement and
	// the stack of functions.
	"log_error_verbosity":     "terse",
	"log_min_error_statement": "fatal",
}

// postmaster is the main process of a server: a child, or adopted.
type postmaster struct {
	pid       int
	socketDir string
	port      string
	adopted   bool
	signal    func(os.Signal) error
	exited    chan struct{}
}

// launch starts a server and waits until it accepts connections. After a crash the first attempts may fail while the
// children of the dead server still use its shared memory, so launch retries on data with a stale pid file.
func launch(ctx context.Context, at home, socketDir string, settings map[string]string) (*postmaster, error) {
	stale, err := at.clearStale(socketDir)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(orphanGrace); ; {
		server, err := spawn(ctx, at, socketDir, settings)
		if err == nil {
			return server, nil
		}
		if !stale || !errors.Is(err, errEarlyExit) || time.Now().After(deadline) {
			return nil, err
		}
		if err := pause(ctx, 10*pollInterval); err != nil {
			return nil, err
		}
	}
}

var errEarlyExit = errors.New("PostgreSQL exited while it was starting")

// spawn makes one attempt to start a server.
func spawn(ctx context.Context, at home, socketDir string, settings map[string]string) (*postmaster, error) {
	before := at.markLog()
	server, err := execute(at, socketDir, settings)
	if err != nil {
		return nil, err
	}
	if err := server.awaitReady(ctx, at); err != nil {
		// The context may have ended already, and the server must be stopped nevertheless.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, server.stop(bounded))
		if tail := at.awaitLog(bounded, before); tail != "" {
			err = &startError{cause: err, dir: at.logDir(), tail: tail}
		}
		return nil, err
	}
	return server, nil
}

// startError is a failed start of a server that has logged the reason.
type startError struct {
	cause     error
	dir, tail string
}

// Error contains the end of the log.
func (e *startError) Error() string {
	return fmt.Sprintf("%v; its log in %s says:\n%s", e.cause, e.dir, e.tail)
}

// Unwrap returns the cause.
func (e *startError) Unwrap() error { return e.cause }

// execute starts the process in a new session: Ctrl-C in the owner's terminal must not stop the server before the owner
// has drained.
func execute(at home, socketDir string, settings map[string]string) (*postmaster, error) {
	log, err := openLog(at.logFile())
	if err != nil {
		return nil, err
	}
	defer log.Close() // the server has its own copy
	args := []string{"-D", at.data(), "-k", socketDir, "-p", socketPort}
	for _, name := range sortedKeys(settings) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// The command is not bound to a context: the server outlives Open.
	command, err := at.command(context.Background(), "postgres", args...)
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr.Setsid = true
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return watch(command, socketDir), nil
}

func watch(command *exec.Cmd, socketDir string) *postmaster {
	server := &postmaster{
		pid:       command.Process.Pid,
		socketDir: socketDir,
		port:      socketPort,
		signal:    command.Process.Signal,
		exited:    make(chan struct{}),
	}
	go func() {
		// The log contains the reason of the exit; only the fact matters here.
		_ = command.Wait()
		close(server.exited)
	}()
	return server
}

func (p *postmaster) awaitReady(ctx context.Context, at home) error {
	for {
		err := answers(ctx, p.socketDir, p.port, at.data())
		if err == nil {
			return nil
		}
		if !transient(err) {
			return fmt.Errorf("PostgreSQL is up but cannot be used: %w", err)
		}
		select {
		case <-p.exited:
			return errEarlyExit
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not start in time: %w", errors.Join(ctx.Err(), err))
		case <-time.After(pollInterval):
		}
	}
}

// stop requests a fast shutdown and, if the context ends first, an immediate one.
func (p *postmaster) stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil && !hasExited(err) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	}
	if err := p.signal(syscall.SIGQUIT); err != nil && !hasExited(err) {
		return errors.Join(ctx.Err(), err)
	}
	select {
	case <-p.exited:
		return fmt.Errorf("stopped in immediate mode instead of fast mode: %w", ctx.Err())
	case <-time.After(killGrace):
		return fmt.Errorf("process %d does not stop: %w", p.pid, ctx.Err())
	}
}

func hasExited(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func sortedKeys(settings map[string]string) []string {
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// clearStale removes the files of a killed server that prevent a start, and reports whether there were any. PostgreSQL
// handles most of them itself. But after a restart of the system, another process of the same account may have the old
// server's number, and then PostgreSQL would refuse to start. The caller holds the lock, and adopt has found no live
// server. The directory of the next server's socket stays.
func (h home) clearStale(socketDir string) (bool, error) {
	left, err := readPIDFile(h.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, nil // unreadable: PostgreSQL decides
	}
	if left.socketDir != socketDir {
		removeSocketDir(left.socketDir)
	}
	if h.identify(left.pid) == another {
		if err := os.Remove(h.pidFile()); err != nil {
			return true, fmt.Errorf("remove a stale pid file: %w", err)
		}
	}
	return true, nil
}
