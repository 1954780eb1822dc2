package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
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
	goTest       = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
)

// TestDocs_CompatibilityNotes_NameExistingTests checks that every test and scenario step in the compatibility notes exists.
func TestDocs_CompatibilityNotes_NameExistingTests(t *testing.T) {
	t.Parallel()
	tests := goTests(t)
	for row := range strings.Lines(readText(t, "../docs/compatibility.md")) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue // not a row of a table with three columns
		}
		steps, names := scenarioStep.FindAllStringSubmatch(cells[3], -1), goTest.FindAllStringSubmatch(cells[3], -1)
		choice := strings.TrimSpace(cells[2])
		if isDone := strings.HasPrefix(choice, "kept") || strings.HasPrefix(choice, "fixed"); isDone && len(steps)+len(names) == 0 {
			t.Errorf("compatibility note %q names no test", strings.TrimSpace(cells[1]))
		}
		for _, step := range steps {
			name := strings.TrimSpace(step[2])
			if !hasStep(t, step[1], name) {
				t.Errorf("scenarios %s: no step %q", step[1], name)
			}
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("no test %s", name[1])
			}
		}
	}
}

func hasStep(t *testing.T, file, name string) bool {
	t.Helper()
	for line := range strings.Lines(readText(t, "../server/api/placement/testdata/scenarios/"+file+".yaml")) {
		if found, ok := strings.CutPrefix(strings.TrimSpace(line), "- name: "); ok && strings.Trim(found, `"'`) == name {
			return true
		}
	}
	return false
}

// goTests returns the names of all tests of the module.
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

func TestDocs_ExtensionHistory_Complete(t *testing.T) {
	t.Parallel()
	text := readText(t, "../docs/microversions.md")
	for extension := microversion.ExtensionMin; extension <= microversion.ExtensionMax; extension++ {
		if row := "\n| " + extension.HeaderValue() + " |"; !strings.Contains(text, row) {
			t.Errorf("the table of extensions lacks the row of %s", extension.HeaderValue())
		}
	}
}

func TestDocs_MicroversionHistory_Complete(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, version := range microversion.All() {
		want = append(want, version.String())
	}
	for _, heading := range regexp.MustCompile(`(?m)^## (1\.\d+)`).FindAllStringSubmatch(readText(t, "../docs/microversions.md"), -1) {
		got = append(got, heading[1])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("documented microversions = %s, want %s", got, want)
	}
}
