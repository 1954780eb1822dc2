//go:build unix

package postgres

import (
	"net"
	"syscall"
)

// isIdleConnOpen reports whether an idle connection has no data to read and is not closed by the other side. It costs
// one system call and does not wait. It returns true for connections that it cannot inspect.
func isIdleConnOpen(connection net.Conn) bool {
	for {
		wrapping, ok := connection.(interface{ NetConn() net.Conn }) // of TLS
		if !ok {
			break
		}
		connection = wrapping.NetConn()
	}
	plain, ok := connection.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return false // it is closed on this side
	}
	nothing := false
	// Not Read, which would wait for a read that the driver may have in progress.
	err = raw.Control(func(descriptor uintptr) {
		var first [1]byte
		_, _, err := syscall.Recvfrom(int(descriptor), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	})
	return err == nil && nothing
}
