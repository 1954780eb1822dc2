//go:build !unix

package postgres

import "net"

// isIdleConnOpen returns true: on this platform only a request to the other side shows whether it has closed a
// connection.
func isIdleConnOpen(net.Conn) bool { return true }
