package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
	berthsql "github.com/berthd/berth/sql"
)

// functionTexts returns the code and the comments of the SQL functions.
func functionTexts(t *testing.T) (code, comments map[string]string) {
	t.Helper()
	code, comments = map[string]string{}, map[string]string{}
	names, err := fs.Glob(berthsql.Files, "functions/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no functions: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(berthsql.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			statement, comment, _ := strings.Cut(line, "--")
			code[name] += statement
			comments[name] += comment
		}
	}
	return code, comments
}

// declaredRules returns the constants of type Rule in rules.go.
func declaredRules(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Rule" {
			for _, value := range spec.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, text)
			}
		}
		return true
	})
	slices.Sort(rules)
	return rules
}

var (
	raised = regexp.MustCompile(`'(PL[0-9]{3})'`)
	// caught matches the branches of functions that catch states. A caught state that is no rule never leaves the functions.
	caught = regexp.MustCompile(`(?m)^ *WHEN SQLSTATE .*$`)
)

func TestErrors_RaisedSQLStates_MatchRules(t *testing.T) {
	t.Parallel()
	code, _ := functionTexts(t)
	found, internal := map[string]bool{}, map[string]bool{}
	for _, text := range code {
		for _, branch := range caught.FindAllString(text, -1) {
			for _, match := range raised.FindAllStringSubmatch(branch, -1) {
				internal[match[1]] = !slices.Contains(declaredRules(t), match[1])
			}
		}
		for _, match := range raised.FindAllStringSubmatch(text, -1) {
			found[match[1]] = true
		}
	}
	maps.DeleteFunc(found, func(state string, _ bool) bool { return internal[state] })
	var rules []string
	for _, rule := range declaredRules(t) {
		if strings.HasPrefix(rule, "PL") {
			rules = append(rules, rule)
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, rules) {
		t.Errorf("functions raise %q, rules are %q", got, rules)
	}
}

// The header of a function lists the SQLSTATEs that it raises itself.
func TestErrors_SQLFunctionHeaders_ListRaisedStates(t *testing.T) {
	t.Parallel()
	code, comments := functionTexts(t)
	for name, text := range code {
		for _, match := range raised.FindAllStringSubmatch(caught.ReplaceAllString(text, ""), -1) {
			if !strings.Contains(comments[name], match[1]) {
				t.Errorf("%s raises %s, which its header does not list", name, match[1])
			}
		}
	}
}

// The other rules are constraints that exist.
func TestErrors_ConstraintRules_ExistInSchema(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	for _, rule := range declaredRules(t) {
		if strings.HasPrefix(rule, "PL") {
			continue
		}
		var exists bool
		err := db.Pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_constraint WHERE conname = $1 AND contype = 'u')", rule).Scan(&exists)
		if err != nil || !exists {
			t.Errorf("unique constraint %s does not exist: %v", rule, err)
		}
	}
}

// An error that is no rule violation keeps its text for the log.
func TestErrors_OtherSQLError_NotRuleViolation(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	if _, err := b.db.Pool.Exec(t.Context(), "DROP FUNCTION trait_delete"); err != nil {
		t.Fatal(err)
	}
	err := b.TraitDelete(t.Context(), "CUSTOM_A")
	if err == nil || store.AsRuleViolation(err) != nil || !strings.Contains(err.Error(), "trait_delete") {
		t.Errorf("got %v", err)
	}
}
