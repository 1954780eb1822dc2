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
	{path: "cmd/berth", purpose: "the process: streams, environment and signals", imports: []string{
		"cmd/berth/command", "cmd/berth/frame",
	}},
	{path: "cmd/berth/command", purpose: "the list of commands, execution of a command line, manual pages", imports: []string{
		"cmd/berth/admin", "cmd/berth/apicommand", "cmd/berth/config", "cmd/berth/connect", "cmd/berth/frame",
		"cmd/berth/hostcommand", "cmd/berth/reconcile", "cmd/berth/run", "cmd/berth/serve", "cmd/berth/version",
	}},
	{path: "cmd/berth/serve", purpose: "`berth serve`: opens, serves and closes the parts of the server", imports: []string{
		"cmd/berth/config", "cmd/berth/frame", "cmd/berth/open", "cmd/berth/setting", "cmd/berth/version",
		"internal/exactjson", "server", "server/api/baremetal", "server/api/placement", "server/console",
		"server/data/migrate", "server/data/postgres", "server/data/store", "server/identity/auth",
		"server/identity/keystone", "server/identity/oidc", "server/identity/policy", "server/identity/tokens",
		"server/observe/auditlog", "server/observe/tracing", "server/search/explainlog", "server/wire/forwarded",
		"server/wire/spool", "server/work/conductor", "server/work/history", "server/work/idempotency", "server/work/leases",
	}},
	{path: "cmd/berth/admin", purpose: "administration commands: database, import and export, policy, tokens, documents", driver: true, imports: []string{
		"cmd/berth/config", "cmd/berth/connect", "cmd/berth/frame", "cmd/berth/open", "cmd/berth/plan",
		"cmd/berth/setting", "internal/draw", "internal/terminal", "server", "server/api/route", "server/data/audit",
		"server/data/migrate", "server/data/placementdb", "server/data/postgres", "server/data/session", "server/data/store",
		"server/identity/auth", "server/identity/policy", "server/identity/tokens", "server/wire/microversion",
	}},
	{path: "cmd/berth/apicommand", purpose: "commands that are clients of the APIs", imports: []string{
		"client", "client/baremetal", "cmd/berth/connect", "cmd/berth/frame", "gen/client", "internal/demo",
		"internal/draw", "internal/exactjson", "internal/explaintext", "internal/historytext", "internal/querytext", "internal/terminal",
	}},
	{path: "cmd/berth/hostcommand", purpose: "commands that run on a host: the agent and reshapes", imports: []string{
		"agent", "agent/consumers", "agent/host", "agent/planfile", "client", "cmd/berth/apicommand",
		"cmd/berth/config", "cmd/berth/connect", "cmd/berth/frame", "cmd/berth/open", "cmd/berth/setting",
		"cmd/berth/version", "gen/client", "internal/draw", "internal/exactjson", "internal/terminal",
		"server/data/cluster", "server/inprocess",
	}},
	{path: "cmd/berth/reconcile", purpose: "compares consumers and providers with another service or a file, and repairs them", imports: []string{
		"client", "cmd/berth/connect", "cmd/berth/frame", "gen/client", "internal/terminal",
	}},
	{path: "cmd/berth/run", purpose: "`berth run`: claims a place for a command, runs it, renews the lease, gives the place back", imports: []string{
		"agent/host", "client", "cmd/berth/apicommand", "cmd/berth/connect", "cmd/berth/frame", "internal/terminal",
	}},
	{path: "cmd/berth/plan", purpose: "plans of the statements that a request executes", driver: true, imports: []string{
		"server", "server/api/baremetal", "server/data/migrate", "server/data/postgres", "server/data/session",
		"server/data/store", "server/wire/inside", "server/wire/microversion",
	}},
	{path: "cmd/berth/connect", purpose: "connections of commands to a server: URL, credentials, TLS", imports: []string{
		"client", "cmd/berth/frame", "cmd/berth/setting", "cmd/berth/version", "internal/terminal",
	}},
	{path: "cmd/berth/open", purpose: "shared resources of commands: database, log, certificates, service manager", driver: true, imports: []string{
		"cmd/berth/config", "cmd/berth/frame", "server/data/cluster", "server/data/migrate", "server/data/postgres",
		"server/observe/requestlog",
	}},
	{path: "cmd/berth/config", purpose: "the settings of the server: tables, `placement.conf`, validation", driver: true, imports: []string{
		"cmd/berth/frame", "cmd/berth/osloconf", "cmd/berth/setting", "server", "server/api/placement",
		"server/api/route", "server/data/cluster", "server/data/migrate", "server/data/postgres",
		"server/identity/keystone", "server/identity/oidc", "server/identity/policy", "server/observe/auditlog",
		"server/search/explainlog", "server/wire/cors", "server/wire/spool", "server/work/conductor",
		"server/work/events", "server/work/idempotency", "server/work/leases",
	}},
	{path: "cmd/berth/setting", purpose: "definition and parsing of a setting", imports: []string{"cmd/berth/frame"}},
	{path: "cmd/berth/osloconf", purpose: "parser of `placement.conf`"},
	{path: "cmd/berth/version", purpose: "version and revision of the binary", imports: []string{"cmd/berth/frame", "server/wire/microversion"}},
	{path: "cmd/berth/frame", purpose: "the frame of all commands: streams, exit codes, errors, output formats", imports: []string{
		"internal/terminal",
	}},
	{path: "server/inprocess", purpose: "the server inside another process, as an HTTP transport", imports: []string{
		"server", "server/data/migrate", "server/data/postgres", "server/data/store", "server/wire/inside",
	}},
	{path: "server", purpose: "assembles the middleware and mounts the APIs", imports: []string{
		"server/api/apierr", "server/api/baremetal", "server/api/placement", "server/api/route", "server/data/migrate",
		"server/data/postgres", "server/data/session", "server/data/store", "server/identity/auth",
		"server/identity/policy", "server/observe/auditlog", "server/observe/loglimit", "server/observe/requestlog",
		"server/search/candidates", "server/search/claims", "server/search/explainlog", "server/search/searchpool",
		"server/wire/cors", "server/wire/fairqueue", "server/wire/fault", "server/wire/forwarded",
		"server/wire/inside", "server/wire/microversion", "server/wire/querystring", "server/wire/request",
		"server/wire/spool", "server/work/events",
	}},
	{path: "server/console", purpose: "the web console: pages made of calls to the API in the same process", imports: []string{
		"client", "client/baremetal", "gen/client", "internal/demo", "internal/draw", "internal/explaintext",
		"internal/historytext", "internal/querytext", "server/wire/fault", "server/wire/inside", "server/wire/querystring",
		"server/wire/request", "server/work/provision",
	}},
	{path: "server/api/route", purpose: "the route table of an API: operations, variants, checks, documents", imports: []string{
		"server/api/apierr", "server/data/store", "server/identity/auth", "server/identity/policy",
		"server/wire/accept", "server/wire/fault", "server/wire/jsonbody", "server/wire/microversion", "server/wire/querystring",
		"server/wire/request",
	}},
	{path: "server/api/placement", purpose: "operations of the Placement API", imports: []string{
		"server/api/apierr", "server/api/route", "server/data/postgres", "server/data/store",
		"server/identity/auth", "server/identity/policy",
		"server/observe/auditlog", "server/search/candidates", "server/search/claims", "server/search/explain",
		"server/search/explainlog", "server/search/searchpool", "server/wire/fault", "server/wire/jsonbody",
		"server/wire/microversion", "server/wire/querystring", "server/wire/request", "server/wire/uuidlike",
		"server/work/events",
	}},
	{path: "server/api/baremetal", purpose: "operations of the Bare Metal API", imports: []string{
		"server/api/apierr", "server/api/route", "server/data/store", "server/identity/auth", "server/identity/policy",
		"server/search/explain", "server/search/explainlog", "server/wire/fault", "server/wire/jsonbody",
		"server/wire/microversion", "server/wire/querystring", "server/wire/request", "server/wire/uuidlike",
		"server/work/conductor", "server/work/provision",
	}},
	{path: "server/api/apierr", purpose: "maps errors to HTTP responses", imports: []string{
		"server/identity/policy", "server/wire/fault", "server/wire/microversion", "server/wire/request",
	}},
	{path: "server/search/claims", purpose: "finds a place for consumers and claims it: the loop over search and write", imports: []string{
		"server/data/postgres", "server/data/store", "server/search/candidates",
	}},
	{path: "server/search/candidates", purpose: "search for allocation candidates", driver: true, imports: []string{
		"gen/db", "server/data/postgres", "server/data/store", "server/search/candidates/combine",
		"server/search/candidates/split", "server/search/searchpool", "server/wire/fairqueue", "server/wire/fault",
	}},
	{path: "server/search/searchpool", purpose: "bounds the searches of a server, and shares their turns among callers", imports: []string{
		"server/identity/auth", "server/wire/fairqueue", "server/wire/fault",
	}},
	{path: "server/search/candidates/combine", purpose: "combines providers of a tree into candidates"},
	{path: "server/search/candidates/split", purpose: "distributes amounts over several providers of a tree"},
	{path: "server/search/explain", purpose: "explains what the search finds: what each condition leaves, nearest trees, changes that help; why a claim does not fit", imports: []string{
		"gen/db", "server/data/postgres", "server/data/store", "server/search/candidates", "server/wire/fault",
	}},
	{path: "server/search/explainlog", purpose: "records candidate queries that found nothing and claims that did not fit, and explains them in the background", imports: []string{
		"server/data/store", "server/observe/loglimit", "server/search/explain", "server/wire/microversion",
		"server/wire/querystring",
	}},
	{path: "server/work/conductor", purpose: "background work of the Bare Metal API: decides node allocations, drives nodes", imports: []string{
		"server/data/store", "server/work/provision",
	}},
	{path: "server/work/provision", purpose: "the state machine of nodes, as data"},
	{path: "server/work/idempotency", purpose: "deletes expired idempotency keys in the background, and counts the others", imports: []string{
		"server/data/store", "server/observe/loglimit",
	}},
	{path: "server/work/history", purpose: "puts recorded changes in order, begins and ends the record, deletes old days", imports: []string{
		"server/data/store", "server/observe/loglimit",
	}},
	{path: "server/work/events", purpose: "streams of events: reads the record once for all clients of a server", imports: []string{
		"server/data/store", "server/observe/loglimit", "server/wire/fault",
	}},
	{path: "server/work/leases", purpose: "removes consumers whose leases have expired, and counts the others", imports: []string{
		"server/data/store", "server/observe/auditlog", "server/observe/loglimit",
	}},
	{path: "server/data/store", purpose: "store methods: the queries of the operations", driver: true, imports: []string{
		"gen/db", "server/data/postgres", "server/wire/fault",
	}},
	{path: "server/data/postgres", purpose: "connections to PostgreSQL: pool, replicas, retries, limits, tracing", driver: true, imports: []string{
		"gen/db", "server/data/session", "server/wire/fault",
	}},
	{path: "server/data/session", purpose: "settings of PostgreSQL on which the behavior depends: sets and checks them", driver: true, imports: []string{"gen/db"}},
	{path: "server/data/placementdb", purpose: "the database of OpenStack Placement: reads, validates and writes it", driver: true, imports: []string{
		"gen/db", "server/data/postgres", "server/data/session", "server/wire/uuidlike", "sql",
	}},
	{path: "server/data/cluster", purpose: "the embedded PostgreSQL", driver: true},
	{path: "server/data/migrate", purpose: "schema migrations and SQL functions", driver: true, imports: []string{"server/data/session", "sql"}},
	{path: "server/data/audit", purpose: "finds and repairs inconsistencies in a database", driver: true, imports: []string{
		"sql",
	}},
	{path: "server/identity/policy", purpose: "authorization policy: rules, their language, policy files", imports: []string{"server/identity/auth"}},
	{path: "server/identity/tokens", purpose: "authenticates callers by tokens whose hashes are in a file", imports: []string{"server/identity/auth"}},
	{path: "server/identity/keystone", purpose: "authenticates callers by validating Keystone tokens", imports: []string{"internal/exactjson", "server/identity/auth", "server/wire/fairqueue", "server/wire/request"}},
	{path: "server/identity/oidc", purpose: "authenticates callers by JSON Web Tokens of an OpenID Connect issuer", imports: []string{"internal/exactjson", "server/identity/auth"}},
	{path: "server/identity/auth", purpose: "the caller of a request"},
	{path: "server/observe/loglimit", purpose: "rate limit of log lines that clients can cause"},
	{path: "server/observe/auditlog", purpose: "the audit log: a line per write request in a file"},
	{path: "server/observe/requestlog", purpose: "attributes of requests in logs, and the log format of OpenStack", imports: []string{
		"server/identity/auth", "server/wire/request",
	}},
	{path: "server/observe/tracing", purpose: "exports spans in the background"},
	{path: "server/wire/fairqueue", purpose: "bounds concurrent work and shares it among clients, in round-robin order"},
	{path: "server/wire/inside", purpose: "answers requests of this process with a handler, as an HTTP transport"},
	{path: "server/wire/spool", purpose: "buffers complete responses until clients have read them"},
	{path: "server/wire/request", purpose: "request-scoped values that middleware and handlers share", imports: []string{
		"server/wire/accept", "server/wire/forwarded",
	}},
	{path: "server/wire/jsonbody", purpose: "decodes and validates request bodies", imports: []string{"server/wire/uuidlike"}},
	{path: "server/wire/querystring", purpose: "parses query strings without losing order or repetition", imports: []string{
		"server/wire/jsonbody", "server/wire/uuidlike",
	}},
	{path: "server/wire/microversion", purpose: "versions of the APIs and their differences"},
	{path: "server/wire/cors", purpose: "cross-origin resource sharing"},
	{path: "server/wire/accept", purpose: "parses the Accept header"},
	{path: "server/wire/forwarded", purpose: "parses the headers of proxies"},
	{path: "server/wire/fault", purpose: "errors of the domain, without HTTP"},
	{path: "server/wire/uuidlike", purpose: "parses UUIDs as OpenStack does"},
	{path: "internal/demo", purpose: "a cloud of sample data", imports: []string{"client", "client/baremetal", "gen/client"}},
	{path: "internal/exactjson", purpose: "decodes JSON that decides something, with exact and unique names"},
	{path: "internal/draw", purpose: "diagrams of provider trees and of their changes", imports: []string{
		"client", "gen/client", "internal/terminal",
	}},
	{path: "internal/querytext", purpose: "candidate queries as text: addresses, forms, flavors, files of shapes and names of aggregates", imports: []string{"client"}},
	{path: "internal/explaintext", purpose: "texts of explanations for people", imports: []string{"client", "gen/client"}},
	{path: "internal/historytext", purpose: "texts of events of the record of changes for people", imports: []string{"client", "gen/client"}},
	{path: "internal/terminal", purpose: "escaped text, width and colors of terminals"},
	{path: "sql", purpose: "embedded SQL files"},
	{path: "openapi", purpose: "embedded OpenAPI documents"},
	{path: "openapi/record", purpose: "writes the documents of `openapi` and their hashes", imports: []string{
		"openapi", "server", "server/api/route", "server/wire/microversion",
	}},
	{path: "gen/db", purpose: "generated from `sql/queries`", driver: true},
	{path: "gen/client", purpose: "generated from the OpenAPI document of the newest extensions"},
	{path: "client", purpose: "Go client of the Placement API: requests, trees, reshapes, claims", imports: []string{"gen/client"}},
	{path: "client/baremetal", purpose: "Go client of the Bare Metal API: requests, and waiting for asynchronous operations", imports: []string{
		"client",
	}},
	{path: "agent", purpose: "reports the provider tree of a host, which a driver returns", imports: []string{"client"}},
	{path: "agent/host", purpose: "driver: the hardware of a Linux host", imports: []string{"agent/consumers", "client"}},
	{path: "agent/planfile", purpose: "driver: a file of moves", imports: []string{"client"}},
	{path: "agent/consumers", purpose: "finds the consumers of a host's resources", imports: []string{"client", "internal/exactjson"}},
	{path: "cmd/bench", purpose: "the command line of the benchmarks", imports: []string{
		"cmd/bench/baremetal", "cmd/bench/candidates", "cmd/bench/requests", "cmd/bench/rig", "cmd/bench/soak",
	}},
	{path: "cmd/bench/requests", purpose: "benchmarks of requests beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/data/postgres", "server/data/store",
	}},
	{path: "cmd/bench/candidates", purpose: "benchmarks of allocation candidates beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "internal/test/process",
	}},
	{path: "cmd/bench/baremetal", purpose: "benchmarks of node allocations beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/api/baremetal", "server/data/postgres", "server/data/store",
		"server/work/conductor",
	}},
	{path: "cmd/bench/soak", purpose: "soak test: `berth serve` at half load, with bounds on its growth", driver: true, imports: []string{
		"cmd/bench/rig", "internal/test/process",
	}},
	{path: "cmd/bench/rig", purpose: "shared parts of the benchmarks: servers, clients, CPU times, results", driver: true, imports: []string{
		"internal/test/privatedb", "internal/test/process", "server/data/postgres", "server/data/store",
	}},
	{path: "internal/test/dbtest", purpose: "tests only: databases of their own", driver: true, imports: []string{
		"server/data/audit", "server/data/cluster", "server/data/migrate",
	}},
	{path: "internal/test/storetest", purpose: "tests only: a store on a database of its own", imports: []string{
		"internal/test/dbtest", "server/data/postgres", "server/data/store",
	}},
	{path: "internal/test/servertest", purpose: "tests only: a server with a database, a store and both APIs", imports: []string{
		"internal/test/dbtest", "internal/test/scenario", "server", "server/api/baremetal", "server/api/placement",
		"server/data/postgres", "server/data/store", "server/identity/policy", "server/wire/cors",
		"server/work/conductor",
	}},
	{path: "internal/test/scenario", purpose: "tests only: requests and responses in files", imports: []string{
		"internal/test/dbtest",
	}},
	{path: "internal/test/model", purpose: "tests only: sequential model of the rules"},
	{path: "internal/test/history", purpose: "tests only: linearizability checker", imports: []string{"internal/test/model"}},
	{path: "internal/test/badinput", purpose: "tests only: malformed and hostile requests", imports: []string{
		"server", "server/api/route", "server/wire/microversion", "server/wire/request", "server/work/conductor",
	}},
	{path: "internal/test/compare", purpose: "tests only: sends the same requests to two builds and compares the responses", driver: true, imports: []string{
		"internal/test/badinput", "internal/test/privatedb", "internal/test/process", "internal/test/scenario",
		"internal/test/session", "server/work/provision",
	}},
	{path: "internal/test/privatedb", purpose: "tests and benchmarks only: a private PostgreSQL of a program", driver: true, imports: []string{
		"server/data/cluster", "server/data/migrate", "server/data/postgres", "server/data/store",
	}},
	{path: "internal/test/process", purpose: "tests and benchmarks only: runs a program as a process of its own"},
	{path: "internal/test/session", purpose: "tests only: parser of recorded sessions of commands"},
	{path: "internal/test/bruteforce", purpose: "tests only: brute-force reference of allocation candidates and their explanations", imports: []string{
		"server/search/explain",
	}},
	{path: "internal/test/oidcprovider", purpose: "tests only: OpenID Connect provider"},
	{path: "internal/test/authority", purpose: "tests only: certificate authority"},
	{path: "internal/test/counts", purpose: "tests only: how many cases of a kind run"},
	{path: "internal/test/capture", purpose: "tests only: output of a process and its messages to the service manager"},
	{path: "internal/test/browser", purpose: "tests only: Chromium, which opens pages and reports their faults"},
	{path: "internal/test/testfile", purpose: "tests only: files and paths"},
}

// TestArchitecture_Imports_MatchTable fails where a package imports what its rule does not allow,
// and where a rule allows what is not imported.
func TestArchitecture_Imports_MatchTable(t *testing.T) {
	t.Parallel()
	const ours, driver = "github.com/berthd/berth/", "github.com/jackc/pgx/"
	var output []byte
	for _, module := range []string{"..", "../cmd/bench"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
		list.Dir = module
		listed, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		output = append(output, listed...)
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

// folders are the folders of packages from top to bottom. A package imports those of its own folder and of lower ones.
var folders = []string{
	"cmd/bench", "openapi", "cmd/berth", "server/inprocess", "server", "server/console", "server/api", "server/search", "server/work", "server/data",
	"server/observe", "server/identity", "server/wire", "agent", "internal", "client", "gen", "sql",
}

// TestArchitecture_Imports_PointDown fails where a package imports one of a higher folder. Packages for tests are exempt.
func TestArchitecture_Imports_PointDown(t *testing.T) {
	t.Parallel()
	for _, rule := range packageRules {
		if strings.HasPrefix(rule.path, "internal/test/") {
			continue
		}
		own := folderOf(rule.path)
		if own < 0 {
			t.Errorf("%s is in no folder", rule.path)
		}
		for _, imported := range rule.imports {
			if folderOf(imported) < own {
				t.Errorf("%s imports %s, whose folder is higher", rule.path, imported)
			}
		}
	}
}

// folderOf returns the index of the folder of a package: the longest that contains it, or -1.
func folderOf(path string) int {
	best := -1
	for i, folder := range folders {
		if (path == folder || strings.HasPrefix(path, folder+"/")) && (best < 0 || len(folder) > len(folders[best])) {
			best = i
		}
	}
	return best
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
