package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthd/berth/server/migrate"
)

func TestTheDatabaseCommandsFromNothing(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	status := func() (found statusDocument) {
		t.Helper()
		got := runCommand(t, nil, "db", "status", "--output=json", "--data-dir", dataDir)
		if err := json.Unmarshal([]byte(got.stdout), &found); got.code != exitFine || err != nil {
			t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
		}
		return found
	}
	empty := status()
	if empty.State != "behind" || empty.Version != 0 || len(empty.Pending) == 0 {
		t.Errorf("an empty database: %+v", empty)
	}
	refused := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--migrate=false", "--data-dir", dataDir)
	if refused.code != exitFailed || !strings.Contains(refused.stderr, "run 'berth db migrate'") {
		t.Errorf("serving without a schema: exit code %d, %s", refused.code, refused.stderr)
	}
	for _, alias := range []string{"migrate", "sync"} {
		if got := runCommand(t, nil, "db", alias, "--data-dir", dataDir); got.code != exitFine {
			t.Fatalf("%s: exit code %d, %s", alias, got.code, got.stderr)
		}
	}
	full := status()
	if full.State != "up to date" || full.Version != full.Latest || len(full.Pending) != 0 || full.InstalledFunctions != full.KnownFunctions {
		t.Errorf("a migrated database: %+v", full)
	}
}

func TestTheReportOfAMigrationIsASentence(t *testing.T) {
	t.Parallel()
	for want, report := range map[string]migrate.Report{
		"The database went from version 0 to version 4.":                                  {To: 4, Applied: []string{"a", "b"}, FunctionsApplied: true},
		"The database is at version 4 already; nothing was to be done.":                   {From: 4, To: 4},
		"The database stays at version 4; its SQL functions were replaced.":               {From: 4, To: 4, FunctionsApplied: true},
		"The database is at version 9, which is newer than this berth; nothing was done.": {From: 9, To: 9, DatabaseNewer: true},
	} {
		if got := describeReport(report); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
