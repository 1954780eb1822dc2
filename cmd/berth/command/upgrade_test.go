package command

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/migrate"
	berthsql "github.com/berthd/berth/sql"
)

// nextVersion returns the schema of this program with one more migration, one more SQL function and
// the next version of the functions.
func nextVersion(t *testing.T) migrate.Set {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(berthsql.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(berthsql.Files, name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscanf(string(files["functions/VERSION"].Data), "%d", &number); err != nil {
		t.Fatal(err)
	}
	files["functions/VERSION"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d -\n", number+1)}
	files["functions/of_the_next_version.sql"] = &fstest.MapFile{Data: []byte(
		"CREATE OR REPLACE FUNCTION of_the_next_version() RETURNS text LANGUAGE sql AS $$ SELECT 'new' $$;\n")}
	files["migrations/99999_next_version.sql"] = &fstest.MapFile{Data: []byte(
		"-- +goose Up\nALTER TABLE resource_providers ADD COLUMN of_the_next_version text;\nCREATE TABLE next_version (id bigint);\n")}
	set, err := migrate.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestMigration_NewerSchema_OldServerServes checks that a server with an older schema version
// applies no migration, is ready and processes claims, with and without --migrate. This is a
// restart during a rolling upgrade.
func TestMigration_NewerSchema_OldServerServes(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{nil, {"--migrate=false"}} {
		db := dbtest.NewEmpty(t)
		set := nextVersion(t)
		if _, err := set.Up(t.Context(), db.URL, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		b := setupServe(t, append(arguments, "--database-url", db.URL)...)
		const host = "11111111-0000-4000-8000-000000000001"
		for _, step := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", "/readyz", "", 200},
			{"POST", "/resource_providers", `{"name": "host", "uuid": "` + host + `"}`, 200},
			{"PUT", "/resource_providers/" + host + "/inventories", `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}`, 200},
			{"GET", "/allocation_candidates?resources=VCPU:1", "", 200},
			{"PUT", "/allocations/" + host, `{"allocations": {"` + host + `": {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
				"consumer_generation": null, "consumer_type": "INSTANCE"}`, 204},
			{"GET", "/resource_providers/" + host + "/usages", "", 200},
			{"DELETE", "/allocations/" + host, "", 204},
			{"DELETE", "/resource_providers/" + host, "", 204},
			{"GET", "/v1/nodes", "", 200},
		} {
			request, err := http.NewRequestWithContext(t.Context(), step.method, b.url+step.path, strings.NewReader(step.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}, "Content-Type": {"application/json"},
				"Openstack-Api-Version": {"placement 1.39"}}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != step.status {
				t.Errorf("%q: %s %s: %s", arguments, step.method, step.path, response.Status)
			}
		}
		status, err := set.Status(t.Context(), db.URL)
		if err != nil || status.Version != 99999 || !status.UpToDate() {
			t.Errorf("%q: status of the database = %+v, %v", arguments, status, err)
		}
		b.signals <- syscall.SIGTERM
		if code := <-b.exit; code != frame.ExitOK {
			t.Errorf("exit code %d: %s", code, b.stderr)
		}
	}
}
