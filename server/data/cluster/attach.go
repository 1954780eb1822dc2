package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pidFileContent is the part of postmaster.pid that this package reads: a server writes it into its data directory.
type pidFileContent struct {
	pid       int
	port      string
	socketDir string
}

// attachTimeout is how long a live process that may be a server can reject connections before adopt returns an error.
const attachTimeout = 10 * time.Second

// adopt finds the server that a killed owner left running; nil if there is none. The caller holds the lock, so no other
// process starts or stops one.
func adopt(ctx context.Context, at home) (*postmaster, error) {
	for deadline := time.Now().Add(attachTimeout); ; {
		// Each attempt reads the file again: a starting server completes it step by step.
		left, err := readPIDFile(at.pidFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !at.mayServe(left.pid) {
			return nil, nil
		}
		if err = answers(ctx, left.socketDir, left.port, at.data()); err == nil {
			return follow(at, left), nil
		}
		// A server that reports that it is starting or stopping is worth waiting for without a limit.
		if !isStartingUp(err) && time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d holds the data in %s but does not respond on its socket: %w",
				left.pid, at.data(), err)
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// readPIDFile parses postmaster.pid: the process, the data directory, the start time, the port, the directory of the
// socket, and more that is not needed.
func readPIDFile(path string) (pidFileContent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return pidFileContent{}, err
	}
	return parsePIDFile(string(text))
}

func parsePIDFile(text string) (pidFileContent, error) {
	lines := strings.Split(text, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return pidFileContent{}, fmt.Errorf("postmaster.pid names no process: %q", lines[0])
	}
	content := pidFileContent{pid: pid}
	if len(lines) >= 5 {
		content.port, content.socketDir = strings.TrimSpace(lines[3]), lines[4]
	}
	return content, nil
}

// RunningURL returns the URL of the server of a cluster that another process has open, for callers that only read.
func RunningURL(ctx context.Context, options Options) (string, error) {
	options = options.withDefaults()
	at, err := locate(options)
	if err != nil {
		return "", err
	}
	left, err := readPIDFile(at.pidFile())
	if err != nil {
		return "", err
	}
	return serverURL(left.socketDir, left.port, options.Database), answers(ctx, left.socketDir, left.port, at.data())
}

// follow returns a postmaster for a server that is not a child of this process.
func follow(at home, left pidFileContent) *postmaster {
	server := &postmaster{
		pid:       left.pid,
		socketDir: left.socketDir,
		port:      left.port,
		adopted:   true,
		exited:    make(chan struct{}),
	}
	server.signal = func(s os.Signal) error {
		number, ok := s.(syscall.Signal)
		if !ok || !at.mayServe(left.pid) {
			return os.ErrProcessDone
		}
		return syscall.Kill(left.pid, number)
	}
	go func() {
		defer close(server.exited)
		for at.mayServe(left.pid) {
			time.Sleep(5 * pollInterval)
		}
	}()
	return server
}

// answers connects to a server and returns an error unless it serves this data directory.
func answers(ctx context.Context, socketDir, port, data string) error {
	ctx, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	conn, err := pgx.Connect(ctx, serverURL(socketDir, port, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var served string
	if err := conn.QueryRow(ctx, "SELECT current_setting('data_directory')").Scan(&served); err != nil {
		return err
	}
	if realPath(served) != realPath(data) {
		return fmt.Errorf("the server on %s serves %s", socketDir, served)
	}
	return nil
}

// logsTo reports whether a server writes its log to a directory with rotation; false if it cannot be queried.
func logsTo(ctx context.Context, server *postmaster, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	conn, err := pgx.Connect(ctx, serverURL(server.socketDir, server.port, "postgres"))
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	var logs bool
	const query = "SELECT current_setting('logging_collector')::boolean AND current_setting('log_directory') = $1"
	err = conn.QueryRow(ctx, query, dir).Scan(&logs)
	return err == nil && logs
}

// cannotConnectNow is the SQLSTATE of a server that is starting, recovering or stopping.
const cannotConnectNow = "57P03"

func isStartingUp(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == cannotConnectNow
}

// transient reports whether an error is that of a server that is not up yet. Until it listens, its socket is missing or
// rejects connections, and a connection may fail.
func transient(err error) bool {
	return isStartingUp(err) || pgconn.Timeout(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}
