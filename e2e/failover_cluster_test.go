//go:build client

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/server/data/cluster"
)

// node is a separate PostgreSQL server on loopback, like one that an operator runs.
type node struct {
	t               *testing.T
	dir             string
	port            int
	binaries        cluster.Binaries
	trackedResource *syscall.Credential
	server          *exec.Cmd
	ended           chan struct{}
}

// newNode has a directory and a port, and no data yet.
func newNode(t *testing.T) *node {
	t.Helper()
	binaries, err := cluster.Find(0)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, port: freePort(t), binaries: binaries, trackedResource: unprivileged(t)}
	// Not t.TempDir, which the account may not enter.
	if n.dir, err = os.MkdirTemp("", "berth-node-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(n.dir) })
	if n.trackedResource != nil {
		if err := os.Chown(n.dir, int(n.trackedResource.Uid), int(n.trackedResource.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// unprivileged returns the account for programs that do not run as root; nil: the account of the test.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// newPrimary is a server with an empty database berth.
func newPrimary(t *testing.T, settings ...string) *node {
	t.Helper()
	n := newNode(t)
	n.run("initdb", "--pgdata="+n.data(), "--username=berth", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	n.configure(append([]string{"wal_level = replica", "max_connections = 100"}, settings...)...)
	n.start()
	n.exec("postgres", "CREATE DATABASE berth")
	return n
}

// newStandby follows a primary from now on, under its own name.
func newStandby(t *testing.T, primary *node, name string, settings ...string) *node {
	t.Helper()
	n := newNode(t)
	n.run("pg_basebackup", "--pgdata="+n.data(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		"--dbname="+fmt.Sprintf("host=127.0.0.1 port=%d user=berth application_name=%s", primary.port, name))
	n.configure(append([]string{"hot_standby_feedback = on", "wal_retrieve_retry_interval = 100ms"}, settings...)...)
	n.start()
	return n
}

func (n *node) data() string { return filepath.Join(n.dir, "data") }

// command is a program of PostgreSQL under the account that may run it.
func (n *node) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, args...)
	command.Dir = n.dir
	command.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: n.trackedResource}
	return command
}

func (n *node) run(program string, args ...string) {
	n.t.Helper()
	if said, err := n.command(n.binaries.Path(program), args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", program, err, said)
	}
}

func (n *node) configure(settings ...string) {
	n.t.Helper()
	file, err := os.OpenFile(filepath.Join(n.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	defer file.Close()
	settings = append(settings, "listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", fmt.Sprintf("port = %d", n.port))
	if _, err := file.WriteString("\n" + strings.Join(settings, "\n") + "\n"); err != nil {
		n.t.Fatal(err)
	}
}

// start begins to serve, until stop, crash or the end of the test.
func (n *node) start() {
	n.t.Helper()
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close()
	server := n.command(n.binaries.Path("postgres"), "-D", n.data())
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended := make(chan struct{})
	n.server, n.ended = server, ended
	go func() {
		_ = server.Wait() // the log says why it ended
		close(ended)
	}()
	n.t.Cleanup(func() {
		if n.server == server {
			n.stop()
		}
		if n.t.Failed() {
			n.t.Logf("the log of the server on port %d:\n%s", n.port, tail(n.log(), 4000))
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if n.command(n.binaries.Path("pg_isready"), "-q", "-U", "berth", "-h", "127.0.0.1", "-p", strconv.Itoa(n.port)).Run() == nil {
			return
		}
		select {
		case <-ended:
			n.t.Fatalf("the server ended:\n%s", n.log())
		default:
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the server does not answer:\n%s", n.log())
		}
	}
}

// stop ends the server as at a reboot: connections are cut, everything is written.
func (n *node) stop() {
	n.t.Helper()
	if n.server == nil {
		return
	}
	_ = n.server.Process.Signal(syscall.SIGINT) // it may have ended by itself
	select {
	case <-n.ended:
	case <-time.After(20 * time.Second):
		n.t.Errorf("the server on port %d does not stop", n.port)
		n.crash()
	}
	n.server = nil
}

// crash kills the server and all its children at once. They write nothing more, and close no connection in an orderly
// way.
func (n *node) crash() {
	n.t.Helper()
	// So that it makes no more children, and does not see those die.
	_ = n.server.Process.Signal(syscall.SIGSTOP)
	for _, child := range childrenOf(n.t, n.server.Process.Pid) {
		_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended by itself
	}
	_ = n.server.Process.Kill()
	<-n.ended
	n.server = nil
}

// childrenOf are the processes that a process has begun and that are left.
func childrenOf(t *testing.T, parent int) (children []int) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		stat, err := os.ReadFile(entry)
		if err != nil {
			continue // it is gone
		}
		after := stat[bytes.LastIndexByte(stat, ')')+1:] // the name before may hold anything
		fields := strings.Fields(string(after))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children
}

// promote makes a standby the primary.
func (n *node) promote() {
	n.t.Helper()
	n.run("pg_ctl", "promote", "--wait", "--pgdata="+n.data())
}

func (n *node) logFile() string { return filepath.Join(n.dir, "log") }

func (n *node) log() string {
	text, err := os.ReadFile(n.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func tail(text string, most int) string { return text[max(0, len(text)-most):] }

// url is the address of its database berth, or of that of several servers.
func (n *node) url(others ...*node) string {
	hosts := fmt.Sprintf("127.0.0.1:%d", n.port)
	for _, other := range others {
		hosts += fmt.Sprintf(",127.0.0.1:%d", other.port)
	}
	return "postgres://berth@" + hosts + "/berth?sslmode=disable"
}

// pool is for the test's own look.
func (n *node) pool(database string) *pgxpool.Pool {
	n.t.Helper()
	pool, err := pgxpool.New(n.t.Context(), strings.Replace(n.url(), "/berth?", "/"+database+"?", 1))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(pool.Close)
	return pool
}

func (n *node) exec(database string, statements ...string) {
	n.t.Helper()
	pool := n.pool(database)
	defer pool.Close()
	for _, statement := range statements {
		if _, err := pool.Exec(n.t.Context(), statement); err != nil {
			n.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// await waits until a query gives true.
func (n *node) await(query string) {
	n.t.Helper()
	pool := n.pool("postgres")
	defer pool.Close()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Second)
	defer cancel()
	for {
		var is bool
		if err := pool.QueryRow(ctx, query).Scan(&is); err != nil {
			n.t.Fatalf("%s: %v", query, err)
		}
		if is {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
