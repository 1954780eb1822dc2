package e2e

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
)

// undocumentedStatuses are the statuses of the codes that no operation of the OpenAPI documents lists: those of the
// negotiation, which precedes the operations, and those of the responses 413, 429 and 503 that operations share.
var undocumentedStatuses = map[string][]string{
	"placement.undefined_code":  {"any"},
	"berth.version":             {"400"},
	"berth.version.unsupported": {"406"},
	"berth.idempotency.full":    {"503"},
	"berth.dry_run.busy":        {"503"},
	"berth.capacity.busy":       {"503"},
	"berth.events.too_many":     {"503"},

	"berth.limit.requests":           {"429"},
	"berth.limit.body":               {"413"},
	"berth.limit.combinations":       {"400"},
	"berth.overloaded":               {"503"},
	"berth.timeout":                  {"503"},
	"berth.database.unavailable":     {"503"},
	"berth.database.outcome_unknown": {"503"},
	"berth.audit.unavailable":        {"503"},
}

// errorRow matches a row of a table of codes: code, status, cause, remedy.
var errorRow = regexp.MustCompile("(?m)^\\| `((?:placement|berth)\\.[a-z_.]+)` \\| ([0-9a-z, ]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// TestDocs_ErrorsPage_ListsEveryCode compares docs/errors.md with the codes of package fault and with the statuses that
// the OpenAPI documents have for them.
func TestDocs_ErrorsPage_ListsEveryCode(t *testing.T) {
	t.Parallel()
	statuses := documentedStatuses(t)
	for code, fixed := range undocumentedStatuses {
		if got := statuses[code]; got != nil && code != "placement.undefined_code" {
			t.Errorf("%s is in the documents, with %v: remove it from undocumentedStatuses", code, got)
		}
		statuses[code] = fixed
	}
	page := readFrom(t, repository(), "docs/errors.md")
	listed := map[string]string{}
	for _, row := range errorRow.FindAllStringSubmatch(page, -1) {
		if listed[row[1]] != "" {
			t.Errorf("docs/errors.md has two rows for %s", row[1])
		}
		listed[row[1]] = row[2]
	}
	for _, code := range errorCodes(t) {
		if got, want := listed[code], strings.Join(statuses[code], ", "); got != want {
			t.Errorf("docs/errors.md: status of %s = %q, want %q", code, got, want)
		}
		delete(listed, code)
	}
	for code := range listed {
		t.Errorf("docs/errors.md lists %s, which package fault does not have", code)
	}
}

// TestDocs_ErrorsPage_ListsEveryStatus compares the table of statuses with the only table from kinds of faults to
// statuses, and the reverse.
func TestDocs_ErrorsPage_ListsEveryStatus(t *testing.T) {
	t.Parallel()
	source := readFrom(t, repository(), "server/api/apierr/apierr.go")
	var want, got []string
	for _, kind := range regexp.MustCompile(`(?m)^\tfault\.\w+: +http\.Status(\w+),$`).FindAllStringSubmatch(source, -1) {
		want = append(want, kind[1])
	}
	_, section, _ := strings.Cut(readFrom(t, repository(), "docs/errors.md"), "\n## Errors by status\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\| (\d{3}) \| [^|]+ \| [^|]+ \|$`).FindAllStringSubmatch(section, -1) {
		status, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.ReplaceAll(http.StatusText(status), " ", ""))
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("statuses in docs/errors.md:\n%v\nin server/api/apierr:\n%v", got, want)
	}
}

// errorCodes returns the values of the constants Code… of package fault.
func errorCodes(t *testing.T) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../server/wire/fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, value)
		return true
	})
	if len(codes) == 0 {
		t.Fatal("package fault has no codes")
	}
	return codes
}

// documentedStatuses returns the statuses of each code in the documents of the Placement API with extensions.
func documentedStatuses(t *testing.T) map[string][]string {
	t.Helper()
	statuses := map[string][]string{}
	for _, document := range server.ExtensionDocuments() {
		if document.API != "placement" {
			continue
		}
		content, err := document.Build()
		if err != nil {
			t.Fatal(err)
		}
		addStatuses(t, content, statuses)
	}
	return statuses
}

// addStatuses adds the statuses of the codes of one document.
func addStatuses(t *testing.T, document []byte, statuses map[string][]string) {
	t.Helper()
	type response struct {
		Codes []string `json:"x-error-codes"`
	}
	type operation struct{ Responses map[string]response }
	var described struct {
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(document, &described); err != nil {
		t.Fatal(err)
	}
	for _, operations := range described.Paths {
		for _, operation := range operations {
			for status, response := range operation.Responses {
				for _, code := range response.Codes {
					statuses[code] = append(statuses[code], status)
				}
			}
		}
	}
	for code, found := range statuses {
		slices.Sort(found)
		statuses[code] = slices.Compact(found)
	}
}
