package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// socketPort is only part of the socket's name: the server does not listen on TCP, and the directory is private, so
	// it cannot conflict.
	socketPort = "5432"
	// socketDirPrefix is the prefix of directories that may be removed.
	socketDirPrefix = "berth-"
	// maxSocketPath is the shortest limit of the supported systems for the path of a Unix socket: macOS allows 103
	// bytes, Linux 107.
	maxSocketPath = 103
)

func socketName(port string) string { return ".s.PGSQL." + port }

// makeSocketDir creates a private directory with a short name for the socket. The paths of data directories exceed the
// limit, so it is elsewhere.
func makeSocketDir(h home) (string, error) {
	var failures []error
	for _, parent := range socketParents() {
		dir, err := os.MkdirTemp(parent, socketDirPrefix)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if length := len(filepath.Join(dir, socketName(socketPort))); length > maxSocketPath {
			failures = append(failures, fmt.Errorf("%s is too long for a socket", dir), os.Remove(dir))
			continue
		}
		if err := h.own(dir); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
		return dir, nil
	}
	return "", fmt.Errorf("no directory for the socket of PostgreSQL: %w", errors.Join(failures...))
}

func socketParents() []string {
	parents := []string{os.TempDir(), "/tmp"}
	if os.Geteuid() == 0 {
		return append([]string{"/run"}, parents...)
	}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		return append([]string{runtime}, parents...)
	}
	return parents
}

// removeSocketDir removes a directory of makeSocketDir with the files of the server in it, and no other files. A
// failure is harmless, so it returns no error.
func removeSocketDir(dir string) {
	if !strings.HasPrefix(filepath.Base(dir), socketDirPrefix) {
		return
	}
	_ = os.Remove(filepath.Join(dir, socketName(socketPort)))
	_ = os.Remove(filepath.Join(dir, socketName(socketPort)+".lock"))
	_ = os.Remove(dir)
}
