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
	// pollInterval is how often a server is asked whether it is up or gone.
	pollInterval = 20 * time.Millisecond
	// stopTimeout bounds the stop of a server whose start went wrong.
	stopTimeout = 20 * time.Second
	// killGrace is how long a server may take to die once it was told to stop
	// at once.
	killGrace = 5 * time.Second
	// orphanGrace is how long the children of a killed server may hold on to
	// the data before a start is given up.
	orphanGrace = 15 * time.Second
	// logLimit is the size at which the server's log is put aside at a start.
	logLimit = 8 << 20
)

// defaultSettings hold for every private server. fsync and full_page_writes
// keep their safe defaults.
var defaultSettings = map[string]string{
	"listen_addresses":        "",
	"unix_socket_permissions": "0700",
	"max_connections":         "200",
	"timezone":                "UTC",
	"log_timezone":            "UTC",
	"log_checkpoints":         "off",
	"log_line_prefix":         "%m [%p] ",
}

// postmaster is the main process of a server, ours or adopted.
type postmaster struct {
	pid       int
	socketDir string
	port      string
	adopted   bool
	signal    func(os.Signal) error
	exited    chan struct{}
}

// launch starts a server and waits until it answers. After a crash the first
// attempts may fail while the children of the dead server let go of its
// memory, so a start on data with a stale pid file is tried for a while.
func launch(ctx context.Context, at home, settings map[string]string) (*postmaster, error) {
	stale, err := at.clearStale()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(orphanGrace); ; {
		server, err := spawn(ctx, at, settings)
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

var errEarlyExit = errors.New("PostgreSQL ended while it was starting")

// spawn makes one attempt at starting a server.
func spawn(ctx context.Context, at home, settings map[string]string) (*postmaster, error) {
	socketDir, err := makeSocketDir(at)
	if err != nil {
		return nil, err
	}
	server, logOffset, err := execute(at, socketDir, settings)
	if err != nil {
		removeSocketDir(socketDir)
		return nil, err
	}
	if err := server.awaitReady(ctx, at); err != nil {
		// The context may be over already, and the server must not stay behind.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, server.stop(bounded))
		removeSocketDir(socketDir)
		if tail := logSince(at.logFile(), logOffset); tail != "" {
			err = fmt.Errorf("%w; its log %s says:\n%s", err, at.logFile(), tail)
		}
		return nil, err
	}
	return server, nil
}

// execute starts the process. It gets a session of its own: a Ctrl-C typed at
// the owner must not stop the server before the owner has drained.
func execute(at home, socketDir string, settings map[string]string) (*postmaster, int64, error) {
	log, offset, err := openLog(at.logFile())
	if err != nil {
		return nil, 0, err
	}
	defer log.Close() // the server has its own copy
	args := []string{"-D", at.data(), "-k", socketDir, "-p", socketPort}
	for _, name := range sortedKeys(settings) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// Not bound to a context: the server outlives Open.
	command, err := at.command(context.Background(), "postgres", args...)
	if err != nil {
		return nil, 0, err
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr.Setsid = true
	if err := command.Start(); err != nil {
		return nil, 0, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return watch(command, socketDir), offset, nil
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
		// How it ended is in its log; that it ended is what matters here.
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
			return fmt.Errorf("PostgreSQL did not come up in time: %w", errors.Join(ctx.Err(), err))
		case <-time.After(pollInterval):
		}
	}
}

// stop asks for a fast shutdown and, when the context ends first, for an
// immediate one.
func (p *postmaster) stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil && !gone(err) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	}
	if err := p.signal(syscall.SIGQUIT); err != nil && !gone(err) {
		return errors.Join(ctx.Err(), err)
	}
	select {
	case <-p.exited:
		return fmt.Errorf("stopped at once instead of cleanly: %w", ctx.Err())
	case <-time.After(killGrace):
		return fmt.Errorf("process %d does not stop: %w", p.pid, ctx.Err())
	}
}

func gone(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// openLog opens the server's log for appending and says where it ends now. A
// log that has grown large is put aside first; one older log is kept.
func openLog(path string) (*os.File, int64, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("put the log of PostgreSQL aside: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log of PostgreSQL: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, info.Size(), nil
}

// logSince returns the last lines that were logged after an offset.
func logSince(path string, offset int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) <= offset {
		return ""
	}
	return lastLines(string(text[offset:]), 15)
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

// clearStale removes what a killed server left in the way of the next one, and
// says whether there was anything. PostgreSQL sorts out most of it on its own;
// but when the system was restarted since, another process of the same account
// may have the old server's number, and then it would refuse to start. The
// lock is held and adopt has found no live server.
func (h home) clearStale() (bool, error) {
	left, err := readPIDFile(h.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, nil // unreadable: PostgreSQL knows best
	}
	removeSocketDir(left.socketDir)
	if h.identify(left.pid) == another {
		if err := os.Remove(h.pidFile()); err != nil {
			return true, fmt.Errorf("remove a stale pid file: %w", err)
		}
	}
	return true, nil
}
