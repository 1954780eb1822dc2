package querystring

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestArchitecture_QueryParameters_ReadInOnePackage forbids the parsers of net/http and huma in the rest of the server.
// They silently drop what they cannot parse, and lose the order of parameters.
func TestArchitecture_QueryParameters_ReadInOnePackage(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && entry.Name() == "placementdb" {
			return filepath.SkipDir // it serves no requests; it parses queries of database URLs
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, found := range otherReaders(set, file) {
			t.Error(found)
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Fatalf("checked %d files: %v", files, err)
	}
}

// otherReaders returns the positions in a file that parse a query by other means.
func otherReaders(set *token.FileSet, file *ast.File) []string {
	var found []string
	hasURLs := slices.ContainsFunc(file.Imports, func(imported *ast.ImportSpec) bool {
		path := strings.Trim(imported.Path.Value, `"`)
		return path == "net/http" || path == "net/url" || strings.HasPrefix(path, "github.com/danielgtaylor/huma/")
	})
	ast.Inspect(file, func(node ast.Node) bool {
		what := ""
		switch node := node.(type) {
		case *ast.CallExpr:
			what = readingCall(node, hasURLs)
		case *ast.SelectorExpr:
			if slices.Contains([]string{"ParseQuery", "FormValue", "PostFormValue", "ParseForm", "PostForm"}, node.Sel.Name) {
				what = node.Sel.Name
			}
		case *ast.Field:
			if node.Tag != nil && hasQueryTag(node.Tag.Value) {
				what = "a query tag, which huma binds"
			}
		}
		if what != "" {
			found = append(found, fmt.Sprintf("%s: %s", set.Position(node.Pos()), what))
		}
		return true
	})
	return found
}

// readingCall recognizes URL.Query by its missing argument. Database queries have arguments, except for those whose
// results are read later, and files with URLs have none of the latter. Query of a huma.Context has one argument, a
// literal or not.
func readingCall(call *ast.CallExpr, hasURLs bool) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Query" {
		return ""
	}
	switch len(call.Args) {
	case 0:
		if hasURLs {
			return "URL.Query"
		}
	case 1:
		if name, ok := call.Args[0].(*ast.BasicLit); ok && name.Kind == token.STRING {
			return "huma's Query"
		}
	}
	return ""
}

func hasQueryTag(literal string) bool {
	tag, err := strconv.Unquote(literal)
	if err != nil {
		return false
	}
	_, ok := reflect.StructTag(tag).Lookup("query")
	return ok
}

func TestArchitecture_OtherQueryReaders_Detected(t *testing.T) {
	t.Parallel()
	const source = `package p

import "net/http"

type input struct {
	Name string ` + "`query:\"name\"`" + `
	Path string ` + "`path:\"id\"`" + `
}

func f() {
	r.URL.Query().Get("x")
	ctx.Query("x")
	r.FormValue("x")
	url.ParseQuery("x")
	pool.Query(ctx, "SELECT 1")
	route.Query(docs...)
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"p.go:6:2: a query tag, which huma binds", "p.go:11:2: URL.Query", "p.go:12:2: huma's Query",
		"p.go:13:2: FormValue", "p.go:14:2: ParseQuery",
	}
	if got := otherReaders(set, file); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestArchitecture_DatabaseResults_NotReportedAsQueryReaders(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", "package p\n\nfunc f() { batch.Query() }\n", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := otherReaders(set, file); got != nil {
		t.Errorf("got %q", got)
	}
}
