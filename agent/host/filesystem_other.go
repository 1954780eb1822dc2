//go:build !linux

package host

import "syscall"

// blockSize lets the package be built where there are no machines for it.
func blockSize(stat *syscall.Statfs_t) uint64 { return uint64(stat.Bsize) }
