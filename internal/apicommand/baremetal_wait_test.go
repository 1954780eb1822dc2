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
	line := &waitingLine{out: &shown, began: time.Now().Add(-time.Minute)}
	line.show("node %s: %s", "rack-1\x1b[2J", "cleaning -> available")
	line.end()
	line.end()
	if got := shown.String(); !strings.HasPrefix(got, "\r\x1b[Knode rack-1") || !strings.Contains(got, "cleaning -> available (1m0s)") ||
		strings.Contains(got, "\x1b[2J") || strings.Count(got, "\r\x1b[K") != 2 {
		t.Errorf("shown %q", got)
	}
	shown.Reset()
	soon := &waitingLine{out: &shown, began: time.Now()}
	soon.show("x")
	soon.end()
	if (&waitingLine{began: time.Unix(0, 0)}).show("x"); shown.Len() > 0 {
		t.Errorf("shown %q for what takes no time", shown.String())
	}
}
