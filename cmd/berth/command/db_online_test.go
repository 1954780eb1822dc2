package command

import (
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/testfile"
)

// migrationTable is the output of OpenStack Placement if no rows remain; scripts match its text.
const migrationTable = `+-----------------------------+-------------+-----------+
|          Migration          | Total Found | Completed |
+-----------------------------+-------------+-----------+
|    set_root_provider_ids    |      0      |     0     |
| create_incomplete_consumers |      0      |     0     |
+-----------------------------+-------------+-----------+
`

func TestCLI_OnlineDataMigrations_NothingToMigrate(t *testing.T) {
	t.Parallel()
	full := "--database-url=" + dbtest.New(t).URL
	empty := "--database-url=" + dbtest.NewEmpty(t).URL
	for name, test := range map[string]struct {
		arguments      []string
		code           int
		stdout, stderr string
	}{
		"no maximum": {[]string{"online-data-migrations", full}, 0, "Running batches of 50 until complete\n" + migrationTable, ""},
		"maximum 50": {[]string{"online_data_migrations", "--max-count=50", full}, 0, migrationTable, ""},
		"maximum 0":  {[]string{"online-data-migrations", "--max-count=0", full}, 127, "", `berth: max-count: "0" (flag --max-count) is not a whole number above 0; write digits only` + "\n"},
		"no number":  {[]string{"online-data-migrations", "--max-count", "x", full}, 127, "", `berth: max-count: "x" (flag --max-count) is not a whole number above 0; write digits only` + "\n"},
		"no schema":  {[]string{"online-data-migrations", "--max-count=1", empty}, 2, "", "berth: the database schema is older than this berth requires; run 'berth db sync' first\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, nil, append([]string{"db"}, test.arguments...)...)
			if got.code != test.code || got.stdout != test.stdout || got.stderr != test.stderr {
				t.Errorf("exit code %d, %q, %q", got.code, got.stdout, got.stderr)
			}
		})
	}
}

func TestMigration_PlacementDatabase_Rejected(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE alembic_version (version_num text); CREATE TABLE resource_providers (id int)"); err != nil {
		t.Fatal(err)
	}
	path := testfile.PlacementConf(t, "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = "+strings.Replace(db.URL, "postgres://", "postgresql+psycopg2://", 1)+"\n")
	for _, arguments := range [][]string{
		{"db", "sync"}, {"serve", "--listen=127.0.0.1:0"}, {"serve", "--listen=127.0.0.1:0", "--migrate=false"},
	} {
		got := runCommand(t, nil, append(arguments, "--config-file", path)...)
		if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "copy this one into it with 'berth import'") {
			t.Errorf("%v: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
	got := runCommand(t, nil, "db", "status", "--config-file", path, "--output=json")
	if got.code != frame.ExitOK || !strings.Contains(got.stdout, `"state": "openstack_placement"`) {
		t.Errorf("exit code %d, %s", got.code, got.stdout)
	}
}
