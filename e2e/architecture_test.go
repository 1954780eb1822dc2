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
		"internal/command", "internal/frame",
	}},
	{path: "internal/command", purpose: "the list of commands, execution of a command line, manual pages", imports: []string{
		"internal/admin", "internal/apicommand", "internal/config", "internal/connect", "internal/frame",
		"internal/hostcommand", "internal/serve", "internal/version",
	}},
	{path: "internal/serve", purpose: "`berth serve`: opens, serves and closes the parts of the server", imports: []string{
		"internal/config", "internal/exactjson", "internal/frame", "internal/open", "internal/setting", "internal/version",
		"server", "server/auditlog", "server/auth", "server/baremetal", "server/conductor", "server/console", "server/explainlog",
		"server/forwarded", "server/idempotency", "server/keystone", "server/migrate", "server/oidc", "server/placement", "server/policy", "server/postgres", "server/spool",
		"server/store", "server/tokens", "server/tracing",
	}},
	{path: "internal/admin", purpose: "administration commands: database, import and export, policy, tokens, documents", driver: true, imports: []string{
		"internal/config", "internal/connect", "internal/frame", "internal/open", "internal/plan", "internal/setting",
		"server", "server/audit", "server/auth", "server/microversion",
		"server/migrate", "server/placementdb", "server/policy", "server/postgres", "server/route", "server/session",
		"server/store", "server/tokens",
	}},
	{path: "internal/demo", purpose: "a cloud of sample data", imports: []string{"client", "client/baremetal", "gen/client"}},
	{path: "internal/apicommand", purpose: "commands that are clients of the APIs", imports: []string{
		"client", "client/baremetal", "gen/client", "internal/connect", "internal/demo", "internal/draw", "internal/exactjson", "internal/explaintext", "internal/frame",
		"internal/question", "internal/terminal",
	}},
	{path: "internal/hostcommand", purpose: "commands that run on a host: the agent and reshapes", imports: []string{
		"agent", "agent/consumers", "agent/host", "agent/planfile", "client", "gen/client",
		"internal/apicommand", "internal/config", "internal/connect", "internal/draw", "internal/exactjson", "internal/frame",
		"internal/open", "internal/setting", "internal/terminal", "internal/version", "server/cluster",
		"server/inprocess",
	}},
	{path: "internal/plan", purpose: "plans of the statements that a request executes", driver: true, imports: []string{
		"server", "server/baremetal", "server/inside", "server/microversion", "server/migrate",
		"server/postgres", "server/session", "server/store",
	}},
	{path: "internal/connect", purpose: "connections of commands to a server: URL, credentials, TLS", imports: []string{
		"client", "internal/frame", "internal/setting", "internal/terminal", "internal/version",
	}},
	{path: "internal/open", purpose: "shared resources of commands: database, log, certificates, service manager", driver: true, imports: []string{
		"internal/config", "internal/frame", "server/cluster", "server/migrate", "server/postgres",
		"server/requestlog",
	}},
	{path: "internal/config", purpose: "the settings of the server: tables, `placement.conf`, validation", driver: true, imports: []string{
		"internal/frame", "internal/osloconf", "internal/setting", "server", "server/auditlog",
		"server/cluster", "server/conductor", "server/cors", "server/explainlog", "server/idempotency", "server/keystone", "server/migrate",
		"server/oidc", "server/placement", "server/policy", "server/postgres", "server/route", "server/spool",
	}},
	{path: "internal/setting", purpose: "definition and parsing of a setting", imports: []string{"internal/frame"}},
	{path: "internal/osloconf", purpose: "parser of `placement.conf`"},
	{path: "internal/exactjson", purpose: "decodes JSON that decides something, with exact and unique names"},
	{path: "internal/draw", purpose: "diagrams of provider trees and of their changes", imports: []string{
		"client", "gen/client", "internal/terminal",
	}},
	{path: "internal/question", purpose: "candidate queries as text: addresses, forms, flavors, files of shapes and names of aggregates", imports: []string{"client"}},
	{path: "internal/explaintext", purpose: "texts of explanations for people", imports: []string{"client", "gen/client"}},
	{path: "internal/version", purpose: "version and revision of the binary", imports: []string{"internal/frame", "server/microversion"}},
	{path: "internal/frame", purpose: "the frame of all commands: streams, exit codes, errors, output formats", imports: []string{
		"internal/terminal",
	}},
	{path: "internal/terminal", purpose: "escaped text, width and colors of terminals"},
	{path: "server", purpose: "assembles the middleware and mounts the APIs", imports: []string{
		"server/apierr", "server/auditlog", "server/auth", "server/baremetal", "server/candidates", "server/claims",
		"server/cors", "server/explainlog", "server/fairqueue", "server/fault", "server/forwarded", "server/inside", "server/loglimit", "server/microversion",
		"server/migrate", "server/placement", "server/policy", "server/postgres", "server/querystring", "server/request",
		"server/requestlog", "server/route", "server/searchpool", "server/session", "server/spool", "server/store",
	}},
	{path: "server/route", purpose: "the route table of an API: operations, variants, checks, documents", imports: []string{
		"server/apierr", "server/auth", "server/fault", "server/jsonbody", "server/microversion",
		"server/policy", "server/querystring", "server/request", "server/store",
	}},
	{path: "server/placement", purpose: "operations of the Placement API", imports: []string{
		"server/apierr", "server/auditlog", "server/candidates", "server/claims", "server/explain", "server/explainlog", "server/fault",
		"server/jsonbody", "server/microversion", "server/policy", "server/postgres", "server/querystring", "server/request", "server/route", "server/searchpool",
		"server/store", "server/uuidlike",
	}},
	{path: "server/baremetal", purpose: "operations of the Bare Metal API", imports: []string{
		"server/apierr", "server/auth", "server/conductor", "server/explain", "server/explainlog", "server/fault", "server/jsonbody",
		"server/microversion", "server/policy", "server/provision", "server/querystring", "server/request",
		"server/route", "server/store", "server/uuidlike",
	}},
	{path: "server/conductor", purpose: "background work of the Bare Metal API: decides node allocations, drives nodes", imports: []string{
		"server/provision", "server/store",
	}},
	{path: "server/provision", purpose: "the state machine of nodes, as data"},
	{path: "server/store", purpose: "store methods: the queries of the operations", driver: true, imports: []string{
		"gen/db", "server/fault", "server/postgres",
	}},
	{path: "server/postgres", purpose: "connections to PostgreSQL: pool, replicas, retries, limits, tracing", driver: true, imports: []string{
		"gen/db", "server/fault", "server/session",
	}},
	{path: "server/session", purpose: "settings of PostgreSQL on which the behavior depends: sets and checks them", driver: true, imports: []string{"gen/db"}},
	{path: "server/claims", purpose: "finds a place for consumers and claims it: the loop over search and write", imports: []string{
		"server/candidates", "server/postgres", "server/store",
	}},
	{path: "server/candidates", purpose: "search for allocation candidates", driver: true, imports: []string{
		"gen/db", "server/candidates/combine", "server/candidates/split", "server/fairqueue", "server/fault", "server/postgres", "server/searchpool", "server/store",
	}},
	{path: "server/searchpool", purpose: "bounds the searches of a server, and shares their turns among callers", imports: []string{
		"server/auth", "server/fairqueue", "server/fault",
	}},
	{path: "server/fairqueue", purpose: "bounds concurrent work and shares it among clients, in round-robin order"},
	{path: "server/candidates/combine", purpose: "combines providers of a tree into candidates"},
	{path: "server/candidates/split", purpose: "distributes amounts over several providers of a tree"},
	{path: "server/explain", purpose: "explains what the search finds: what each condition leaves, nearest trees, changes that help; why a claim does not fit", imports: []string{
		"gen/db", "server/candidates", "server/fault", "server/postgres", "server/store",
	}},
	{path: "server/inside", purpose: "answers requests of this process with a handler, as an HTTP transport"},
	{path: "server/inprocess", purpose: "the server inside another process, as an HTTP transport", imports: []string{
		"server", "server/inside", "server/migrate", "server/postgres", "server/store",
	}},
	{path: "server/console", purpose: "the web console: pages made of calls to the API in the same process", imports: []string{
		"client", "client/baremetal", "gen/client", "internal/demo", "internal/draw", "internal/explaintext", "internal/question", "server/fault", "server/inside", "server/provision", "server/querystring",
		"server/request",
	}},
	{path: "server/placementdb", purpose: "the database of OpenStack Placement: reads, validates and writes it", driver: true, imports: []string{
		"gen/db", "server/session", "server/uuidlike", "sql",
	}},
	{path: "server/cluster", purpose: "the embedded PostgreSQL", driver: true},
	{path: "server/migrate", purpose: "schema migrations and SQL functions", driver: true, imports: []string{"server/session", "sql"}},
	{path: "server/audit", purpose: "finds and repairs inconsistencies in a database", driver: true, imports: []string{
		"sql",
	}},
	{path: "server/spool", purpose: "buffers complete responses until clients have read them"},
	{path: "server/apierr", purpose: "maps errors to HTTP responses", imports: []string{
		"server/fault", "server/microversion", "server/policy", "server/request",
	}},
	{path: "server/policy", purpose: "authorization policy: rules, their language, policy files", imports: []string{"server/auth"}},
	{path: "server/tokens", purpose: "authenticates callers by tokens whose hashes are in a file", imports: []string{"server/auth"}},
	{path: "server/keystone", purpose: "authenticates callers by validating Keystone tokens", imports: []string{"internal/exactjson", "server/auth", "server/fairqueue", "server/request"}},
	{path: "server/oidc", purpose: "authenticates callers by JSON Web Tokens of an OpenID Connect issuer", imports: []string{"internal/exactjson", "server/auth"}},
	{path: "server/auth", purpose: "the caller of a request"},
	{path: "server/request", purpose: "request-scoped values that middleware and handlers share", imports: []string{
		"server/accept", "server/forwarded",
	}},
	{path: "server/jsonbody", purpose: "decodes and validates request bodies", imports: []string{"server/uuidlike"}},
	{path: "server/querystring", purpose: "parses query strings without losing order or repetition", imports: []string{
		"server/jsonbody", "server/uuidlike",
	}},
	{path: "server/microversion", purpose: "versions of the APIs and their differences"},
	{path: "server/cors", purpose: "cross-origin resource sharing"},
	{path: "server/accept", purpose: "parses the Accept header"},
	{path: "server/forwarded", purpose: "parses the headers of proxies"},
	{path: "server/fault", purpose: "errors of the domain, without HTTP"},
	{path: "server/loglimit", purpose: "rate limit of log lines that clients can cause"},
	{path: "server/auditlog", purpose: "the audit log: a line per write request in a file"},
	{path: "server/idempotency", purpose: "deletes expired idempotency keys in the background, and counts the others", imports: []string{
		"server/loglimit", "server/store",
	}},
	{path: "server/explainlog", purpose: "records candidate queries that found nothing and claims that did not fit, and explains them in the background", imports: []string{
		"server/explain", "server/loglimit", "server/microversion", "server/querystring", "server/store",
	}},
	{path: "server/requestlog", purpose: "attributes of requests in logs, and the log format of OpenStack", imports: []string{
		"server/auth", "server/request",
	}},
	{path: "server/tracing", purpose: "exports spans in the background"},
	{path: "server/uuidlike", purpose: "parses UUIDs as OpenStack does"},
	{path: "sql", purpose: "embedded SQL files"},
	{path: "openapi", purpose: "embedded OpenAPI documents"},
	{path: "openapi/record", purpose: "writes the documents of `openapi` and their hashes", imports: []string{
		"openapi", "server", "server/microversion", "server/route",
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
		"cmd/bench/rig", "server", "server/postgres", "server/store",
	}},
	{path: "cmd/bench/candidates", purpose: "benchmarks of allocation candidates beside baselines", driver: true, imports: []string{
		"cmd/bench/rig",
	}},
	{path: "cmd/bench/baremetal", purpose: "benchmarks of node allocations beside baselines", driver: true, imports: []string{
		"cmd/bench/rig", "server", "server/baremetal", "server/conductor", "server/postgres",
		"server/store",
	}},
	{path: "cmd/bench/soak", purpose: "soak test: `berth serve` at half load, with bounds on its growth", driver: true, imports: []string{
		"cmd/bench/rig",
	}},
	{path: "cmd/bench/rig", purpose: "shared parts of the benchmarks: a private PostgreSQL, clients, medians", driver: true, imports: []string{
		"server/cluster", "server/migrate", "server/postgres", "server/store",
	}},
	{path: "internal/test/dbtest", purpose: "tests only: databases of their own", driver: true, imports: []string{
		"server/audit", "server/cluster", "server/migrate",
	}},
	{path: "internal/test/storetest", purpose: "tests only: a store on a database of its own", imports: []string{
		"internal/test/dbtest", "server/postgres", "server/store",
	}},
	{path: "internal/test/servertest", purpose: "tests only: a server with a database, a store and both APIs", imports: []string{
		"internal/test/dbtest", "internal/test/scenario", "server", "server/baremetal", "server/conductor",
		"server/cors", "server/placement", "server/policy", "server/postgres", "server/store",
	}},
	{path: "internal/test/scenario", purpose: "tests only: requests and responses in files", imports: []string{
		"internal/test/dbtest",
	}},
	{path: "internal/test/history", purpose: "tests only: linearizability checker"},
	{path: "internal/test/badinput", purpose: "tests only: malformed and hostile requests", imports: []string{
		"server", "server/conductor", "server/microversion", "server/request", "server/route",
	}},
	{path: "internal/test/compare", purpose: "tests only: sends the same requests to two builds and compares the responses", driver: true, imports: []string{
		"cmd/bench/rig", "internal/test/badinput", "internal/test/scenario", "internal/test/session", "server/provision",
	}},
	{path: "internal/test/session", purpose: "tests only: parser of recorded sessions of commands"},
	{path: "internal/test/bruteforce", purpose: "tests only: brute-force reference of allocation candidates and their explanations", imports: []string{
		"server/explain",
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
