package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/route"
)

// sourcePackage is the functions and methods of a package by name, and its operations.
type sourcePackage struct {
	functions, methods map[string]*ast.FuncDecl
	// operations are the variants of each operation, and files their files.
	operations map[string]ast.Expr
	files      map[string]string
}

// readPackage parses the files of a package without tests.
func readPackage(t *testing.T, directory string) *sourcePackage {
	t.Helper()
	made := &sourcePackage{
		functions: map[string]*ast.FuncDecl{}, methods: map[string]*ast.FuncDecl{},
		operations: map[string]ast.Expr{}, files: map[string]string{},
	}
	names, err := filepath.Glob("../" + directory + "/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", directory, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range file.Decls {
			function, ok := one.(*ast.FuncDecl)
			switch {
			case ok && function.Recv == nil:
				made.functions[function.Name.Name] = function
			case ok:
				made.methods[function.Name.Name] = function
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok {
				made.addOperation(literal, strings.TrimPrefix(name, "../"))
			}
			return true
		})
	}
	return made
}

// addOperation adds a literal that has the fields ID and Variants.
func (p *sourcePackage) addOperation(literal *ast.CompositeLit, file string) {
	fields := map[string]ast.Expr{}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				fields[key.Name] = pair.Value
			}
		}
	}
	id, ok := fields["ID"].(*ast.BasicLit)
	if !ok || fields["Variants"] == nil {
		return
	}
	name, _ := strconv.Unquote(id.Value)
	p.operations[name], p.files[name] = fields["Variants"], file
}

// calls returns the names behind a field such as store or queries that a node refers to, itself or through functions
// of the package.
func (p *sourcePackage) calls(from ast.Node, field string) []string {
	found, seen := map[string]bool{}, map[*ast.FuncDecl]bool{}
	var visit func(ast.Node)
	follow := func(function *ast.FuncDecl) {
		if function != nil && !seen[function] {
			seen[function] = true
			visit(function.Body)
		}
	}
	visit = func(node ast.Node) {
		ast.Inspect(node, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				if inner, ok := node.X.(*ast.SelectorExpr); ok && inner.Sel.Name == field {
					found[node.Sel.Name] = true
					return false
				}
				// A method value has the receiver before it, which has a name of one letter.
				if inner, ok := node.X.(*ast.Ident); ok && len(inner.Name) == 1 {
					follow(p.methods[node.Sel.Name])
				}
				visit(node.X)
				return false
			case *ast.Ident:
				follow(p.functions[node.Name])
			}
			return true
		})
	}
	visit(from)
	return slices.Sorted(maps.Keys(found))
}

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

// functions returns the files of the functions that a query calls.
func (s *sqlSources) functions(query string) (files []string) {
	for _, call := range functionCall.FindAllStringSubmatch(s.queryTexts[query], -1) {
		if file := s.functionFiles[call[1]]; file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// operationsTable returns the table of docs/operations.md for one API.
func operationsTable(t *testing.T, api *sourcePackage, stores map[string]*sourcePackage, sql *sqlSources, operations []*route.Operation) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| Request | Operation | Handler | Queries | Functions |\n| --- | --- | --- | --- | --- |\n")
	for _, operation := range operations {
		variants := api.operations[operation.ID]
		if variants == nil {
			t.Errorf("the source has no operation %q", operation.ID)
			continue
		}
		var queries, functions []string
		for field, store := range stores {
			for _, method := range api.calls(variants, field) {
				if function := store.methods[method]; function != nil {
					queries = append(queries, store.calls(function, "queries")...)
				}
			}
		}
		slices.Sort(queries)
		queries = slices.Compact(queries)
		for i, query := range queries {
			file := sql.queryFiles[query]
			if file == "" {
				t.Errorf("%s: no file has the query %s", operation.ID, query)
			}
			functions = append(functions, sql.functions(query)...)
			queries[i] = fmt.Sprintf("[%s](../%s)", query, file)
		}
		slices.Sort(functions)
		functions = slices.Compact(functions)
		for i, file := range functions {
			functions[i] = fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(filepath.Base(file), ".sql"), file)
		}
		file := api.files[operation.ID]
		fmt.Fprintf(&table, "| `%s %s` | `%s` | [%s](../%s) | %s | %s |\n", operation.Method, operation.Path, operation.ID,
			filepath.Base(file), file, strings.Join(queries, ", "), strings.Join(functions, ", "))
	}
	return table.String()
}

// TestDocs_OperationsPage_MatchesSource compares docs/operations.md with the route tables, the calls in the source, and
// the files of sql. With -update it writes the tables.
func TestDocs_OperationsPage_MatchesSource(t *testing.T) {
	t.Parallel()
	const document = "../docs/operations.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	stores := map[string]*sourcePackage{"store": readPackage(t, "server/store"), "search": readPackage(t, "server/candidates")}
	sql, want := readSQL(t), string(text)
	apis := map[string][]*route.Operation{
		"placement": server.Table(server.Options{}).Operations(), "baremetal": server.BaremetalTable(server.Options{}).Operations(),
	}
	for api, operations := range apis {
		table := operationsTable(t, readPackage(t, "server/"+api), stores, sql, operations)
		begin, end := "<!-- "+api+" -->\n", "<!-- end of "+api+" -->\n"
		before, rest, opened := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Fatalf("%s lacks the marks of %s", document, api)
		}
		want = before + begin + table + end + after
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
