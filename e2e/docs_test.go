package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server/microversion"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	scenarioStep = regexp.MustCompile("`([a-z_]+)` › ([^|<]+)")
	goTest       = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
)

// TestEveryQuirkIsHeldByATestThatExists looks up what the list of quirks names.
func TestEveryQuirkIsHeldByATestThatExists(t *testing.T) {
	t.Parallel()
	tests := goTests(t)
	for row := range strings.Lines(readText(t, "../docs/quirks.md")) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue // not a row of a table with three columns
		}
		steps, names := scenarioStep.FindAllStringSubmatch(cells[3], -1), goTest.FindAllStringSubmatch(cells[3], -1)
		choice := strings.TrimSpace(cells[2])
		if isDone := strings.HasPrefix(choice, "kept") || strings.HasPrefix(choice, "mended"); isDone && len(steps)+len(names) == 0 {
			t.Errorf("nothing holds the quirk %q", strings.TrimSpace(cells[1]))
		}
		for _, step := range steps {
			name := strings.TrimSpace(step[2])
			if !hasStep(t, step[1], name) {
				t.Errorf("the scenarios of %s have no step %q", step[1], name)
			}
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("there is no test %s", name[1])
			}
		}
	}
}

func hasStep(t *testing.T, file, name string) bool {
	t.Helper()
	for line := range strings.Lines(readText(t, "../server/placement/testdata/scenarios/"+file+".yaml")) {
		if found, ok := strings.CutPrefix(strings.TrimSpace(line), "- name: "); ok && strings.Trim(found, `"'`) == name {
			return true
		}
	}
	return false
}

// goTests are the names of all tests of the module.
func goTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, found := range declared.FindAllStringSubmatch(readText(t, path), -1) {
				names[found[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryMicroversionHasAnEntryInItsHistory(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, version := range microversion.All() {
		want = append(want, version.String())
	}
	for _, heading := range regexp.MustCompile(`(?m)^## (1\.\d+)`).FindAllStringSubmatch(readText(t, "../docs/microversions.md"), -1) {
		got = append(got, heading[1])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the history has the entries %s, the server speaks %s", got, want)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestTheLinksOfTheDocumentsLeadSomewhere follows links between files and to
// headings; it asks nobody outside of the repository.
func TestTheLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		for _, found := range link.FindAllStringSubmatch(readText(t, document), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(found[1], "#")
			path := document
			if target != "" {
				path = filepath.Join(filepath.Dir(document), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", document, found[1], err)
			} else if anchor != "" && !hasHeading(readText(t, path), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", document, found[1])
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// hasHeading compares anchors as code hosts make them: in lower case, without
// punctuation, with hyphens for spaces.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		made := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(made, " ", "-") == anchor {
			return true
		}
	}
	return false
}
