package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/admin"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/testfile"
)

// report is the JSON document of upgrade-check.
type report struct {
	Name   string
	Checks []struct {
		Check   string
		Result  int
		Details *string
	}
}

// failedChecks returns the checks of a report that did not succeed, as "check: result: details".
func failedChecks(t *testing.T, text string) []string {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Name != "Upgrade Check Results" {
		t.Fatalf("%v: %q", err, text)
	}
	list := []string{}
	for _, check := range r.Checks {
		if check.Result != 0 && !isOfTestServer(check.Check, check.Result) {
			list = append(list, check.Check+": "+admin.Result(check.Result).String()+": "+*check.Details)
		}
	}
	return list
}

// isOfTestServer reports whether a result is the warning that the server of the tests may lose acknowledged writes.
func isOfTestServer(check string, result int) bool {
	return check == "PostgreSQL Settings" && result == 1
}

// exitReady returns the exit code of a ready database: 1 if its server may lose acknowledged writes.
func exitReady(t *testing.T, db *dbtest.DB) int {
	t.Helper()
	var fsync string
	if err := db.Pool.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync); err != nil {
		t.Fatal(err)
	}
	if fsync == "off" {
		return 1
	}
	return frame.ExitOK
}

// withoutTestServer replaces the warning about the server of the tests in a report by success, and returns its lines. The
// table is then as wide as without it.
func withoutTestServer(text string) (report, lines string) {
	var kept []string
	for block := range strings.SplitSeq(text, "+-") {
		if strings.Contains(block, "| Check: PostgreSQL Settings") {
			lines = block
			block = strings.SplitAfterN(block, "\n", 2)[0] + "| Check: PostgreSQL Settings |\n| Result: Success |\n| Details: None |\n"
		}
		kept = append(kept, block)
	}
	width := len("| Check: Policy File JSON to YAML Migration |")
	var narrow strings.Builder
	for line := range strings.Lines(strings.Join(kept, "+-")) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "+") {
			line = "+" + strings.Repeat("-", width-2) + "+"
		} else {
			line = fmt.Sprintf("| %-*s |", width-4, strings.TrimSpace(strings.Trim(line, "|")))
		}
		narrow.WriteString(line + "\n")
	}
	return narrow.String(), lines
}

func TestCLI_UpgradeCheckReady_AllSucceed(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	got := runCommand(t, []string{"BERTH_DATABASE_URL=" + db.URL}, "status", "upgrade-check")
	var loss string
	if exitReady(t, db) == 1 {
		got.stdout, loss = withoutTestServer(got.stdout)
		if !strings.Contains(loss, "fsync is off") {
			t.Errorf("the loss of writes is not reported: %q", loss)
		}
	}
	want := ""
	for _, name := range []string{"", "Settings", "Policy File JSON to YAML Migration", "Policy Files", "PostgreSQL Settings", "Database Schema", "PostgreSQL Version",
		"Missing Root Provider IDs", "Incomplete Consumers", "Interrupted Import", "Planner Settings"} {
		want += "+-------------------------------------------+\n"
		if name == "" {
			want += "| Upgrade Check Results                     |\n"
			continue
		}
		want += "| Check: " + name + strings.Repeat(" ", 35-len(name)) + "|\n| Result: Success                           |\n| Details: None                             |\n"
	}
	want += "+-------------------------------------------+\n"
	if got.code != exitReady(t, db) || got.stdout != want {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", got.code, got.stderr, got.stdout, want)
	}
	for _, words := range [][]string{{"status", "upgrade", "check", "--json"}, {"status", "upgrade-check", "--output=json"}} {
		got := runCommand(t, []string{"BERTH_DATABASE_URL=" + db.URL}, words...)
		if failed := failedChecks(t, got.stdout); got.code != exitReady(t, db) || len(failed) > 0 {
			t.Errorf("%v: exit code %d, %q", words, got.code, failed)
		}
	}
}

func TestCLI_UpgradeCheckProblems_ReportedAsFailure(t *testing.T) {
	t.Parallel()
	empty, full, foreign, importing := dbtest.NewEmpty(t), dbtest.New(t), dbtest.NewEmpty(t), dbtest.New(t)
	for db, statement := range map[*dbtest.DB]string{
		foreign:   "CREATE TABLE alembic_version (version_num text); CREATE TABLE resource_providers (id int)",
		importing: "INSERT INTO import_state (source, fingerprint) VALUES ('mysql://h/placement', 'x')",
	} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	directory := t.TempDir()
	for name, text := range map[string]string{"rules.json": `{"placement:usages": "role:x"}`, "broken.yaml": "a: [\n", "p.conf": "[placment]\nx=1\n"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		db        *dbtest.DB
		arguments []string
		code      int
		begins    []string
	}{
		"empty database":                  {empty, nil, 2, []string{"Database Schema: Failure: the schema is at version 0 with SQL functions 0, this berth has version"}},
		"database of OpenStack Placement": {foreign, nil, 2, []string{"Database Schema: Failure: this is the database of another Placement service"}},
		"interrupted import":              {importing, nil, 2, []string{"Interrupted Import: Failure: the import of mysql://h/placement has not finished"}},
		"policy in JSON":                  {full, []string{"--policy-file", filepath.Join(directory, "rules.json")}, 2, []string{"Policy File JSON to YAML Migration: Failure: " + directory}},
		"invalid policy":                  {full, []string{"--policy-file", filepath.Join(directory, "broken.yaml")}, 2, []string{"Policy Files: Failure: "}},
		"invalid settings":                {full, []string{"--migrate=x", "--log-level=y"}, 2, []string{`Settings: Failure: migrate: "x" (flag --migrate) is neither`}},
		"unreadable password": {full, []string{"--auth=keystone", "--keystone-auth-url=http://k/v3", "--keystone-username=u",
			"--keystone-project-name=p", "--keystone-password-file=/missing"}, 2, []string{"Settings: Failure: keystone-password-file: open /missing"}},
		"unreadable certificate": {full, []string{"--tls-cert=/missing", "--tls-key=/missing"}, 2, []string{"Settings: Failure: "}},
		"unknown group": {full, []string{"--auth=noauth2", "--config-file", filepath.Join(directory, "p.conf")}, 1,
			[]string{"Settings: Warning: " + filepath.Join(directory, "p.conf") + ":2: the group [placment] is unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, []string{"BERTH_DATABASE_URL=" + test.db.URL}, append([]string{"status", "upgrade-check", "--json"}, test.arguments...)...)
			failed := failedChecks(t, got.stdout)
			if got.code != test.code || !slices.EqualFunc(failed, test.begins, strings.HasPrefix) {
				t.Errorf("exit code %d, %q, %s", got.code, failed, got.stderr)
			}
		})
	}
}

func TestCLI_UpgradeCheckUnusedOptions_ReportedAsSuccess(t *testing.T) {
	t.Parallel()
	path := testfile.PlacementConf(t, "[api]\nauth_strategy = noauth2\n[DEFAULT]\nuse_syslog = true\n[placement_database]\nconnection = mysql://u:p@h/d\n")
	db := dbtest.New(t)
	got := runCommand(t, []string{"BERTH_DATABASE_URL=" + db.URL}, "status", "upgrade-check", "--json", "--config-file", path)
	if got.code != exitReady(t, db) || !strings.Contains(got.stdout, "has no effect") || !strings.Contains(got.stdout, "[placement_database]connection") {
		t.Errorf("exit code %d, %s, %s", got.code, got.stdout, got.stderr)
	}
}

func TestCLI_Status_SaysReadyOrNotWithServer(t *testing.T) {
	t.Parallel()
	ready, empty := dbtest.New(t), dbtest.NewEmpty(t)
	readyLine := []string{"ready: all 10 checks passed, on postgres://", "ready, with a warning: PostgreSQL Settings: fsync is off: "}
	for name, test := range map[string]struct {
		db        *dbtest.DB
		arguments []string
		code      int
		begins    string
		contains  string
	}{
		"ready":          {ready, nil, exitReady(t, ready), readyLine[exitReady(t, ready)], ""},
		"new database":   {empty, []string{"-o", "json"}, 1, "{\n  \"ready\": true,", "Database Schema: 'berth serve' will migrate the schema; until then the schema is at version 0"},
		"no migration":   {empty, []string{"--migrate=false"}, 2, "not ready: Database Schema: the schema is at version 0", "run 'berth db sync'"},
		"two problems":   {empty, []string{"--migrate=false", "--policy-file=/missing.yaml"}, 2, "not ready: ", " more: berth status upgrade-check)"},
		"no server":      {ready, nil, exitReady(t, ready), readyLine[exitReady(t, ready)], "\nserver: GET /: no server answers at http://127.0.0.1:1 "},
		"as JSON":        {ready, []string{"-o", "json"}, exitReady(t, ready), "{\n  \"ready\": true,", "\"problems\": []"},
		"as YAML":        {ready, []string{"-o", "yaml"}, exitReady(t, ready), "ready: true\ndatabase: ", "server: http://127.0.0.1:1\n"},
		"unknown format": {ready, []string{"-o", "xml"}, frame.ExitUsage, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := []string{"BERTH_DATABASE_URL=" + test.db.URL, "BERTH_URL=http://127.0.0.1:1"}
			got := runCommand(t, environ, append([]string{"status"}, test.arguments...)...)
			if got.code != test.code || !strings.HasPrefix(got.stdout, test.begins) || !strings.Contains(got.stdout, test.contains) {
				t.Errorf("exit code %d, %q, %s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// The command only reads: it creates no cluster to look at one.
func TestCLI_StatusWithoutCluster_CreatesNone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	got := runCommand(t, []string{"BERTH_URL=http://127.0.0.1:1"}, "status", "--data-dir", dir)
	want := "ready, with a warning: Database Schema: 'berth serve' will create a database; until then there is none in " + dir + ", on an embedded PostgreSQL\n"
	if _, err := os.Stat(dir); got.code != 1 || !strings.HasPrefix(got.stdout, want) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exit code %d, %q, %s; directory: %v", got.code, got.stdout, got.stderr, err)
	}
}

func TestCLI_UpgradeCheckImpossible_ExitsWithOwnCode(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "status", "upgrade-check", "--database-url=postgres://u@127.0.0.1:1/d?sslmode=disable")
	if got.code != admin.ExitUnexpected || got.stdout != "" || !strings.Contains(got.stderr, "connect to the database") {
		t.Errorf("exit code %d, %q, %s", got.code, got.stdout, got.stderr)
	}
	if got := runCommand(t, nil, "status", "upgrade-check", "--nix"); got.code != frame.ExitUsage {
		t.Errorf("invalid command line: exit code %d, want %d", got.code, frame.ExitUsage)
	}
}
