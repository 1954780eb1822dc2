package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// forbiddenWords are words that docs/language.md rules out everywhere, and glossaryWords those that its glossary
// lists under "Do not write" and that have no other meaning here. They match whole words of any case, and parts of
// identifiers.
var (
	forbiddenWords = []string{
		"whoever", "somebody", "nobody", "anew", "lest", "wish", "wishes", "wished", "wishing", "entrants?",
		"patience", "oddity", "oddities", "untold", "the service before", "signs? of life",
		"the way to the database",
	}
	glossaryWords = []string{
		"quirks?", "mended", "overused", "unparenting", "upheaval", "goodbye", "the python service",
		"the old service", "the ground moved", "the way back", "begun again", "begins? again", "leftovers?",
		"contradictions?", "obstacles?", "vouch(?:es|ing)?", "apex", "circles?", "endurance",
	}
	// britishWords are spellings that American English does not have.
	britishWords = []string{
		"behaviours?", "colours?", "favours?", "favourites?", "neighbours?", "cancell(?:ed|ing)", "labell(?:ed|ing)", "centred?",
		"licences?", "catalogues?", "whilst", "analys(?:e|es|ed|ing)",
		"(?:author|custom|final|initial|material|maxim|minim|normal|optim|organ|priorit|random|recogn|serial|summar|synchron|util)is(?:e|es|ed|ing|ation|ations)",
	}
	forbidden = regexp.MustCompile(
		`\b(?:` + strings.Join(slices.Concat(forbiddenWords, glossaryWords, britishWords), "|") + `)\b`)
)

// languageTypes are the types of files with text for people. Generated files repeat the text of their sources.
var languageTypes = []string{".go", ".sql", ".md", ".sh", ".yaml", ".yml", ".py", ".ts", ".service", ".conf"}

// languageAllowed are texts that may contain forbidden words, by file: quotations, the system account nobody, and data of
// other programs. A path without text stands for the whole file, and "*" for every file.
var languageAllowed = map[string][]string{
	"*":                           {"<circle ", "inverse_obstacle", "The marker does not belong to this list. Begin again without it."},
	"docs/language.md":            {},
	"e2e/docs_language_test.go":   {},
	"server/data/cluster/home.go": {`{"postgres", "nobody"}`, "an account postgres nor nobody"},
	"tools/move/move.sh":          {"account=nobody"},
}

// languageTodo lists the files that still contain forbidden words, with their number. It can only become shorter.
const languageTodo = "e2e/testdata/language_todo.txt"

// TestDocs_Language_HasNoForbiddenWords counts the forbidden words of every file and compares the numbers with the list
// of files that are still to be reworded. With -update it writes lower numbers into the list, and never higher ones.
func TestDocs_Language_HasNoForbiddenWords(t *testing.T) {
	t.Parallel()
	repo := repository()
	found, listed := countForbidden(t, repo), readCounts(t, repo, languageTodo)
	isGone := func(name string) bool {
		_, err := fs.Stat(repo, name)
		return err != nil
	}
	risen := risenCounts(found, listed, isGone)
	for _, name := range risen {
		t.Errorf("%s: %d forbidden words, %d in %s; reword as docs/language.md says:\n%s",
			name, found[name], listed[name], languageTodo, strings.Join(forbiddenLines(t, repo, name), "\n"))
	}
	if len(risen) > 0 || maps.Equal(found, listed) {
		return
	}
	if !*update {
		t.Errorf("%s is out of date: there are fewer forbidden words; run %s", languageTodo,
			"'go test ./e2e -run ^TestDocs_Language_ -update'")
		return
	}
	writeCounts(t, languageTodo, found)
}

// writeCounts writes a list of names and their numbers.
func writeCounts(t *testing.T, list string, counts map[string]int) {
	t.Helper()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&lines, "%d %s\n", counts[name], name)
	}
	if err := os.WriteFile("../"+list, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDocs_LanguageForbiddenWord_IsCounted(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{
		"server/good.go": {Data: []byte("// The smallest list has a wishbone.\nvar impatience, circled int\n")},
		"server/bad.go": {Data: []byte("// Whoever asks,\n// lest the service\n// before knows.\n" +
			"var lockPatience, nodeWish, NOBODY_UUID int\n")},
		"sql/bad.sql":                 {Data: []byte("-- A sign\n-- of life.\n")},
		"gen/made.go":                 {Data: []byte("// nobody\n")},
		"docs/language.md":            {Data: []byte("Never `whoever`.\n")},
		"server/data/cluster/home.go": {Data: []byte(`[]string{"postgres", "nobody"} // for somebody`)},
		"openapi/made.json":           {Data: []byte(`{"description": "nobody"}`)},
	}
	want := map[string]int{"server/bad.go": 6, "sql/bad.sql": 1, "server/data/cluster/home.go": 1}
	if got := countForbidden(t, repo); !maps.Equal(got, want) {
		t.Errorf("forbidden words = %v, want %v", got, want)
	}
}

func TestDocs_LanguageList_CanOnlyShrink(t *testing.T) {
	t.Parallel()
	listed := map[string]int{"a.go": 3, "b.go": 2, "gone.go": 2}
	isGone := func(name string) bool { return name == "gone.go" }
	for name, test := range map[string]struct {
		found map[string]int
		want  []string
	}{
		"equal":                     {map[string]int{"a.go": 3, "b.go": 2}, nil},
		"fewer":                     {map[string]int{"a.go": 1}, nil},
		"more in a listed file":     {map[string]int{"a.go": 4, "b.go": 1}, []string{"a.go"}},
		"a renamed file":            {map[string]int{"a.go": 3, "new.go": 2}, nil},
		"a renamed file with more":  {map[string]int{"a.go": 3, "new.go": 3}, []string{"new.go"}},
		"a file beside a clean one": {map[string]int{"new.go": 2, "other.go": 2}, []string{"new.go", "other.go"}},
	} {
		if got := risenCounts(test.found, listed, isGone); !slices.Equal(got, test.want) {
			t.Errorf("%s: risen = %v, want %v", name, got, test.want)
		}
	}
}

// countForbidden returns the number of forbidden words by file, without files that have none.
func countForbidden(t *testing.T, repo fs.FS) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, name := range repositoryFiles(t, repo, hasLanguage) {
		allowed, ok := languageAllowed[name]
		if ok && len(allowed) == 0 {
			continue
		}
		text := readFrom(t, repo, name)
		for _, quotation := range append(slices.Clone(allowed), languageAllowed["*"]...) {
			text = strings.ReplaceAll(text, quotation, "")
		}
		if count := len(forbidden.FindAllString(plainWords(text), -1)); count > 0 {
			counts[name] = count
		}
	}
	return counts
}

func hasLanguage(name string) bool {
	switch {
	case strings.HasPrefix(name, "openapi/"):
		return false
	case path.Base(name) == "Makefile", path.Base(name) == "Dockerfile", name == ".ci/run":
		return true
	}
	return slices.Contains(languageTypes, path.Ext(name))
}

// plainWords returns the words of a text in lower case with one space between them. Marks of comments, line breaks and
// punctuation separate words, and so do underscores and capitals inside of identifiers.
func plainWords(text string) string {
	var words strings.Builder
	isSpace, wasLower := true, false
	for _, r := range text {
		isLetter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !isSpace && (!isLetter || wasLower && unicode.IsUpper(r)) {
			words.WriteByte(' ')
			isSpace = true
		}
		if isLetter {
			words.WriteRune(unicode.ToLower(r))
			isSpace = false
		}
		wasLower = unicode.IsLower(r)
	}
	return words.String()
}

// forbiddenLines returns the lines of a file that contain a forbidden word, with their numbers. A phrase over two lines
// is not among them.
func forbiddenLines(t *testing.T, repo fs.FS, name string) []string {
	t.Helper()
	var lines []string
	number := 0
	for line := range strings.Lines(readFrom(t, repo, name)) {
		number++
		if words := forbidden.FindAllString(plainWords(line), -1); words != nil {
			lines = append(lines, fmt.Sprintf("  %d: %q in %s", number, words, strings.TrimSpace(line)))
		}
	}
	return lines
}

// risenCounts returns the files that have more forbidden words than the list says. Files that are not in the list may
// have as many as the listed files that are gone, because files are renamed.
func risenCounts(found, listed map[string]int, isGone func(name string) bool) []string {
	var risen, unlisted []string
	freed := 0
	for name, count := range listed {
		if isGone(name) {
			freed += count
		}
	}
	for name, count := range found {
		if _, ok := listed[name]; !ok {
			unlisted = append(unlisted, name)
			freed -= count
		} else if count > listed[name] {
			risen = append(risen, name)
		}
	}
	if freed < 0 {
		risen = append(risen, unlisted...)
	}
	slices.Sort(risen)
	return risen
}

// readCounts reads a list of names and their numbers.
func readCounts(t *testing.T, repo fs.FS, list string) map[string]int {
	t.Helper()
	listed := map[string]int{}
	for line := range strings.Lines(readFrom(t, repo, list)) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		count, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s: %q: %v", list, line, err)
		}
		listed[name] = count
	}
	return listed
}
