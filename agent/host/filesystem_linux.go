package host

import "syscall"

// blockSize is the unit that blocks are counted in. It is the fragment's size, which
// file systems in user space set apart from the size that is best for reading; a file
// system that has no fragments leaves it 0.
func blockSize(stat *syscall.Statfs_t) uint64 {
	if stat.Frsize > 0 {
		return uint64(stat.Frsize)
	}
	return uint64(stat.Bsize) // sizes are positive
}
