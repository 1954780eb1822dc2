package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// registrars are the functions that add a handler, or call one, in the packages that serve requests. A handler of another
// function has no bounds, and TestLimits_EveryHandler_TakesASlot does not visit it. Each states why its handlers have bounds.
var registrars = map[string]string{
	"server/adminHandler":             "an adminRoute bounds its handler",
	"server/adminRoute.ServeHTTP":     "in its slot",
	"server/limiter.runHandler":       "in its slot",
	"server/frontHandler.observe":     "the whole chain",
	"server/frontHandler.withConsole": "serveConsole takes a slot, serve the slot of its route",
	"console/Console.page":            "below serveConsole",
	"console/Console.routes":          "below serveConsole",
	"console/Console.Serve":           "below serveConsole",
	"cors/servePreflight":             "wraps serve",
	"cors/serveActual":                "wraps serve",
	"inside/readClient":               "wraps the whole chain",
	"requestlog/identified.Handle":    "a handler of log lines",
}

// TestArchitecture_Handlers_AddedInBoundedFunctions finds the calls that add or call an http.Handler.
func TestArchitecture_Handlers_AddedInBoundedFunctions(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range handlingFunctions(file) {
			found[file.Name.Name+"/"+name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(registrars)); !slices.Equal(got, want) {
		t.Errorf("handlers are added or called in\n%q, want\n%q", got, want)
	}
}

// handlingFunctions returns the functions of a file that add a handler to a mux, or call one.
func handlingFunctions(file *ast.File) (names []string) {
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		ast.Inspect(function.Body, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				selector, ok := call.Fun.(*ast.SelectorExpr)
				if ok && len(call.Args) == 2 && slices.Contains([]string{"Handle", "HandleFunc", "ServeHTTP"}, selector.Sel.Name) {
					names = append(names, nameWithReceiver(function))
				}
			}
			return true
		})
	}
	return names
}

// nameWithReceiver returns the name of a function, after the type of its receiver.
func nameWithReceiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	return receiver.(*ast.Ident).Name + "." + function.Name.Name
}

func TestArchitecture_HandlerElsewhere_Detected(t *testing.T) {
	t.Parallel()
	const source = `package p

import "net/http"

func (s *server) planted(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	mux.HandleFunc("GET /planted", s.page)
}

func also(w http.ResponseWriter, r *http.Request) { http.NotFoundHandler().ServeHTTP(w, r) }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := handlingFunctions(file), []string{"server.planted", "also"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
