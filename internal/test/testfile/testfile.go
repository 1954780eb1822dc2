// Package testfile creates files and paths for tests. It is for tests only.
package testfile

import (
	"os"
	"path/filepath"
	"testing"
)

// Write creates a file with a text and a mode, and returns its path.
func Write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // regardless of the umask
		t.Fatal(err)
	}
	return name
}

// PlacementConf creates a placement.conf and returns its path.
func PlacementConf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// SocketPath returns a path for a Unix socket. It is shorter than the limit of the kernel, which
// paths in t.TempDir may exceed.
func SocketPath(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	return filepath.Join(directory, "s")
}
