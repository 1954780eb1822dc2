package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// packageRule is what one package is for, and which packages of this module it may import.
type packageRule struct {
	path, purpose string
	// driver allows the import of PostgreSQL's driver: for the store, generated code, and what
	// reads connection strings, or starts, migrates, tests or measures a database.
	driver  bool
	imports []string
}

// packageRules are the rules of all packages, in the order of the table in docs/architecture.md,
// which is made of them.
var packageRules = []packageRule{
	{path: "cmd/berth", purpose: "the streams, environment and signals of a real process", imports: []string{
		"internal/command", "internal/frame",
	}},
	{path: "internal/command", purpose: "lists the commands and runs a command line; manual pages", imports: []string{
		"internal/admin", "internal/apicommand", "internal/config", "internal/connect", "internal/frame",
		"internal/hostcommand", "internal/serve", "internal/version",
	}},
	{path: "internal/serve", purpose: "`berth serve`: opens, serves and closes the parts of the service", imports: []string{
		"internal/config", "internal/frame", "internal/open", "internal/setting", "internal/version",
		"server", "server/auditlog", "server/baremetal", "server/conductor", "server/forwarded",
		"server/keystone", "server/migrate", "server/policy", "server/postgres", "server/spool",
		"server/store", "server/tracing",
	}},
	{path: "internal/admin", purpose: "commands for administration: database, import and export, policy, documents", driver: true, imports: []string{
		"internal/config", "internal/frame", "internal/open", "internal/plan", "internal/setting", "internal/terminal",
		"server", "server/audit", "server/auth", "server/microversion",
		"server/migrate", "server/placementdb", "server/policy", "server/postgres", "server/route",
		"server/store",
	}},
	{path: "internal/apicommand", purpose: "commands that ask a service", imports: []string{
		"client", "client/baremetal", "gen/client", "internal/connect", "internal/draw", "internal/frame",
		"internal/terminal",
	}},
	{path: "internal/hostcommand", purpose: "the agent and the reshape of hosts", imports: []string{
		"agent", "agent/consumers", "agent/host", "agent/planfile", "client", "gen/client",
		"internal/apicommand", "internal/config", "internal/connect", "internal/draw", "internal/frame",
		"internal/open", "internal/setting", "internal/terminal", "internal/version", "server/cluster",
		"server/inprocess",
	}},
	{path: "internal/plan", purpose: "shows how PostgreSQL executes a request", driver: true, imports: []string{
		"server", "server/baremetal", "server/inprocess", "server/microversion", "server/migrate",
		"server/postgres", "server/store",
	}},
	{path: "internal/connect", purpose: "how a command reaches a service", imports: []string{
		"client", "internal/frame", "internal/setting", "internal/version",
	}},
	{path: "internal/open", purpose: "opens what several commands use: database, log, certificates, service manager", driver: true, imports: []string{
		"internal/config", "internal/frame", "server/cluster", "server/migrate", "server/postgres",
		"server/requestlog",
	}},
	{path: "internal/config", purpose: "the settings of the server: their tables, `placement.conf`, mistakes", driver: true, imports: []string{
		"internal/frame", "internal/osloconf", "internal/setting", "server", "server/auditlog",
		"server/cluster", "server/conductor", "server/cors", "server/keystone", "server/migrate",
		"server/placement", "server/policy", "server/postgres", "server/route", "server/spool",
	}},
	{path: "internal/setting", purpose: "how one setting is described and read", imports: []string{"internal/frame"}},
	{path: "internal/osloconf", purpose: "reads files in the form of `placement.conf`"},
	{path: "internal/draw", purpose: "pictures of provider trees and of their differences", imports: []string{
		"client", "internal/terminal",
	}},
	{path: "internal/version", purpose: "which berth this is", imports: []string{"internal/frame", "server/microversion"}},
	{path: "internal/frame", purpose: "what all commands share: streams, exit codes, mistakes, output", imports: []string{
		"internal/terminal",
	}},
	{path: "internal/terminal", purpose: "text that is harmless in a terminal; width and colors"},
	{path: "server", purpose: "which part stands before which", imports: []string{
		"server/apierr", "server/auditlog", "server/auth", "server/baremetal", "server/candidates",
		"server/cors", "server/fault", "server/forwarded", "server/loglimit", "server/microversion",
		"server/migrate", "server/placement", "server/policy", "server/postgres", "server/request",
		"server/requestlog", "server/route", "server/spool", "server/store",
	}},
	{path: "server/route", purpose: "the table of an API: operations, variants, checks, documents", imports: []string{
		"server/apierr", "server/auth", "server/fault", "server/jsonbody", "server/microversion",
		"server/policy", "server/querystring", "server/request", "server/store",
	}},
	{path: "server/placement", purpose: "the meaning of the Placement API", imports: []string{
		"server/apierr", "server/auditlog", "server/candidates", "server/fault", "server/jsonbody",
		"server/microversion", "server/policy", "server/querystring", "server/request", "server/route",
		"server/store", "server/uuidlike",
	}},
	{path: "server/baremetal", purpose: "the meaning of the Bare Metal API", imports: []string{
		"server/apierr", "server/auth", "server/conductor", "server/fault", "server/jsonbody",
		"server/microversion", "server/policy", "server/provision", "server/querystring", "server/request",
		"server/route", "server/store", "server/uuidlike",
	}},
	{path: "server/conductor", purpose: "the work behind the Bare Metal API: decides allocations, drives nodes", imports: []string{
		"server/provision", "server/store",
	}},
	{path: "server/provision", purpose: "the states of nodes, as data"},
	{path: "server/store", purpose: "the only way of the service to PostgreSQL", driver: true, imports: []string{
		"gen/db", "server/fault", "server/postgres",
	}},
	{path: "server/postgres", purpose: "connections to PostgreSQL: pool, replicas, retries, limits, traces of statements", driver: true, imports: []string{
		"gen/db", "server/fault",
	}},
	{path: "server/candidates", purpose: "the search for allocation candidates", driver: true, imports: []string{
		"gen/db", "server/candidates/combine", "server/fault", "server/postgres", "server/store",
	}},
	{path: "server/candidates/combine", purpose: "combines providers of a tree into candidates"},
	{path: "server/inprocess", purpose: "the service inside another process, as a transport of its client", imports: []string{
		"server", "server/migrate", "server/postgres", "server/store",
	}},
	{path: "server/placementdb", purpose: "the database of OpenStack Placement: reads, validates and writes it", driver: true, imports: []string{
		"gen/db", "server/uuidlike", "sql",
	}},
	{path: "server/cluster", purpose: "runs a private PostgreSQL", driver: true},
	{path: "server/migrate", purpose: "migrations, then functions", driver: true, imports: []string{"sql"}},
	{path: "server/audit", purpose: "finds and repairs what contradicts itself in a database", driver: true, imports: []string{
		"sql",
	}},
	{path: "server/spool", purpose: "holds complete answers until their clients have read them"},
	{path: "server/apierr", purpose: "the only package that knows both faults and HTTP", imports: []string{
		"server/fault", "server/microversion", "server/policy", "server/request",
	}},
	{path: "server/policy", purpose: "who may do what: rules, their language, their files", imports: []string{"server/auth"}},
	{path: "server/keystone", purpose: "finds out by Keystone who calls", imports: []string{"server/auth", "server/request"}},
	{path: "server/auth", purpose: "who calls, as a value of the request"},
	{path: "server/request", purpose: "what the parts of a request's way leave for each other", imports: []string{
		"server/accept", "server/forwarded",
	}},
	{path: "server/jsonbody", purpose: "decodes and validates bodies", imports: []string{"server/uuidlike"}},
	{path: "server/querystring", purpose: "parses query strings without losing order or repetition", imports: []string{
		"server/jsonbody", "server/uuidlike",
	}},
	{path: "server/microversion", purpose: "versions of the APIs, and what each allows"},
	{path: "server/cors", purpose: "answers browsers that call from other origins"},
	{path: "server/accept", purpose: "reads the Accept header"},
	{path: "server/forwarded", purpose: "reads the headers of proxies"},
	{path: "server/fault", purpose: "errors of the domain"},
	{path: "server/loglimit", purpose: "limits the rate of log lines that clients can cause"},
	{path: "server/auditlog", purpose: "the audit log: a line for each write, in a file"},
	{path: "server/requestlog", purpose: "the request in log lines, and the format of OpenStack's logs", imports: []string{
		"server/auth", "server/request",
	}},
	{path: "server/tracing", purpose: "sends spans, in the background"},
	{path: "server/uuidlike", purpose: "reads UUIDs as OpenStack does"},
	{path: "sql", purpose: "files, embedded"},
	{path: "openapi", purpose: "files, embedded"},
	{path: "openapi/record", purpose: "keeps the documents of `openapi` and their hashes", imports: []string{
		"openapi", "server", "server/route",
	}},
	{path: "gen/db", purpose: "generated from `sql/queries`", driver: true},
	{path: "gen/client", purpose: "generated from the OpenAPI document of 1.39"},
	{path: "client", purpose: "the client for Go programs: requests, trees, reshapes, claims", imports: []string{"gen/client"}},
	{path: "client/baremetal", purpose: "the same for the Bare Metal API: requests, and waiting for what takes its time", imports: []string{
		"client",
	}},
	{path: "agent", purpose: "asks a driver for the shape of a host, and when", imports: []string{"client"}},
	{path: "agent/host", purpose: "driver: a Linux machine", imports: []string{"agent/consumers", "client"}},
	{path: "agent/planfile", purpose: "driver: a file of moves", imports: []string{"client"}},
	{path: "agent/consumers", purpose: "who tells which consumer uses which part of a host", imports: []string{"client"}},
	{path: "cmd/bench", purpose: "the command line of the measuring commands below", imports: []string{
		"cmd/bench/baremetal", "cmd/bench/candidates", "cmd/bench/requests", "cmd/bench/rig", "cmd/bench/soak",
	}},
	{path: "cmd/bench/requests", purpose: "measures requests beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/postgres", "server/store",
	}},
	{path: "cmd/bench/candidates", purpose: "measures the search for allocation candidates beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/postgres", "server/store",
	}},
	{path: "cmd/bench/baremetal", purpose: "measures node allocations beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/baremetal", "server/conductor", "server/postgres",
		"server/store",
	}},
	{path: "cmd/bench/soak", purpose: "runs `berth serve` at half load and checks that nothing grows", driver: true, imports: []string{
		"cmd/bench/rig",
	}},
	{path: "cmd/bench/rig", purpose: "what the measuring commands share: a private PostgreSQL, clients, medians", driver: true, imports: []string{
		"server/cluster", "server/migrate", "server/postgres", "server/store",
	}},
	{path: "internal/test/dbtest", purpose: "tests only: databases of their own", driver: true, imports: []string{
		"server/audit", "server/cluster", "server/migrate",
	}},
	{path: "internal/test/storetest", purpose: "tests only: a store on such a database", imports: []string{
		"internal/test/dbtest", "server/postgres", "server/store",
	}},
	{path: "internal/test/servertest", purpose: "tests only: a server with a database, a store and both APIs", imports: []string{
		"internal/test/dbtest", "internal/test/scenario", "server", "server/baremetal", "server/conductor",
		"server/cors", "server/placement", "server/policy", "server/postgres", "server/store",
	}},
	{path: "internal/test/scenario", purpose: "tests only: requests and answers in files", imports: []string{
		"internal/test/dbtest",
	}},
	{path: "internal/test/history", purpose: "tests only: records what clients saw and asks whether any order explains it"},
	{path: "internal/test/badinput", purpose: "tests only: what no client should send"},
	{path: "internal/test/bruteforce", purpose: "tests only: the judge of allocation candidates"},
	{path: "internal/test/authority", purpose: "tests only: certificates"},
	{path: "internal/test/capture", purpose: "tests only: what a process writes and tells its service manager"},
	{path: "internal/test/testfile", purpose: "tests only: files and paths"},
}

// TestArchitecture_Imports_MatchTable fails where a package imports what its rule does not allow,
// and where a rule allows what is not imported.
func TestArchitecture_Imports_MatchTable(t *testing.T) {
	t.Parallel()
	const ours, driver = "github.com/berthd/berth/", "github.com/jackc/pgx/"
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]packageRule{}
	for _, rule := range packageRules {
		rules[rule.path] = rule
	}
	found := 0
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var listed struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(listed.ImportPath, ours)
		if name == "e2e" {
			continue // has no package but that of its tests
		}
		rule, ok := rules[name]
		if !ok {
			t.Errorf("%s has no rule", name)
			continue
		}
		found++
		var own []string
		drives := false
		for _, imported := range listed.Imports {
			if path, isOurs := strings.CutPrefix(imported, ours); isOurs {
				own = append(own, path)
			}
			drives = drives || strings.HasPrefix(imported, driver)
		}
		if !slices.Equal(own, rule.imports) {
			t.Errorf("%s imports %q, want %q", name, own, rule.imports)
		}
		if drives != rule.driver {
			t.Errorf("%s imports the driver of PostgreSQL: %t, want %t", name, drives, rule.driver)
		}
	}
	if found != len(packageRules) {
		t.Errorf("%d packages have rules, want %d", found, len(packageRules))
	}
}

// TestArchitecture_PackageTable_MatchesRules compares the table of docs/architecture.md with the
// rules. With -update it writes the table.
func TestArchitecture_PackageTable_MatchesRules(t *testing.T) {
	t.Parallel()
	const document, begin, end = "../docs/architecture.md", "<!-- packages -->\n", "<!-- end of packages -->\n"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatal("the marks of the table are gone")
	}
	var table strings.Builder
	table.WriteString("| Package | What it is for | Imports |\n| --- | --- | --- |\n")
	for _, rule := range packageRules {
		imports := "nothing"
		if len(rule.imports) > 0 {
			imports = "`" + strings.Join(rule.imports, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", rule.path, rule.purpose, imports)
	}
	want := before + begin + table.String() + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the table of packages differs from the rules; write it with: go test ./e2e -run Architecture -update")
	}
	if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
