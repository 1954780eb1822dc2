//go:build !linux

package host

import "syscall"

// blockSize makes the package compile on systems that the driver does not support.
func blockSize(stat *syscall.Statfs_t) uint64 { return uint64(stat.Bsize) }
