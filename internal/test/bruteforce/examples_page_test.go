package bruteforce_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updatePage = flag.Bool("update", false, "rewrite the page of worked examples")

const pagePath = "../../../docs/contract/allocation-candidates-examples.md"

// pageHead is the head of the page, with ´ in place of the backquotes of Markdown.
const pageHead = `# Worked examples of allocation candidates

<!-- Generated from internal/test/bruteforce/testdata/examples.yaml by
go test ./internal/test/bruteforce -run Page -update -->

The rules are in [Allocation candidates](allocation-candidates.md). A test sends every query to a server and compares
the response.

A deployment is a list of providers with their tree as indentation and ´RC=total(options)´ for each inventory; ´SHARES´
is the trait ´MISC_SHARES_VIA_AGGREGATE´. A candidate is ´rp{RC:n} + rp2{…} ['suffix'→rp+rp2; …]´. ´{X}´ in a query is
the UUID of provider or aggregate X. The microversion is 1.39 unless the query is followed by another one. "Summaries"
are the providers in ´provider_summaries´.
`

// TestCandidates_ExamplesPage_MatchesData compares the page in docs/contract with the examples that the other tests
// execute.
func TestCandidates_ExamplesPage_MatchesData(t *testing.T) {
	t.Parallel()
	page := &strings.Builder{}
	page.WriteString(strings.ReplaceAll(pageHead, "´", "`"))
	for _, section := range readFile(t, "examples.yaml") {
		section.write(page)
	}
	if *updatePage {
		if err := os.WriteFile(pagePath, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != page.String() {
		t.Errorf("%s differs from testdata/examples.yaml; run this test with -update", pagePath)
	}
}

func (s section) write(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n```\n%s\n```\n\n", s.Title, strings.TrimRight(s.Deployment, "\n"))
	page.WriteString("| # | Query | Candidates | Summaries | Why |\n| --- | --- | --- | --- | --- |\n")
	for _, example := range s.Examples {
		query := "`" + example.Query + "`"
		if example.Minor != 39 {
			query += fmt.Sprintf(" at 1.%d", example.Minor)
		}
		fmt.Fprintf(page, "| %d | %s | %s | %s | %s |\n", example.Number, query, example.result(),
			strings.Join(example.Summaries, ", "), example.reason())
	}
}

// result returns the candidates, or the error, as a table cell.
func (e example) result() string {
	switch {
	case e.Refused != nil:
		return fmt.Sprintf("**400** `%s` %s", e.Refused.Code, e.Refused.Detail)
	case len(e.Candidates) == 0:
		return "none"
	}
	return "`" + strings.Join(e.Candidates, "`<br>`") + "`"
}

// reason returns the explanation, with the mark for a difference from OpenStack Placement.
func (e example) reason() string {
	if e.Differs == "" {
		return e.Why
	}
	return e.Why + ". **Differs from OpenStack Placement:** " + e.Differs
}
