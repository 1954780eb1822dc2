package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// sqlSources are the files of queries and functions, by name, and the text of each query.
type sqlSources struct{ queryFiles, queryTexts, functionFiles map[string]string }

var queryHeader = regexp.MustCompile(`(?m)^-- name: (\w+) :`)

func readSQL(t *testing.T) *sqlSources {
	t.Helper()
	made := &sqlSources{map[string]string{}, map[string]string{}, map[string]string{}}
	queries, err := filepath.Glob("../sql/queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range queries {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range queryHeader.FindAllStringSubmatchIndex(string(text), -1) {
			query, rest := string(text[at[2]:at[3]]), string(text[at[1]:])
			made.queryFiles[query] = strings.TrimPrefix(name, "../")
			made.queryTexts[query], _, _ = strings.Cut(rest, ";")
		}
	}
	functions, err := filepath.Glob("../sql/functions/*.sql")
	if err != nil || len(functions) == 0 || len(queries) == 0 {
		t.Fatalf("%d queries, %d functions, %v", len(queries), len(functions), err)
	}
	for _, name := range functions {
		made.functionFiles[strings.TrimSuffix(filepath.Base(name), ".sql")] = strings.TrimPrefix(name, "../")
	}
	return made
}

var functionCall = regexp.MustCompile(`\b(\w+)\s*\(`)

// functions returns the functions that a text of SQL calls, except itself.
func (s *sqlSources) functions(itself, text string) []string {
	found := map[string]bool{}
	for _, call := range functionCall.FindAllStringSubmatch(sqlComment.ReplaceAllString(text, ""), -1) {
		if s.functionFiles[call[1]] != "" && call[1] != itself {
			found[call[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var sqlComment = regexp.MustCompile(`(?m)--.*$`)

// linked returns names as links to their files.
func linked(names []string, files map[string]string) string {
	var links []string
	for _, name := range names {
		links = append(links, fmt.Sprintf("[%s](../%s)", name, files[name]))
	}
	return strings.Join(links, ", ")
}

// operationsTable returns a table of docs/operations.md.
func operationsTable(t *testing.T, graph *sourceGraph, sql *sqlSources, operations []*route.Operation) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| Request | Operation | Handler | Queries | Functions |\n| --- | --- | --- | --- | --- |\n")
	for _, operation := range operations {
		source := graph.operations[operation.ID]
		if source == nil {
			t.Errorf("the source has no operation %q", operation.ID)
			continue
		}
		queries, called := slices.DeleteFunc(graph.queries(source.variants), isOfEachWrite), ""
		for _, query := range queries {
			if sql.queryFiles[query] == "" {
				t.Errorf("%s: no file has the query %s", operation.ID, query)
			}
			called += sql.queryTexts[query] + "\n"
		}
		var handlers []string
		for _, file := range graph.handlerFiles(source) {
			handlers = append(handlers, fmt.Sprintf("[%s](../%s)", filepath.Base(file), file))
		}
		fmt.Fprintf(&table, "| `%s %s`%s | `%s` | %s | %s | %s |\n", operation.Method, operation.Path, extensionOf(operation), operation.ID,
			strings.Join(handlers, ", "), linked(queries, sql.queryFiles), linked(sql.functions("", called), sql.functionFiles))
	}
	return table.String()
}

// isOfEachWrite reports whether dry runs and idempotency keys execute a query, beside that of the write. The introduction of the page
// names these queries.
func isOfEachWrite(query string) bool {
	return slices.Contains([]string{"HeldProvidersKeep", "IdempotencyShow", "StateKeep", "StateShow"}, query)
}

// extensionOf returns a note for an operation that only an extension of the Placement API has, else "".
func extensionOf(operation *route.Operation) string {
	since := operation.Variants[0].Since.Extension()
	if since < microversion.PlacementExtensionMin {
		return ""
	}
	return ", " + since.HeaderValue()
}

// functionsTable returns the table of the functions that call others.
func functionsTable(t *testing.T, sql *sqlSources) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| Function | Calls |\n| --- | --- |\n")
	for _, function := range slices.Sorted(maps.Keys(sql.functionFiles)) {
		text, err := os.ReadFile("../" + sql.functionFiles[function])
		if err != nil {
			t.Fatal(err)
		}
		if called := sql.functions(function, string(text)); len(called) > 0 {
			fmt.Fprintf(&table, "| %s | %s |\n", linked([]string{function}, sql.functionFiles), linked(called, sql.functionFiles))
		}
	}
	return table.String()
}

// TestDocs_OperationsPage_MatchesSource compares docs/operations.md with the route tables, the references in the
// type-checked source, and the files of sql. With -update it writes the tables.
func TestDocs_OperationsPage_MatchesSource(t *testing.T) {
	t.Parallel()
	const document = "../docs/operations.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	graph, sql, want := readSource(t), readSQL(t), string(text)
	all := server.Operations()
	placement := len(server.Table(server.Options{}).Operations())
	for name, table := range map[string]string{
		"placement": operationsTable(t, graph, sql, all[:placement]), "baremetal": operationsTable(t, graph, sql, all[placement:]),
		"functions": functionsTable(t, sql),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
		before, rest, opened := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Fatalf("%s lacks the marks of %s", document, name)
		}
		want = before + begin + table + end + after
	}
	preamble, _, _ := strings.Cut(want, "## Placement API")
	for _, operation := range all {
		for _, query := range graph.queries(graph.operations[operation.ID].authorize) {
			if !strings.Contains(preamble, "`"+query+"`") {
				t.Errorf("%s: the page does not name the query %s of the authorization", operation.ID, query)
			}
		}
	}
	for function, file := range graph.files {
		if !strings.HasPrefix(file, "server/api/placement/") && !strings.HasPrefix(file, "server/api/baremetal/") {
			continue
		}
		for _, query := range graph.queries([]string{function}) {
			if !strings.Contains(want, "["+query+"](") && !strings.Contains(preamble, "`"+query+"`") {
				t.Errorf("%s can execute %s, which the page lacks", function, query)
			}
		}
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("docs/operations.md differs from the source; write it with: go test ./e2e -run OperationsPage -update")
	}
	if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
