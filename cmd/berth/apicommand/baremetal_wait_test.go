package apicommand

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestCLI_WaitProgressLine_ShownAndCleared(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	line := &waitLine{out: &shown, started: time.Now().Add(-time.Minute)}
	line.show("node %s: %s", "rack-1\x1b[2J", "cleaning -> available")
	line.end()
	line.end()
	if got := shown.String(); !strings.HasPrefix(got, "\r\x1b[Knode rack-1") || !strings.Contains(got, "cleaning -> available (1m0s)") ||
		strings.Contains(got, "\x1b[2J") || strings.Count(got, "\r\x1b[K") != 2 {
		t.Errorf("output = %q", got)
	}
	shown.Reset()
	soon := &waitLine{out: &shown, started: time.Now()}
	soon.show("x")
	soon.end()
	if (&waitLine{started: time.Unix(0, 0)}).show("x"); shown.Len() > 0 {
		t.Errorf("output of a short wait = %q, want none", shown.String())
	}
}
