package host

import "syscall"

// blockSize returns the unit of the block counts of statfs: the fragment size, which differs from the preferred I/O size
// in some FUSE file systems. It is 0 in file systems without fragments, whose unit is the block size.
func blockSize(stat *syscall.Statfs_t) uint64 {
	if stat.Frsize > 0 {
		return uint64(stat.Frsize)
	}
	return uint64(stat.Bsize) // sizes are positive
}
