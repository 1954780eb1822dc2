package apicommand

import (
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
