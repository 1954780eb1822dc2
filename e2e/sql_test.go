package e2e

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// putTogether are the places in the program where a statement is no constant, and why
// each can hold nothing of what a client sends.
var putTogether = map[string]string{
	"server/data/migrate/up.go: f.text":                                                        "a function of sql/functions, which is in the program",
	"server/data/postgres/connect.go: statement":                                               "one of a list of constants of generated code",
	"server/data/postgres/snapshot.go: sql":                                                    "what generated code sends; its constants are checked there",
	"server/data/postgres/snapshot.go: s.begin":                                                "one of two constants",
	"server/data/postgres/rehearse_read.go: sent.SQL":                                          "what generated code sends; its constants are checked there",
	"server/data/postgres/rehearse_read.go: \"SET TRANSACTION SNAPSHOT '\" + exported + \"'\"": "a name made by PostgreSQL, of digits and hyphens; SET TRANSACTION takes no parameters",
	"server/data/postgres/rows.go: sql":                                                        "what generated code sends; its constants are checked there",
	"server/data/postgres/read_committed.go: statement":                                        "what generated code sends; its constants are checked there",
	"server/data/session/parameters.go: setStatement + liftLimits":                             "constants, joined once",
	"server/data/store/keyed_conn.go: db.IdempotencyBegin":                                     "a constant of generated code",
	"server/data/store/history_callers.go: db.CallerSet":                                       "a constant of generated code",
	"server/data/store/provider_list.go: sql":                                                  "what generated code sends; its constants are checked there",
	"server/data/postgres/listen.go: \"LISTEN \" + pgx.Identifier{channel}.Sanitize()":         "a channel of a fixed list; LISTEN takes no parameters",
	"server/data/cluster/database.go: \"CREATE DATABASE \" + pgx.Identifier{name}.Sanitize()":  "the embedded cluster's own database; utility statements take no parameters",
	"server/data/cluster/database.go: statement":                                               "the embedded cluster's settings, quoted by PostgreSQL's format()",
	"server/data/migrate/comments.go: statements.String()":                                     "COMMENT ON, from the comments of the SQL sources, in quotes; utility statements take no parameters",
	"server/data/placementdb/staging_schema.go: strings.Join(statements, \"\\n\")":             "sql/import/staging.sql, which is in the program, and its comments",
	"server/data/audit/audit.go: query":                                                        "a file of sql/audit, which is in the program",
	"server/data/audit/repair.go: remedy":                                                      "a file of sql/audit, which is in the program",
	"server/data/audit/repair.go: statement":                                                   "one of two constants",
	"server/data/placementdb/target.go: query":                                                 "`berth import`: constants of generated code",
	"cmd/berth/plan/session.go: statement":                                                     "`berth plan`: constants, and arguments of a prepared statement in quotes; EXECUTE takes no parameters",
	"cmd/berth/plan/session.go: explain":                                                       "`berth plan`: as above, after EXPLAIN",
	"cmd/berth/plan/session.go: recorded.SQL":                                                  "`berth plan`: a constant of generated code, as the driver sent it",
}

// notInTheProgram are packages for measuring and testing.
var notInTheProgram = []string{"cmd/bench/requests", "cmd/bench/candidates", "cmd/bench/baremetal", "cmd/bench/rig", "internal/test/compare", "internal/test/dbtest", "internal/test/privatedb", "internal/test/storetest", "internal/test/scenario", "e2e", "tools"}

// statementAt is the place of the statement among the arguments of pgx's methods.
var statementAt = map[string]int{"Query": 1, "QueryRow": 1, "Exec": 1, "Queue": 0, "Prepare": 2, "SendQueryParams": 0}

// TestArchitecture_SQLStatements_AreConstants: values reach PostgreSQL as parameters and in no other
// way. A statement that is put together has to be in the list above, with a reason.
func TestArchitecture_SQLStatements_AreConstants(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for place := range putTogether {
		unused[place] = true
	}
	looked := 0
	for directory, files := range sources(t) {
		for path, file := range files {
			constants := constantsOf(files, file)
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				statement := statementOf(call)
				if statement == nil {
					return true
				}
				looked++
				if place := directory + "/" + filepath.Base(path) + ": " + written(t, statement); !isConstant(statement, constants) {
					if putTogether[place] == "" {
						t.Errorf("%s is no constant statement", place)
					}
					delete(unused, place)
				}
				return true
			})
		}
	}
	for place := range unused {
		t.Errorf("%s is gone; take it off the list", place)
	}
	if looked < 150 {
		t.Errorf("only %d statements were looked at", looked)
	}
}

// sources are the parsed files of the program, by directory.
func sources(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	found := map[string]map[string]*ast.File{}
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		directory := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		for _, other := range notInTheProgram {
			if directory == other || strings.HasPrefix(directory, other+"/") {
				return nil
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if found[directory] == nil {
			found[directory] = map[string]*ast.File{}
		}
		found[directory][path] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// statementOf is nil for what is no call of pgx: url.URL has a Query too.
func statementOf(call *ast.CallExpr) ast.Expr {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	place, ok := statementAt[method.Sel.Name]
	if !ok || len(call.Args) <= place {
		return nil
	}
	return call.Args[place]
}

// constantsOf are the names of the package's constants that no variable of the file,
// parameter or other, has too.
func constantsOf(files map[string]*ast.File, file *ast.File) map[string]bool {
	constants, variables := map[string]bool{}, map[string]bool{}
	for _, other := range files {
		for _, declared := range other.Decls {
			noteDeclared(declared, constants, variables)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GenDecl:
			noteDeclared(node, constants, variables)
		case *ast.FuncType:
			for _, param := range node.Params.List {
				note(false, param.Names, constants, variables)
			}
		case *ast.AssignStmt:
			for _, left := range node.Lhs {
				if name, ok := left.(*ast.Ident); ok {
					variables[name.Name] = true
				}
			}
		case *ast.RangeStmt:
			if name, ok := node.Value.(*ast.Ident); ok {
				variables[name.Name] = true
			}
		}
		return true
	})
	for name := range variables {
		delete(constants, name)
	}
	return constants
}

func noteDeclared(declared ast.Decl, constants, variables map[string]bool) {
	if several, ok := declared.(*ast.GenDecl); ok {
		for _, spec := range several.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok {
				note(several.Tok == token.CONST, values.Names, constants, variables)
			}
		}
	}
}

func note(constant bool, names []*ast.Ident, constants, variables map[string]bool) {
	for _, name := range names {
		if constant {
			constants[name.Name] = true
		} else {
			variables[name.Name] = true
		}
	}
}

func isConstant(statement ast.Expr, constants map[string]bool) bool {
	switch statement := statement.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return constants[statement.Name]
	case *ast.ParenExpr:
		return isConstant(statement.X, constants)
	case *ast.BinaryExpr:
		return isConstant(statement.X, constants) && isConstant(statement.Y, constants)
	}
	return false
}

func written(t *testing.T, expression ast.Expr) string {
	t.Helper()
	var text bytes.Buffer
	if err := printer.Fprint(&text, token.NewFileSet(), expression); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
