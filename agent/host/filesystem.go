package host

import "syscall"

// filesystem asks the kernel, which neither /proc nor ghw replace: a file system
// may be on something that is no disk.
func (s discoverer) filesystem(path string) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(s.path(path), &stat); err != nil {
		s.found.miss(PartFilesystem, "the file system of %s cannot be looked at: %v", path, err)
		return
	}
	bytes := stat.Blocks * blockSize(&stat)
	s.found.Filesystem = &Filesystem{Path: path, TotalGB: int64(bytes >> 30)}
}
