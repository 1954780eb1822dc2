package apicommand

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestCLI_TreeProgress_ShownLateAndCleared(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	shown := &Progress{out: &out, started: time.Now()}
	shown.expect(3)
	shown.step()
	if out.Len() != 0 {
		t.Errorf("output before the delay = %q, want none", out.String())
	}
	shown.started = shown.started.Add(-time.Minute)
	shown.step()
	shown.step() // within progressInterval
	if err := shown.aside(func() error { out.WriteString("tree\n"); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := "\r\x1b[Kreading providers: 2 of 3\r\x1b[Ktree\n"; out.String() != want {
		t.Errorf("output = %q, want %q", out.String(), want)
	}
}

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
