package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// notifySocket is what systemd listens on. It is set for the whole process, so
// that these tests cannot run beside others.
func notifySocket(t *testing.T) *net.UnixConn {
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

// heard collects the lines until one begins with the text.
func heard(t *testing.T, from *net.UnixConn, until string) []string {
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

func TestSystemdHearsHowTheAgentIs(t *testing.T) {
	b := setupAgent(t)
	from := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "30000000")
	a := startAgent(t, b.arguments("--interval=1h"))
	start := heard(t, from, "READY=1")
	joined := strings.Join(start, "\n")
	if !strings.Contains(joined, "STATUS=In step at ") || !strings.Contains(joined, ", providers: 1") || !strings.Contains(joined, "WATCHDOG=1") {
		t.Errorf("at the start it heard %q", start)
	}
	a.stop()
	heard(t, from, "STOPPING=1")
}

func TestSystemdHearsThatAReshapeFailedAndNotThatTheAgentIsReady(t *testing.T) {
	b := setupAgent(t)
	b.once()
	b.claim()
	from := notifySocket(t)
	if code := <-startAgent(t, b.arguments("--layout=numa")).exit; code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, line := range heard(t, from, "STATUS=The start failed: ") {
		if line == "READY=1" {
			t.Error("it heard that the agent is ready")
		}
	}
}

// TestNoHeartbeatComesWithoutProgress holds a pass up: the heartbeats end, and
// begin again when the pass goes on.
func TestNoHeartbeatComesWithoutProgress(t *testing.T) {
	b := setupAgent(t)
	from := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "600000")
	silent := silentListener(t)
	a := startAgent(t, b.arguments("--url", "http://"+silent, "--timeout=6s", "--interval=1h"))
	heard(t, from, "WATCHDOG=1")
	quiet := 0
	message := make([]byte, 4096)
	for deadline := time.Now().Add(3500 * time.Millisecond); time.Now().Before(deadline); {
		if err := from.SetReadDeadline(time.Now().Add(700 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := from.Read(message); err != nil {
			quiet++
		}
	}
	if quiet < 2 {
		t.Errorf("heartbeats went on while a request hung: quiet %d times", quiet)
	}
	heard(t, from, "STATUS=Not in step at ")
	heard(t, from, "WATCHDOG=1")
	a.stop()
}
