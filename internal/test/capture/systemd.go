// Package capture records the output of a process under test, and its notifications to systemd. It
// is for tests only.
package capture

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// NotifySocket listens on a socket as systemd does and sets NOTIFY_SOCKET. The variable is set for
// the whole process, so these tests cannot run in parallel with others.
func NotifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	// A path in t.TempDir can exceed the limit for sockets.
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

// Lines returns the received lines up to the first one with the prefix until.
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
			t.Fatalf("received no %q after %q: %v", until, lines, err)
		}
		for line := range strings.SplitSeq(string(message[:length]), "\n") {
			lines = append(lines, line)
			if strings.HasPrefix(line, until) {
				return lines
			}
		}
	}
}
