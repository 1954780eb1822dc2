package serve

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

	"github.com/berthd/berth/cmd/berth/config"
)

// unixListener is a Unix socket with its lock file.
type unixListener struct {
	*net.UnixListener
	lock  *os.File
	close sync.Once
	err   error
}

// Close removes the socket and then releases the lock.
func (l *unixListener) Close() error {
	l.close.Do(func() { l.err = errors.Join(l.UnixListener.Close(), l.lock.Close()) })
	return l.err
}

// listenUnix creates a Unix socket. It locks a permanent file beside the socket while the server
// runs. The kernel releases the lock when the process dies, so a socket without a lock is stale,
// and two processes that start concurrently do not remove each other's socket.
func listenUnix(ctx context.Context, path string, mode fs.FileMode, owner config.Ownership) (net.Listener, error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot create the socket %s: %w; its directory must exist and be writable", path, err)
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

func makeSocket(ctx context.Context, path string, mode fs.FileMode, owner config.Ownership) (*net.UnixListener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	// The umask sets the mode before the socket has a name, so that no other user can connect in
	// between. Chmod sets it again, because the umask can only clear bits.
	opener := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), uint32(mode)) })
	}}
	listening, err := opener.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot create the socket %s: %w", path, err)
	}
	listener := listening.(*net.UnixListener)
	if err := os.Lchown(path, owner.User, owner.Group); err != nil && (owner != config.Ownership{User: -1, Group: -1}) {
		return nil, errors.Join(fmt.Errorf("cannot change the owner of the socket %s: %w; see --socket-owner", path, err), listener.Close())
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set the mode of the socket %s: %w", path, err), listener.Close())
	}
	return listener, nil
}

// removeStale removes the socket of a process that has died. It returns an error for a file that
// is not a socket, and for a socket with a listener.
func removeStale(ctx context.Context, path string) error {
	found, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot stat the socket %s: %w", path, err)
	case found.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket; remove it, or choose another path with --listen", path)
	}
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another program listens on the socket %s; stop it, or choose another path with --listen", path), connection.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot determine whether a process listens on the socket %s: %w; remove it if none does", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the stale socket %s: %w", path, err)
	}
	return nil
}
