package sql_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// trimmedLines returns the lines of a text without white space around them, and without empty ones.
func trimmedLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestCandidates_PageStatements_UseTheSameConditions compares the two statements that read pages of trees. PostgreSQL cannot
// share a common table expression between them, so the text stands twice: everything in CandidatePage that chooses trees,
// or judges providers and inventories, also has to be in CandidatePageGeneral.
func TestCandidates_PageStatements_UseTheSameConditions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("queries/allocation_candidates.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "-- name: CandidatePage :many")
	page, rest, _ := strings.Cut(page, "-- name: CandidatePageGeneral :many")
	general, _, _ := strings.Cut(rest, "-- name: ")
	given := trimmedLines(general)
	for _, part := range []struct{ about, from, to string }{
		{"conditions, amounts, leads and roots", "conditions AS MATERIALIZED (\n", "\n)\n"},
		{"the conditions of a provider", "FROM conditions AS condition\n", "), NULL,"},
		{"the amounts of an inventory", "LEFT JOIN amounts AS amount\n", "WHERE"},
	} {
		_, text, found := strings.Cut(page, part.from)
		text, _, ended := strings.Cut(text, part.to)
		if !found || !ended {
			t.Fatalf("%s: CandidatePage has no text between %q and %q", part.about, part.from, part.to)
		}
		rest := given
		for _, line := range trimmedLines(text) {
			at := slices.Index(rest, line)
			if at < 0 {
				t.Fatalf("%s: CandidatePageGeneral lacks this line of CandidatePage, or has it in another place: %s", part.about, line)
			}
			rest = rest[at+1:]
		}
	}
}
