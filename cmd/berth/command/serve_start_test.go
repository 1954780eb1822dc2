package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// busyPort returns an address that is in use.
func busyPort(t *testing.T) string {
	t.Helper()
	return silentListener(t)
}

func TestCLI_PortBusy_EmbeddedDatabaseIsNotMade(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		busy, dataDir := busyPort(t), privateDirectory(t)
		got := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--data-dir", dataDir, flag, busy)
		if got.code != frame.ExitFailed || !strings.Contains(got.stderr, busy) || !strings.Contains(got.stderr, flag) {
			t.Errorf("%s: exit code %d: %s", flag, got.code, got.stderr)
		}
		if _, err := os.Stat(dataDir); !os.IsNotExist(err) {
			t.Errorf("%s: the server created %s: %v", flag, dataDir, err)
		}
	}
}

func TestCLI_PortBusy_SchemaIsNotMigrated(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	if got := runCommand(t, nil, "serve", "--listen", busyPort(t), "--database-url", db.URL); got.code != frame.ExitFailed {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	var tables int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("the database has %d tables, want 0: %v", tables, err)
	}
}

func TestCLI_FatalError_IsInLogFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"port in use":          {[]string{"--listen", busyPort(t)}, frame.ExitFailed, "cannot listen on"},
		"missing certificate":  {[]string{"--tls-cert=/missing", "--tls-key=/missing"}, frame.ExitFailed, "/missing"},
		"invalid setting":      {[]string{"--max-requests=many"}, frame.ExitUsage, "max-requests"},
		"two invalid settings": {[]string{"--max-queued-requests=many", "--database-url=mysql://u:hunter2@h/d"}, frame.ExitUsage, "database-url"},
	} {
		file := filepath.Join(t.TempDir(), "berth.log")
		got := runCommand(t, nil, append([]string{"serve", "--log-file", file, "--log-format=json", "--data-dir", privateDirectory(t)}, test.arguments...)...)
		logged, err := os.ReadFile(file)
		if got.code != test.code || err != nil || !strings.Contains(string(logged), `"level":"ERROR"`) || !strings.Contains(string(logged), test.want) {
			t.Errorf("%s: exit code %d, log %q, %v; standard error %s", name, got.code, logged, err, got.stderr)
		}
		if strings.Contains(string(logged), "hunter2") {
			t.Errorf("%s: the password is in the log: %s", name, logged)
		}
		if !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: standard error %q", name, got.stderr)
		}
	}
}
