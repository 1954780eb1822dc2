package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/admin"
	"github.com/berthd/berth/cmd/berth/frame"
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
		t.Errorf("status of an empty database = %+v", empty)
	}
	failed := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--migrate=false", "--data-dir", dataDir)
	if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, "run 'berth db migrate'") {
		t.Errorf("serve without a schema: exit code %d, %s", failed.code, failed.stderr)
	}
	for _, alias := range []string{"migrate", "sync"} {
		if got := runCommand(t, nil, "db", alias, "--data-dir", dataDir); got.code != frame.ExitOK {
			t.Fatalf("%s: exit code %d, %s", alias, got.code, got.stderr)
		}
	}
	migrated := status()
	if migrated.State != "up to date" || migrated.Version != migrated.Latest || len(migrated.Pending) != 0 || migrated.InstalledFunctions != migrated.KnownFunctions {
		t.Errorf("status of a migrated database = %+v", migrated)
	}
}
