package bruteforce_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

var updatePage = flag.Bool("update", false, "rewrite the page of worked examples")

// The pages of worked examples.
const (
	pagePath       = "../../../docs/contract/allocation-candidates-examples.md"
	searchPagePath = "../../../docs/contract/berth/search-examples.md"
)

// The heads of the pages, with ´ in place of the backquotes of Markdown.
const (
	pageHead = `# Worked examples of allocation candidates

<!-- Generated from internal/test/bruteforce/testdata/examples.yaml by
go test ./internal/test/bruteforce -run Page -update -->

The rules are in [Allocation candidates](allocation-candidates.md). A test sends every query to a server and compares
the response.

A deployment is a list of providers with their tree as indentation and ´RC=total(options)´ for each inventory; ´SHARES´
is the trait ´MISC_SHARES_VIA_AGGREGATE´. A candidate is ´rp{RC:n} + rp2{…} ['suffix'→rp+rp2; …]´. ´{X}´ in a query is
the UUID of provider or aggregate X. The microversion is 1.39 unless the query is followed by another one. "Summaries"
are the providers in ´provider_summaries´.
`
	searchPageHead = `# Worked examples of the search extensions

<!-- Generated from internal/test/bruteforce/testdata/search.yaml by
go test ./internal/test/bruteforce -run Page -update -->

The rules are in [Search](search.md). A test sends every query to a server, with ´GET´ and with ´POST´, and compares the
response.

The notation is that of [the worked examples of allocation candidates](../allocation-candidates-examples.md). The version
is ´placement 1.39, berth 1.1´ unless the query is followed by another one. The rows have **all** candidates in any
order, except in section I: its trees are in the order of the response.
`
)

// TestCandidates_ExamplesPage_MatchesData compares the pages in docs/contract with the examples that the other tests
// execute.
func TestCandidates_ExamplesPage_MatchesData(t *testing.T) {
	t.Parallel()
	comparePage(t, pagePath, pageHead, readFile(t, "examples.yaml", files["examples.yaml"], 39), 39)
	comparePage(t, searchPagePath, searchPageHead, readFile(t, searchFile, searchExamples, bruteforce.Berth), bruteforce.Berth)
}

// comparePage compares a page with its sections, and writes it with -update. The page does not repeat the version minor.
func comparePage(t *testing.T, path, head string, sections []section, minor int) {
	t.Helper()
	page := &strings.Builder{}
	page.WriteString(strings.ReplaceAll(head, "´", "`"))
	for _, section := range sections {
		section.write(page, minor)
	}
	comparePageText(t, path, page.String())
}

// comparePageText compares a page with its text, and writes it with -update.
func comparePageText(t *testing.T, path, want string) {
	t.Helper()
	if *updatePage {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("%s differs from its data in testdata; run this test with -update", path)
	}
}

func (s section) write(page *strings.Builder, minor int) {
	fmt.Fprintf(page, "\n## %s\n", s.Title)
	if s.Note != "" {
		fmt.Fprintf(page, "\n%s\n", s.Note)
	}
	if s.Deployment == "" {
		s.writeBodies(page)
		return
	}
	fmt.Fprintf(page, "\n```\n%s\n```\n\n", strings.TrimRight(s.Deployment, "\n"))
	page.WriteString("| # | Query | Candidates | Summaries | Why |\n| --- | --- | --- | --- | --- |\n")
	for _, example := range s.Examples {
		query := "`" + example.Query + "`"
		if example.Minor != minor && minor == bruteforce.Berth {
			query += " without berth"
		} else if example.Minor != minor {
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
	list := strings.ReplaceAll("`"+strings.Join(e.Candidates, "`<br>`")+"`", " or ", "` or `")
	if e.Any > 0 {
		list = fmt.Sprintf("any %d of:<br>%s", e.Any, list)
	}
	return list
}

// writeBodies writes the examples with bodies.
func (s section) writeBodies(page *strings.Builder) {
	page.WriteString("\n| # | Deployment | Body | Response |\n| --- | --- | --- | --- |\n")
	for _, example := range s.Examples {
		response := fmt.Sprintf("as row %d", example.As)
		if refused := example.Refused; refused != nil {
			response = fmt.Sprintf("**%d**", refused.Status)
			if refused.Allow != "" {
				response += " with `Allow: " + refused.Allow + "`"
			} else {
				response += fmt.Sprintf(" `%s` %s", refused.Code, refused.Detail)
			}
		}
		body := "`" + example.Body + "`"
		switch {
		case example.Params != "":
			body += ", with `?" + example.Params + "` in the URL"
		case example.Media != "":
			body += ", with `Content-Type: " + example.Media + "`"
		case example.Minor < bruteforce.Berth:
			body += " without berth"
		}
		fmt.Fprintf(page, "| %d | %s | %s | %s |\n", example.Number, example.Use, body, response)
	}
}

// reason returns the explanation, with the mark for a difference from OpenStack Placement.
func (e example) reason() string {
	if e.Differs == "" {
		return e.Why
	}
	return e.Why + ". **Differs from OpenStack Placement:** " + e.Differs
}
