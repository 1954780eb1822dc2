package serve

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendQueue returns the number of bytes that the client has not acknowledged, or not read from a
// Unix socket; -1 if unknown.
func sendQueue(conn net.Conn) int {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return -1
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return -1
	}
	queued := -1
	if err := raw.Control(func(descriptor uintptr) {
		if found, err := unix.IoctlGetInt(int(descriptor), unix.SIOCOUTQ); err == nil {
			queued = found
		}
	}); err != nil {
		return -1
	}
	return queued
}
