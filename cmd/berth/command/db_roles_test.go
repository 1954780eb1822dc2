package command

import (
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

func TestCLI_DBRoles_ReadOnlyRoleRunsCheckAndPlan(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	reader, address := dbtest.Role(t, db, "reader")
	var owner string
	if err := db.Pool.QueryRow(t.Context(), "SELECT current_user").Scan(&owner); err != nil {
		t.Fatal(err)
	}
	printed := runCommand(t, nil, "db", "roles", "--owner", owner, "--service", owner, "--read-only", reader, "--database", db.Name)
	if printed.code != frame.ExitOK || !strings.Contains(printed.stdout, "-- CREATE ROLE \""+reader+"\" LOGIN PASSWORD") {
		t.Fatalf("exit code %d, %s%s", printed.code, printed.stdout, printed.stderr)
	}
	if _, err := db.Pool.Exec(t.Context(), printed.stdout+"INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU')"); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"db", "check"}, {"db", "status"}, {"plan", "resources=VCPU:1&limit=1"}} {
		if got := runCommand(t, nil, append(words, "--database-url", address)...); got.code != frame.ExitOK {
			t.Errorf("%v: exit code %d, %s", words, got.code, got.stderr)
		}
	}
	if got := runCommand(t, nil, "db", "roles", "--service="); got.code != frame.ExitUsage || !strings.Contains(got.stderr, "a name is empty") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
}
