package command

import (
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/capture"
)

func TestSystemd_Agent_NotifiesStatus(t *testing.T) {
	b := setupAgent(t)
	from := capture.NotifySocket(t)
	t.Setenv("WATCHDOG_USEC", "30000000")
	a := startAgent(t, b.arguments("--interval=1h"))
	start := capture.Lines(t, from, "READY=1")
	joined := strings.Join(start, "\n")
	if !strings.Contains(joined, "STATUS=Up to date at ") || !strings.Contains(joined, ", providers: 1") || !strings.Contains(joined, "WATCHDOG=1") {
		t.Errorf("notifications at start = %q", start)
	}
	a.stop()
	capture.Lines(t, from, "STOPPING=1")
}

func TestSystemd_AgentReshapeFails_NotifiesStatusNotReady(t *testing.T) {
	b := setupAgent(t)
	b.reconcile()
	b.claim()
	from := capture.NotifySocket(t)
	if code := <-startAgent(t, b.arguments("--layout=numa")).exit; code != frame.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, line := range capture.Lines(t, from, "STATUS=Startup failed: ") {
		if line == "READY=1" {
			t.Error("the agent notified READY=1")
		}
	}
}

// TestSystemd_AgentStalled_NoWatchdogPing stalls a reconciliation: the watchdog pings stop, and resume
// when the reconciliation continues.
func TestSystemd_AgentStalled_NoWatchdogPing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	b := setupAgent(t)
	from := capture.NotifySocket(t)
	t.Setenv("WATCHDOG_USEC", "600000")
	silent := silentListener(t)
	a := startAgent(t, b.arguments("--url", "http://"+silent, "--timeout=6s", "--interval=1h"))
	capture.Lines(t, from, "WATCHDOG=1")
	missing := 0
	message := make([]byte, 4096)
	for deadline := time.Now().Add(3500 * time.Millisecond); time.Now().Before(deadline); {
		if err := from.SetReadDeadline(time.Now().Add(700 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := from.Read(message); err != nil {
			missing++
		}
	}
	if missing < 2 {
		t.Errorf("intervals without a watchdog ping during a stalled request = %d, want at least 2", missing)
	}
	capture.Lines(t, from, "STATUS=Reconciliation failed at ")
	capture.Lines(t, from, "WATCHDOG=1")
	a.stop()
}
