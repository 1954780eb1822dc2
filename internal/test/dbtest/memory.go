package dbtest

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// memoryFiles is a file system in memory on Linux.
const memoryFiles = "/dev/shm"

const (
	// tmpfsMagic is the type of such a file system.
	tmpfsMagic = 0x01021994
	// minMemoryFiles and minAvailable are the bytes that must be free there, and of the machine's memory: for the WAL, which
	// max_wal_size bounds, and the databases of the tests that run at the same time, most of which have 10 MB.
	minMemoryFiles = 4 << 30
	minAvailable   = 8 << 30
)

// clusterDir returns the directory of the cluster, and whether it is in memory: creating and dropping a database creates and
// deletes 300 files, which takes several times as long on a disk. It is on the disk where the machine has too little memory,
// and for other directories than that of baseDir.
func (b base) clusterDir() (dir string, inMemory bool) {
	name := filepath.Base(string(b))
	dir = filepath.Join(memoryFiles, name+"-"+strconv.Itoa(os.Geteuid()))
	// A directory that exists can have a server whose keeper was killed.
	if !strings.HasPrefix(name, baseName) || !ownDir(dir) && (!hasMemory() || os.Mkdir(dir, 0o755) != nil) {
		return filepath.Join(string(b), "cluster"), false
	}
	return dir, true
}

// ownDir reports whether a directory belongs to this account: every account can create one there.
func ownDir(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, isKnown := info.Sys().(*syscall.Stat_t)
	return isKnown && int(owner.Uid) == os.Geteuid()
}

// hasMemory reports whether the machine and its file system in memory have enough space.
func hasMemory() bool {
	var files syscall.Statfs_t
	if err := syscall.Statfs(memoryFiles, &files); err != nil || uint64(files.Type) != tmpfsMagic {
		return false
	}
	text, err := os.ReadFile("/proc/meminfo")
	return err == nil && uint64(files.Bavail)*uint64(files.Bsize) >= minMemoryFiles && availableMemory(string(text)) >= minAvailable
}

// availableMemory returns the available memory in bytes from the text of /proc/meminfo; 0 if it has none.
func availableMemory(text string) uint64 {
	for line := range strings.Lines(text) {
		var kilobytes uint64
		if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}

// removeCluster deletes the directory of a stopped server if it takes memory.
func removeCluster(dir string, inMemory bool) {
	if !inMemory {
		return // the next keeper creates a new cluster there
	}
	if err := os.RemoveAll(dir); err != nil {
		slog.Warn("cannot remove the databases of the tests", "error", err)
	}
}
