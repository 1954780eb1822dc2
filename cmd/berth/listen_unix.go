package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// unixListener is a Unix socket with the lock that says whose it is.
type unixListener struct {
	*net.UnixListener
	lock  *os.File
	close sync.Once
	err   error
}

// Close removes the socket, and lets it go only then.
func (l *unixListener) Close() error {
	l.close.Do(func() { l.err = errors.Join(l.UnixListener.Close(), l.lock.Close()) })
	return l.err
}

// listenUnix makes a Unix socket. A file beside it, which stays, is locked for as
// long as it is served: the kernel gives the lock back when the process dies, so
// that a socket without one is known to be left over, and two processes that start
// at once do not take each other's.
func listenUnix(ctx context.Context, path string, mode fs.FileMode, owner ownership) (net.Listener, error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make the socket %s: %w; its directory must exist and be writable", path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the socket %s is served by another berth: %w; stop that one, or choose another path with --listen", path, err),
			lock.Close())
	}
	listener, err := makeSocket(ctx, path, mode, owner)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &unixListener{UnixListener: listener, lock: lock}, nil
}

func makeSocket(ctx context.Context, path string, mode fs.FileMode, owner ownership) (*net.UnixListener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	// The mode is set before the socket has a name, so that nobody can connect in
	// between; again afterwards, because the umask may have taken some of it away.
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), uint32(mode)) })
	}}
	listening, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot make the socket %s: %w", path, err)
	}
	listener := listening.(*net.UnixListener)
	if err := os.Lchown(path, owner.user, owner.group); err != nil && (owner != ownership{-1, -1}) {
		return nil, errors.Join(fmt.Errorf("cannot give the socket %s away: %w; see --socket-owner", path, err), listener.Close())
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set the mode of the socket %s: %w", path, err), listener.Close())
	}
	return listener, nil
}

// removeStale removes the socket of a process that has died. What is no socket, and
// what somebody listens on, stays.
func removeStale(ctx context.Context, path string) error {
	found, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot look at the socket %s: %w", path, err)
	case found.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket, and is not replaced by one; remove it, or choose another path with --listen", path)
	}
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another program listens on the socket %s; stop it, or choose another path with --listen", path), connection.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether somebody listens on the socket %s: %w; remove it if nobody does", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the socket %s, which a process has left behind: %w", path, err)
	}
	return nil
}
