//go:build !linux

package serve

import "net"

// sendQueue returns -1: on this platform only bytes that the kernel accepts from a Write count as
// progress.
func sendQueue(net.Conn) int { return -1 }
