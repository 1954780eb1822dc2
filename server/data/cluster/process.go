package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// identity is the result of identifying the process whose number is in a pid file. The system reuses numbers, in
// containers quite soon.
type identity int

const (
	dead        identity = iota // no such process, or a zombie
	another                     // certainly not the server of this data
	maybeServer                 // the server, as far as the system permits to check
)

// identify returns maybeServer in doubt: if a live server counted as dead, two servers would run on the same data.
func (h home) identify(pid int) identity {
	switch err := syscall.Kill(pid, 0); {
	case errors.Is(err, syscall.ESRCH):
		return dead
	case errors.Is(err, syscall.EPERM) && os.Geteuid() != 0:
		return another // this cluster's server runs under its account
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) && procMounted() {
		return dead
	}
	if err != nil {
		return maybeServer
	}
	name, state := parseStat(string(stat))
	if state == "Z" || state == "X" {
		return dead
	}
	if name != "postgres" && name != "postmaster" {
		return another
	}
	// A server works in its data directory. The root user of a container may lack the permission to read the link.
	where, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err == nil && where != realPath(h.data()) {
		return another
	}
	return maybeServer
}

func (h home) mayServe(pid int) bool { return h.identify(pid) == maybeServer }

// parseStat parses the command and the state in Linux's /proc/<pid>/stat, such as "4711 (postgres) S 1 ...". The
// command may contain any character, so the last parenthesis ends it.
func parseStat(text string) (name, state string) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", ""
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) == 0 {
		return text[open+1 : end], ""
	}
	return text[open+1 : end], fields[0]
}

func procMounted() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
