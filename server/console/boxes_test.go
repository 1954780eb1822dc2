package console_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/browser"
)

var updateBoxes = flag.Bool("update", false, "write the boxes of the pages to testdata/boxes")

// changing matches the parts of texts that differ between two clouds with the same rows: UUIDs, ports, times, ages,
// the number of events of conductors, and the nodes of which the service selects one at random.
var changing = regexp.MustCompile(`\b(req-)?[0-9a-f]{8}(…([0-9a-f]{4}\b)?|(-[0-9a-f]{4}){3}-[0-9a-f]{12})|\breq-[0-9a-f]{8}\b|127\.0\.0\.1:\d+|metal-0[123]|(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(:\d\d)?Z?|\d{4}-\d\d-\d\d\b|\b\d+ events\b|\b\d+ (ms|s|min)\b`)

// changed stands in golden lists for what changing matches.
const changed = "#"

// Other pages change the counts of those in counting, because they ask what finds nothing. The list of nodes and the history have no
// golden list: the service selects the nodes of allocations at random, and conductors write at the same time.
var (
	counting     = []string{"overview", "explanations", "class", "trait"}
	withoutBoxes = []string{"baremetal", "history", "history-node"}
)

// boxLine is a line of a golden list.
type boxLine struct {
	place [4]int // x, y, width, height
	what  string // the element and its text
}

// parseBoxes reads a golden list.
func parseBoxes(text string) ([]boxLine, error) {
	var all []boxLine
	for line := range strings.Lines(text) {
		var one boxLine
		line = strings.TrimSuffix(line, "\n")
		if _, err := fmt.Sscanf(line, "%d,%d %dx%d ", &one.place[0], &one.place[1], &one.place[2], &one.place[3]); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		one.what = strings.SplitN(line, " ", 3)[2]
		all = append(all, one)
	}
	return all, nil
}

// boxStep is the difference between places that are the same: those of a list are multiples of it, so that a place between
// two of them is rounded up or down.
const boxStep = 4

// differs tells whether two lines are different boxes. A text that changes has another width in each cloud, so that only its
// height counts.
func (b boxLine) differs(from boxLine) bool {
	for i := range b.place {
		isWidth := i == 0 || i == 2
		if d := b.place[i] - from.place[i]; (d > boxStep || d < -boxStep) && !(isWidth && strings.Contains(b.what, changed)) {
			return true
		}
	}
	return b.what != from.what
}

// differences returns what a page has changed in a golden list, as lines of a diff.
func differences(got, want []boxLine) []string {
	var texts []string
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			texts = append(texts, fmt.Sprintf("- %v %s", want[i].place, want[i].what))
		case i >= len(want):
			texts = append(texts, fmt.Sprintf("+ %v %s", got[i].place, got[i].what))
		case got[i].differs(want[i]):
			texts = append(texts, fmt.Sprintf("- %v %s", want[i].place, want[i].what), fmt.Sprintf("+ %v %s", got[i].place, got[i].what))
		}
	}
	return texts
}

// goldenBoxes returns the lines of an open page.
func goldenBoxes(t testing.TB, page *browser.Page) string {
	t.Helper()
	var text strings.Builder
	for _, box := range page.Boxes(t) {
		text.WriteString(changing.ReplaceAllString(box.String(), changed) + "\n")
	}
	return text.String()
}

// mustLookAsBefore compares the boxes of an open page with its golden list. -update writes it.
func mustLookAsBefore(t *testing.T, page *browser.Page, name string) {
	t.Helper()
	file := filepath.Join("testdata", "boxes", name+".txt")
	text := goldenBoxes(t, page)
	if *updateBoxes {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseBoxes(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parseBoxes(string(golden))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if found := differences(got, want); len(found) > 0 {
		t.Errorf("the page differs from %s in %d lines; look at it, and if it is as it should be, run the test with -update:\n%s",
			file, len(found), strings.Join(found[:min(len(found), 12)], "\n"))
	}
}

// TestConsole_BoxesChanged_AreFound changes a golden list and compares it with itself.
func TestConsole_BoxesChanged_AreFound(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/boxes/*.txt")
	if err != nil || len(files) != len(pages)-len(withoutBoxes) {
		t.Fatalf("%d golden lists for %d pages, %v", len(files), len(pages)-len(withoutBoxes), err)
	}
	text, err := os.ReadFile("testdata/boxes/overview.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := parseBoxes(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(list []boxLine) []boxLine
		lines  int
	}{
		{"nothing", func(list []boxLine) []boxLine { return list }, 0},
		{"rounded up", func(list []boxLine) []boxLine { list[5].place[1] += 4; return list }, 0},
		{"moved by 8 pixels", func(list []boxLine) []boxLine { list[5].place[0] -= 8; return list }, 2},
		{"wider", func(list []boxLine) []boxLine { list[5].place[2] += 8; return list }, 2},
		{"another text", func(list []boxLine) []boxLine { list[5].what += "!"; return list }, 2},
		{"the last one missing", func(list []boxLine) []boxLine { return list[:len(list)-1] }, 1},
		{"one more", func(list []boxLine) []boxLine { return append(list, list[0]) }, 1},
	} {
		if got := differences(test.change(slices.Clone(want)), want); len(got) != test.lines {
			t.Errorf("%s: %d lines differ, want %d: %s", test.name, len(got), test.lines, strings.Join(got, "\n"))
		}
	}
}
