package apicommand

import (
	"strings"
	"testing"
	"time"
)

func TestCLI_TreeProgress_ShownLateAndCleared(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	shown := &Progress{out: &out, began: time.Now()}
	shown.expect(3)
	shown.step()
	if out.Len() != 0 {
		t.Errorf("at once: %q", out.String())
	}
	shown.began = shown.began.Add(-time.Minute)
	shown.step()
	shown.step() // too early for another line
	if err := shown.aside(func() error { out.WriteString("tree\n"); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := "\r\x1b[Kreading providers: 2 of 3\r\x1b[Ktree\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
