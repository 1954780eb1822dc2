package host

import "syscall"

// filesystem reads the size of a file system with statfs. /proc and ghw do not have it for file systems that are not on
// a disk.
func (s discoverer) filesystem(path string) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(s.path(path), &stat); err != nil {
		s.found.miss(PartFilesystem, "cannot read the size of the file system of %s: %v", path, err)
		return
	}
	bytes := stat.Blocks * blockSize(&stat)
	s.found.Filesystem = &Filesystem{Path: path, TotalGB: int64(bytes >> 30)}
}
