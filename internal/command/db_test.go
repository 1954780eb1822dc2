package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/admin"
	"github.com/berthd/berth/internal/frame"
)

func TestCLI_DBCommands_EmptyDatabaseToMigrated(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	status := func() (found admin.StatusDocument) {
		t.Helper()
		got := runCommand(t, nil, "db", "status", "--output=json", "--data-dir", dataDir)
		if err := json.Unmarshal([]byte(got.stdout), &found); got.code != frame.ExitOK || err != nil {
			t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
		}
		return found
	}
	empty := status()
	if empty.State != "outdated" || empty.Version != 0 || len(empty.Pending) == 0 {
		t.Errorf("an empty database: %+v", empty)
	}
	refused := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--migrate=false", "--data-dir", dataDir)
	if refused.code != frame.ExitFailed || !strings.Contains(refused.stderr, "run 'berth db migrate'") {
		t.Errorf("serving without a schema: exit code %d, %s", refused.code, refused.stderr)
	}
	for _, alias := range []string{"migrate", "sync"} {
		if got := runCommand(t, nil, "db", alias, "--data-dir", dataDir); got.code != frame.ExitOK {
			t.Fatalf("%s: exit code %d, %s", alias, got.code, got.stderr)
		}
	}
	full := status()
	if full.State != "up to date" || full.Version != full.Latest || len(full.Pending) != 0 || full.InstalledFunctions != full.KnownFunctions {
		t.Errorf("a migrated database: %+v", full)
	}
}
