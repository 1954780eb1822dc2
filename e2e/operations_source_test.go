package e2e

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceGraph is which function refers to which, in the packages between a route and its SQL. Functions have their full
// names, such as (*github.com/berthd/berth/server/data/store.Store).TraitShow.
type sourceGraph struct {
	files      map[string]string
	references map[string][]string
	operations map[string]*sourceOperation
}

// sourceOperation is an operation as the source declares it: the functions that its variants and its authorization
// refer to.
type sourceOperation struct {
	variants, authorize []string
	// direct are those that the variants name themselves, without variables; file has the declaration.
	direct []string
	file   string
}

const queriesType = "(*github.com/berthd/berth/gen/db.Queries)."

// readSource type-checks the packages of the operations and of the store.
func readSource(t *testing.T) *sourceGraph {
	t.Helper()
	graph := &sourceGraph{files: map[string]string{}, references: map[string][]string{}, operations: map[string]*sourceOperation{}}
	packages := []string{"server/api/placement", "server/api/baremetal", "server/data/store", "server/search/candidates", "server/search/explain", "server/work/events"}
	compiled := exportData(t, packages)
	for _, directory := range packages {
		set := token.NewFileSet()
		var files []*ast.File
		names, err := filepath.Glob("../" + directory + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", directory, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })}
		if _, err := config.Check("github.com/berthd/berth/"+directory, set, files, info); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			graph.addFile(set, file, info)
		}
	}
	return graph
}

// exportData returns the compiled types of packages and their dependencies, by import path.
func exportData(t *testing.T, packages []string) map[string]string {
	t.Helper()
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, directory := range packages {
		arguments = append(arguments, "../"+directory)
	}
	output, err := exec.Command("go", arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var listed struct{ ImportPath, Export string }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found[listed.ImportPath] = listed.Export
	}
}

func (g *sourceGraph) addFile(set *token.FileSet, file *ast.File, info *types.Info) {
	for _, one := range file.Decls {
		function, ok := one.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		name := info.Defs[function.Name].(*types.Func).FullName()
		g.files[name] = strings.TrimPrefix(set.Position(function.Pos()).Filename, "../")
		g.references[name] = referencedFunctions(function.Body, info)
		ast.Inspect(function.Body, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok {
				g.addOperation(g.files[name], literal, localValues(function.Body, info), info)
			}
			return true
		})
	}
}

// addOperation adds a literal that has the fields ID and Variants. A later literal of the same ID, such as that of an
// extension, adds to it.
func (g *sourceGraph) addOperation(file string, literal *ast.CompositeLit, locals map[types.Object][]ast.Expr, info *types.Info) {
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
	if g.operations[name] == nil {
		g.operations[name] = &sourceOperation{file: file}
	}
	made := g.operations[name]
	direct := referencedFunctions(fields["Variants"], info)
	made.direct = append(made.direct, direct...)
	made.variants = append(append(made.variants, direct...), referencedThroughLocals(fields["Variants"], locals, info)...)
	if authorize := fields["Authorize"]; authorize != nil {
		made.authorize = append(referencedFunctions(authorize, info), referencedThroughLocals(authorize, locals, info)...)
	}
}

// referencedFunctions returns the functions that a part of the source calls or uses as values.
func referencedFunctions(node ast.Node, info *types.Info) (found []string) {
	ast.Inspect(node, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			if function, ok := info.Uses[name].(*types.Func); ok {
				found = append(found, function.Origin().FullName())
			}
		}
		return true
	})
	return found
}

// localValues returns the expressions that a function assigns to each of its variables.
func localValues(body ast.Node, info *types.Info) map[types.Object][]ast.Expr {
	values := map[types.Object][]ast.Expr{}
	ast.Inspect(body, func(node ast.Node) bool {
		if assigned, ok := node.(*ast.AssignStmt); ok && len(assigned.Lhs) == len(assigned.Rhs) {
			for i, to := range assigned.Lhs {
				if name, ok := to.(*ast.Ident); ok && info.Defs[name] != nil {
					values[info.Defs[name]] = append(values[info.Defs[name]], assigned.Rhs[i])
				}
			}
		}
		return true
	})
	return values
}

// referencedThroughLocals returns the functions of the values of the variables in an expression.
func referencedThroughLocals(node ast.Node, locals map[types.Object][]ast.Expr, info *types.Info) (found []string) {
	seen := map[types.Object]bool{}
	var visit func(ast.Node)
	visit = func(node ast.Node) {
		ast.Inspect(node, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok {
				if variable := info.Uses[name]; variable != nil && !seen[variable] {
					seen[variable] = true
					for _, value := range locals[variable] {
						found = append(found, referencedFunctions(value, info)...)
						visit(value)
					}
				}
			}
			return true
		})
	}
	visit(node)
	return found
}

// queries returns the sorted names of the queries that functions can execute.
func (g *sourceGraph) queries(functions []string) []string {
	found, seen := map[string]bool{}, map[string]bool{}
	for waiting := slices.Clone(functions); len(waiting) > 0; {
		function := waiting[0]
		waiting = waiting[1:]
		if query, ok := strings.CutPrefix(function, queriesType); ok {
			found[query] = true
		} else if !seen[function] {
			seen[function] = true
			waiting = append(waiting, g.references[function]...)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// handlerFiles returns the files of the functions of an operation that execute queries: those that its variants name, or
// those of their variables; without any, the file of the declaration.
func (g *sourceGraph) handlerFiles(operation *sourceOperation) []string {
	for _, functions := range [][]string{operation.direct, operation.variants} {
		files := map[string]bool{}
		for _, function := range functions {
			if len(g.queries([]string{function})) > 0 {
				files[g.files[function]] = true
			}
		}
		if len(files) > 0 {
			return slices.Sorted(maps.Keys(files))
		}
	}
	return []string{operation.file}
}
