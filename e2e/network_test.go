//go:build client

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// network is a network namespace, and the thread that is in it.
type network struct {
	t     *testing.T
	calls chan func()
}

// newNetwork creates a network namespace with a loopback interface. It ends with the test.
func newNetwork(t *testing.T) *network {
	t.Helper()
	n, begun := &network{t, make(chan func())}, make(chan error)
	go func() {
		// The goroutine never unlocks the thread, so the runtime ends the thread with it.
		runtime.LockOSThread()
		begun <- enterNetwork()
		for call := range n.calls {
			call()
		}
	}()
	t.Cleanup(func() { close(n.calls) })
	if err := <-begun; err != nil {
		t.Fatalf("cannot create a network namespace: %v", err)
	}
	return n
}

// enterNetwork moves the calling thread to a network namespace of its own.
func enterNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}

// do calls do on the thread of the namespace. Sockets and processes that it creates belong to the namespace.
func (n *network) do(do func()) {
	done := make(chan struct{})
	n.calls <- func() { defer close(done); do() }
	<-done
}

func (n *network) dial(address string) (connection net.Conn, err error) {
	n.do(func() { connection, err = net.DialTimeout("tcp", address, 10*time.Second) })
	return connection, err
}

// forwardDatabase listens in the namespace, forwards connections to a database outside, and returns its URL.
func (n *network) forwardDatabase(database string) string {
	n.t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		n.t.Fatal(err)
	}
	kind, at := "tcp", net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	if strings.HasPrefix(config.Host, "/") {
		kind, at = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	var listener net.Listener
	n.do(func() { listener, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(kind, at)
			if err != nil {
				near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
		}
	}()
	forwarded := url.URL{Scheme: "postgres", Host: listener.Addr().String(), Path: "/" + config.Database, RawQuery: "sslmode=disable",
		User: url.UserPassword(config.User, config.Password)}
	return forwarded.String()
}
