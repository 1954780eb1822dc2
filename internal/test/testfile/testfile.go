// Package testfile makes files and paths for tests. It is for tests only.
package testfile

import (
	"os"
	"path/filepath"
	"testing"
)

// Write is a new file with a text and a mode.
func Write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return name
}

// PlacementConf writes a configuration file and returns its name.
func PlacementConf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// SocketPath is short enough for the kernel, which the usual directory may not be.
func SocketPath(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	return filepath.Join(directory, "s")
}
