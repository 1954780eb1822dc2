package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// socketPort is part of the socket's name only: nothing listens on TCP, and
	// the directory is ours alone, so there is nothing to collide with.
	socketPort = "5432"
	// socketDirPrefix marks directories that may be removed again.
	socketDirPrefix = "berth-"
	// maxSocketPath is the shortest limit of the systems we run on for the path
	// of a unix socket: macOS allows 103 bytes, Linux 107.
	maxSocketPath = 103
)

func socketName(port string) string { return ".s.PGSQL." + port }

// makeSocketDir makes a private directory with a short name for the socket.
// Data directories live too deep for the limit, so it is elsewhere.
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
	return "", fmt.Errorf("no place for the socket of PostgreSQL: %w", errors.Join(failures...))
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

// removeSocketDir removes a directory made by makeSocketDir and what a server
// leaves in it, and nothing else. That it stays behind harms nobody, so there
// is no error.
func removeSocketDir(dir string) {
	if !strings.HasPrefix(filepath.Base(dir), socketDirPrefix) {
		return
	}
	_ = os.Remove(filepath.Join(dir, socketName(socketPort)))
	_ = os.Remove(filepath.Join(dir, socketName(socketPort)+".lock"))
	_ = os.Remove(dir)
}
