package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxLines bounds the lines of the console without blank lines, comments, tests and files of other projects. It is the size of
// today, rounded up: a new page should replace lines, not add to them. docs/decisions/0025-console.md has the first goal.
const maxLines = 6350

func TestConsole_Size_StaysBounded(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, pattern := range []string{"*.go", "templates/*.html", "assets/console.*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				lines += codeLines(t, file)
			}
		}
	}
	if lines > maxLines {
		t.Errorf("the console has %d lines, want at most %d", lines, maxLines)
	}
	t.Logf("%d lines", lines)
}

// codeLines counts the lines of a file that are neither blank nor a line comment.
func codeLines(t *testing.T, file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	return lines
}
