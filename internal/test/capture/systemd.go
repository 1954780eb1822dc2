// Package capture collects what a process under test writes, and what it tells a service manager.
// It is for tests only.
package capture

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// NotifySocket is what systemd listens on. It is set for the whole process, so
// that these tests cannot run beside others.
func NotifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	// A path in the usual directory can be too long for a socket.
	t.Chdir(t.TempDir())
	path := "notify"
	listening, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listening.Close() })
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(absolute) > 100 {
		absolute = path
	}
	t.Setenv("NOTIFY_SOCKET", absolute)
	return listening
}

// Lines collects the lines until one begins with the text.
func Lines(t *testing.T, from *net.UnixConn, until string) []string {
	t.Helper()
	var lines []string
	message := make([]byte, 4096)
	if err := from.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		length, err := from.Read(message)
		if err != nil {
			t.Fatalf("no %q came after %q: %v", until, lines, err)
		}
		for line := range strings.SplitSeq(string(message[:length]), "\n") {
			lines = append(lines, line)
			if strings.HasPrefix(line, until) {
				return lines
			}
		}
	}
}
