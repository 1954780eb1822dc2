package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// weightList has the limits of TestArchitecture_Weight_OnlyFalls. They can only become lower.
const weightList = "e2e/testdata/weight.txt"

// weighedNames are names that show how often a value is declared: the number of hand-written files with each of them is
// limited. They match all spellings, such as NotInTree and not-in-tree.
var weighedNames = map[string]*regexp.Regexp{
	"not_in_tree":    regexp.MustCompile(`(?i)not[_-]?in[_-]?tree`),
	"limit_per_tree": regexp.MustCompile(`(?i)limit[_-]?per[_-]?tree`),
	"consumer_type":  regexp.MustCompile(`(?i)consumer[_-]?type`),
	"step_size":      regexp.MustCompile(`(?i)step[_-]?size`),
}

// weighedPackages are the packages with the most lines; folders below them count, too.
var weighedPackages = []string{
	"server/api/placement", "cmd/berth/apicommand", "server/search/candidates", "client", "cmd/bench", "server/api/baremetal", "server/console",
	"server/data/store", "server/search/explain", "internal/test/bruteforce",
}

// weighedWords are names of variables that do not say what the value is.
var weighedWords = []string{"made", "one"}

// isHandWritten reports whether a file belongs to the program and is neither a test, a judge, a benchmark nor generated.
func isHandWritten(name string) bool {
	if !slices.Contains([]string{".go", ".sql", ".html", ".js", ".ts"}, path.Ext(name)) || strings.HasSuffix(name, "_test.go") || name == "sql/schema.sql" {
		return false
	}
	for _, folder := range []string{"internal/test/", "cmd/bench/", "e2e/", "docs/", "tools/", "openapi/", "clients/typescript/test/", "clients/typescript/src/gen/", "clients/typescript/dist/",
		"clients/typescript/build/", "clients/typescript/node_modules/", "server/reference/vendor/"} {
		if strings.HasPrefix(name, folder) {
			return false
		}
	}
	return !strings.Contains(name, "/testdata/") && !strings.Contains(name, ".gen.") && !strings.Contains(name, "/generated/")
}

// weigh counts the files with each name, the lines of each package in hundreds, and the declarations of each word.
func weigh(t *testing.T, repo fs.FS) map[string]int {
	t.Helper()
	counted := map[string]int{}
	for _, name := range repositoryFiles(t, repo, func(name string) bool { return isHandWritten(name) }) {
		text := readFrom(t, repo, name)
		for label, pattern := range weighedNames {
			if pattern.MatchString(text) {
				counted["files with "+label]++
			}
		}
		if path.Ext(name) == ".go" {
			countWords(t, name, text, counted)
		}
	}
	lines := map[string]int{}
	for _, name := range repositoryFiles(t, repo, func(name string) bool { return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") }) {
		for _, folder := range weighedPackages {
			if strings.HasPrefix(name, folder+"/") {
				lines[folder] += strings.Count(readFrom(t, repo, name), "\n")
			}
		}
	}
	for folder, count := range lines {
		counted["hundred lines of "+folder] = (count + 99) / 100
	}
	return counted
}

// countWords counts the variables and parameters that a file declares with one of weighedWords.
func countWords(t *testing.T, name, text string, counted map[string]int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	count := func(declared ...ast.Expr) {
		for _, each := range declared {
			if identifier, isName := each.(*ast.Ident); isName && slices.Contains(weighedWords, identifier.Name) {
				counted["variables named "+identifier.Name]++
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				count(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				count(n.Key, n.Value)
			}
		case *ast.ValueSpec:
			for _, identifier := range n.Names {
				count(identifier)
			}
		case *ast.Field:
			for _, identifier := range n.Names {
				count(identifier)
			}
		}
		return true
	})
}

// TestArchitecture_Weight_OnlyFalls keeps a value from being declared in more places, packages from growing, and names that
// say nothing from spreading. With -update it writes lower numbers into the list, and never higher ones: a change that must
// raise one edits the list, and says why.
func TestArchitecture_Weight_OnlyFalls(t *testing.T) {
	t.Parallel()
	repo := repository()
	counted, limits := weigh(t, repo), readCounts(t, repo, weightList)
	risen := false
	for _, label := range slices.Sorted(maps.Keys(counted)) {
		if limit, isListed := limits[label]; !isListed || counted[label] > limit {
			t.Errorf("%s: %d, the limit in %s is %d", label, counted[label], weightList, limit)
			risen = true
		}
	}
	if risen || maps.Equal(counted, limits) {
		return
	}
	if !*update {
		t.Errorf("%s is out of date: there is less; run 'go test ./e2e -run ^TestArchitecture_Weight_ -update'", weightList)
		return
	}
	writeCounts(t, weightList, counted)
}

func TestArchitecture_Weight_CountsEverySpelling(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got := weigh(t, fstest.MapFS{
		"server/a.go":        file("package a\n\nfunc f(one int) (made int) {\n\tfor _, one := range []int{} {\n\t\tmade := one\n\t\t_ = made\n\t}\n\tvar NotInTree int\n\treturn NotInTree\n}\n"),
		"client/b.go":        file("package b\n\nconst flag = \"not-in-tree\"\n"),
		"client/b_test.go":   file("package b\n\nvar one, notInTree int\n"),
		"internal/test/c.go": file("package c\n\nvar made, step_size int\n"),
		"sql/queries/d.sql":  file("SELECT step_size, consumer_type_id"),
	})
	want := map[string]int{
		"files with not_in_tree": 2, "files with step_size": 1, "files with consumer_type": 1,
		"variables named one": 2, "variables named made": 2, "hundred lines of client": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
