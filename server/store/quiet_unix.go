//go:build unix

package store

import (
	"net"
	"syscall"
)

// quiet tells whether a connection on which nothing is expected has nothing to say:
// neither that the other side closed it, nor what it said before it did. It costs one
// system call and waits for nothing. What it can't look into is taken for quiet.
func quiet(connection net.Conn) bool {
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
	// Not Read, which would wait for one that the driver may have going on.
	err = raw.Control(func(descriptor uintptr) {
		var first [1]byte
		_, _, err := syscall.Recvfrom(int(descriptor), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	})
	return err == nil && nothing
}
