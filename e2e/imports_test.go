package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// imports says who may import whom of our own, as docs/architecture.md does for
// people. A package that is not named may import nothing of ours.
var imports = map[string][]string{
	"agent":               {"client"},
	"agent/consumers":     {"client"},
	"agent/declared":      {"client"},
	"agent/host":          {"agent/consumers", "client"},
	"client":              {"gen/client"},
	"client/baremetal":    {"client"},
	"cmd/berth":           {"agent", "agent/consumers", "agent/declared", "agent/host", "client", "client/baremetal", "cmd/berth/draw", "cmd/berth/osloconf", "gen/client", "server", "server/audit", "server/auth", "server/cluster", "server/conductor", "server/cors", "server/direct", "server/forwarded", "server/keystone", "server/legacy", "server/microversion", "server/migrate", "server/placement", "server/policy", "server/requestlog", "server/route", "server/store", "server/tracing"},
	"cmd/berth/draw":      {"client"},
	"cmd/bench":           {"cmd/bench/rig", "server", "server/store"},
	"cmd/bench/rig":       {"server/cluster", "server/migrate", "server/store"},
	"cmd/benchbaremetal":  {"cmd/bench/rig", "server", "server/conductor", "server/store"},
	"cmd/benchcandidates": {"cmd/bench/rig", "server", "server/store"},
	"cmd/endurance":       {"cmd/bench/rig"},
	"server":              {"openapi", "server/apierr", "server/auth", "server/baremetal", "server/cors", "server/fault", "server/forwarded", "server/microversion", "server/placement", "server/policy", "server/request", "server/requestlog", "server/route", "server/store"},
	"server/apierr":       {"server/fault", "server/microversion", "server/policy", "server/request"},
	"server/audit":        {"sql"},
	"server/baremetal":    {"server/apierr", "server/conductor", "server/fault", "server/jsonbody", "server/microversion", "server/policy", "server/provision", "server/querystring", "server/request", "server/route", "server/store", "server/uuidlike"},
	"server/conductor":    {"server/provision", "server/store"},
	"server/dbtest":       {"server/audit", "server/cluster", "server/migrate"},
	"server/direct":       {"server", "server/migrate", "server/store"},
	"server/legacy":       {"gen/db", "server/uuidlike"},
	"server/jsonbody":     {"server/uuidlike"},
	"server/keystone":     {"server/auth", "server/request"},
	"server/migrate":      {"sql"},
	"server/placement":    {"server/apierr", "server/fault", "server/jsonbody", "server/microversion", "server/policy", "server/querystring", "server/request", "server/route", "server/store", "server/uuidlike"},
	"server/policy":       {"server/auth"},
	"server/querystring":  {"server/jsonbody", "server/uuidlike"},
	"server/request":      {"server/accept", "server/forwarded"},
	"server/requestlog":   {"server/auth", "server/request"},
	"server/route":        {"server/apierr", "server/auth", "server/fault", "server/jsonbody", "server/microversion", "server/policy", "server/querystring", "server/request"},
	"server/scenario":     {"server/dbtest"},
	"server/storetest":    {"server/dbtest", "server/store"},
	"server/store":        {"gen/db", "server/combine", "server/fault"},
}

// drivers may know PostgreSQL's driver: the store, generated code, and what starts,
// migrates, tests or measures a database.
var drivers = []string{"cmd/berth", "cmd/bench", "cmd/bench/rig", "cmd/benchbaremetal", "cmd/benchcandidates", "cmd/endurance", "gen/db", "server/audit", "server/cluster", "server/dbtest", "server/legacy", "server/migrate", "server/store"}

// TestPackagesImportOnlyWhatTheyMay: a fourth hop, or a driver in an operation,
// begins with an import.
func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	const ours, driver = "github.com/berthd/berth/", "github.com/jackc/pgx/"
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; packages++ {
		var found struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&found); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(found.ImportPath, ours)
		for _, imported := range found.Imports {
			own, isOurs := strings.CutPrefix(imported, ours)
			if isOurs && !slices.Contains(imports[name], own) || strings.HasPrefix(imported, driver) && !slices.Contains(drivers, name) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if packages < len(imports) {
		t.Errorf("only %d packages were looked at", packages)
	}
}
