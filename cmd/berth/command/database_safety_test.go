package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestSettings_DatabaseAcrossNetwork_WarnsAtStart uses a host name that does not resolve, because the
// databases of the tests are local. The commands log the warning before they connect.
func TestSettings_DatabaseAcrossNetwork_WarnsAtStart(t *testing.T) {
	t.Parallel()
	const remote = "postgres://u:hunter2@berth.invalid/d?connect_timeout=1"
	for _, arguments := range [][]string{
		{"db", "status", "--database-url", remote},
		{"serve", "--listen=127.0.0.1:0", "--database-url", remote},
		{"serve", "--listen=127.0.0.1:0", "--database-url", dbtest.New(t).URL, "--replica-url", remote},
	} {
		if slices.Contains(arguments, "--replica-url") {
			b := setupServe(t, arguments[1:]...)
			if log := b.stderr.String(); !strings.Contains(log, "sslmode=verify-full") || !strings.Contains(log, "setting=replica-url hosts=berth.invalid") {
				t.Errorf("%q: %s", arguments, log)
			}
			continue
		}
		got := runCommand(t, nil, arguments...)
		if got.code == frame.ExitOK || !strings.Contains(got.stderr, "sslmode=verify-full") || !strings.Contains(got.stderr, "hosts=berth.invalid") || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%q: exit code %d: %s", arguments, got.code, got.stderr)
		}
	}
}
