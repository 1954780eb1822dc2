package e2e

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDocs_Citations_Resolve resolves every page that code, SQL, tests, scripts and settings cite, such as
// docs/contract/http.md#error-bodies. TestDocs_Links_Resolve has the links of the pages themselves.
func TestDocs_Citations_Resolve(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenCitations(t, repository()) {
		t.Error(broken)
	}
}

func TestDocs_CitationBroken_IsReported(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":          "# Title\n\n## The wire\n",
		"docs/contract/a.md": "# A\n\n## Error bodies\n",
		"server/good.go": "// See docs/contract/a.md#error-bodies, README.md, ../README.md#the-wire,\n" +
			"// RFC 7239 section 6.3 and RFC 9110,\n// section 5.\n",
		"server/page.go":      "// See docs/contract/b.md.\n",
		"server/heading.go":   "// See docs/contract/a.md#bodies.\n",
		"server/name.go":      "// See a.md#error-bodies.\n",
		"sql/section.sql":     "-- Amounts (section 3).\n",
		"sql/wire.sql":        "-- The rules are those of the wire\n-- contract, section HTTP 8.\n",
		"e2e/sections.yaml":   "# Meant, by section 7: as row 65\nsection: RESOURCES 4\n",
		"docs/decisions/1.md": "As the wire contract says, in `docs/none.md`.\n",
	} {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := slices.Sorted(slices.Values([]string{
		`docs/decisions/1.md: "docs/none.md": no such file`,
		`docs/decisions/1.md: "wire contract": ` + unnamed,
		`e2e/sections.yaml: "section 7": ` + unnamed,
		`e2e/sections.yaml: "section: RESOURCES 4": ` + unnamed,
		`server/heading.go: "docs/contract/a.md#bodies": no such heading`,
		`server/name.go: "a.md#error-bodies": no such file`,
		`server/page.go: "docs/contract/b.md": no such file`,
		`sql/section.sql: "section 3": ` + unnamed,
		`sql/wire.sql: "section HTTP 8": ` + unnamed,
		`sql/wire.sql: "wire contract": ` + unnamed,
	}))
	if got := slices.Sorted(slices.Values(brokenCitations(t, repo))); !slices.Equal(got, want) {
		t.Errorf("broken citations:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	// citedPage is a path to a page. The character before it tells it from a glob or a suffix.
	citedPage = regexp.MustCompile(`(^|[^A-Za-z0-9_./*%-])((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.md)` +
		`(?:#([A-Za-z0-9_-]+))?`)
	// unresolvable is a citation that names no page.
	unresolvable = regexp.MustCompile(`(?:\bRFC \d+,? |)\b` +
		`(?:wire contract\b|sections?:? (?:[A-Z]{4,}|\d)[ 0-9.]*|[A-Za-z-]+\.md section)`)
	lineBreak = regexp.MustCompile(`\s*\n[ \t]*(?://|--|#)?[ \t]*`)
	// citing are the types of files that cite pages.
	citing = []string{".go", ".sql", ".md", ".yaml", ".yml", ".sh", ".py", ".ts", ".service", ".conf", ".txt"}
)

// unnamed is what is wrong with a citation that names no page.
const unnamed = "cite a page and its heading"

// notCitations are texts that only look like citations, by file. An empty list stands for the whole file: the tests of
// links and citations plant faults.
var notCitations = map[string][]string{
	"e2e/docs_citations_test.go":   {},
	"e2e/docs_links_test.go":       {},
	"docs/third-party-licenses.md": {"LICENSE.md"},
	"internal/test/bruteforce/examples_page_test.go": {
		"allocation-candidates.md", "../allocation-candidates-examples.md", "search.md", "explain.md",
	},
}

// brokenCitations returns one line for each citation that names no existing page and heading.
func brokenCitations(t *testing.T, repo fs.FS) []string {
	t.Helper()
	var broken []string
	for _, name := range repositoryFiles(t, repo, cites) {
		allowed, ok := notCitations[name]
		if ok && len(allowed) == 0 {
			continue
		}
		text := lineBreak.ReplaceAllString(readFrom(t, repo, name), " ")
		report := func(cited, problem string) {
			if !slices.Contains(allowed, cited) {
				broken = append(broken, fmt.Sprintf("%s: %q: %s", name, cited, problem))
			}
		}
		for _, cited := range unresolvable.FindAllString(text, -1) {
			if !strings.HasPrefix(cited, "RFC ") {
				report(strings.TrimRight(cited, " ."), unnamed)
			}
		}
		for _, found := range citedPage.FindAllStringSubmatch(text, -1) {
			if isLink := isMarkdown(name) && found[1] == "("; isLink {
				continue
			}
			cited := strings.TrimSuffix(found[2]+"#"+found[3], "#")
			if problem := resolveCitation(t, repo, name, found[2], found[3]); problem != "" {
				report(cited, problem)
			}
		}
	}
	return broken
}

// resolveCitation resolves a path from the root of the repository, or from the directory of the citing file.
func resolveCitation(t *testing.T, repo fs.FS, citing, target, anchor string) string {
	t.Helper()
	problem := resolve(t, repo, path.Clean(target), anchor)
	if problem == "no such file" {
		problem = resolve(t, repo, path.Join(path.Dir(citing), target), anchor)
	}
	return problem
}

func cites(name string) bool {
	return slices.Contains(citing, path.Ext(name)) || path.Base(name) == "Makefile" || name == ".ci/run"
}
