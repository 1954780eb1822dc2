package e2e

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDocs_Core_FitsIntoAnAfternoon checks that docs/reading-the-core.md names forty files with at most 12,000 lines. That they
// exist is checked with all links.
func TestDocs_Core_FitsIntoAnAfternoon(t *testing.T) {
	t.Parallel()
	repo := repository()
	links := regexp.MustCompile(`\]\(\.\./((?:sql|server)/[^)]+)\)`).FindAllStringSubmatch(readFrom(t, repo, "docs/reading-the-core.md"), -1)
	files, lines := map[string]bool{}, 0
	for _, link := range links {
		name := path.Clean(link[1])
		if text, err := fs.ReadFile(repo, name); err == nil && !files[name] {
			files[name] = true
			lines += strings.Count(string(text), "\n")
		}
	}
	if len(files) != 40 || lines > 12_000 {
		t.Errorf("%d files with %d lines, want 40 with at most 12,000", len(files), lines)
	}
}

// TestDocs_README_IsShort keeps the README at what a newcomer reads.
func TestDocs_README_IsShort(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(readFrom(t, repository(), "README.md"), "\n"); lines > 130 {
		t.Errorf("README.md has %d lines, want at most 130", lines)
	}
}
