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

// pidFileContent is what a server writes into its data directory about itself.
type pidFileContent struct {
	pid       int
	port      string
	socketDir string
}

// adoptPatience is how long a live process that looks like a server may refuse
// connections before it is taken for something else.
const adoptPatience = 10 * time.Second

// adopt finds the server that a killed owner left running. Nil means there is
// none. The lock is held, so nobody else is starting or stopping one.
func adopt(ctx context.Context, at home) (*postmaster, error) {
	for deadline := time.Now().Add(adoptPatience); ; {
		// Read again each time: a starting server completes its file bit by bit.
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
		// A server that says that it is starting or stopping is worth waiting
		// for, however long it takes.
		if !saysWait(err) && time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d holds the data in %s but does not answer on its socket: %w",
				left.pid, at.data(), err)
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// readPIDFile reads postmaster.pid: the process, the data directory, the start
// time, the port, the directory of the socket, and more that is not needed.
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

// RunningURL is where the server of a cluster can be reached that another process
// has open, for those who only want to look.
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

// follow watches a server that is not our child.
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

// answers connects to a server and makes sure that it is the one of this data.
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

// cannotConnectNow is the SQLSTATE of a server that is starting, recovering or
// stopping.
const cannotConnectNow = "57P03"

func saysWait(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == cannotConnectNow
}

// transient tells a server that is not up yet from one that will not do. Until
// it listens, its socket is missing or deaf, and a connection may break off.
func transient(err error) bool {
	return saysWait(err) || pgconn.Timeout(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}
