package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// repository returns the file system of the checkout.
func repository() fs.FS { return os.DirFS("..") }

// repositoryFiles returns the paths of all files that isWanted accepts. It skips directories that are not part of the
// source: version control, installed packages and generated code.
func repositoryFiles(t *testing.T, repo fs.FS, isWanted func(path string) bool) []string {
	t.Helper()
	var paths []string
	err := fs.WalkDir(repo, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "gen", "dist"}, entry.Name()):
			return fs.SkipDir
		case entry.Type().IsRegular() && isWanted(name):
			paths = append(paths, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func readFrom(t *testing.T, repo fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(repo, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocs_Links_Resolve follows the links between files of the repository, with their anchors. It sends no requests to
// other sites.
func TestDocs_Links_Resolve(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenLinks(t, repository()) {
		t.Error(broken)
	}
}

func TestDocs_LinkBroken_IsReported(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{
		"README.md": {Data: []byte("# Title\n\n[a](docs/a.md#one-two) [b](docs/b.md) [c](docs/a.md#three)\n" +
			"[d](#title) [e](#no)\n[f](https://example.org/x.md) [g][ref] `[h](no.md)`\n\n" +
			"```\n[i](no.md)\n```\n\n[ref]: docs/a.md#fenced\n")},
		"docs/a.md": {Data: []byte("# A\n\n## One *two*\n\n## Twice\n\n## Twice\n\n```\n# Fenced\n```\n\n" +
			"[up](../README.md#title) [two](#twice-1) [three](#twice-2)\n")},
	}
	want := []string{
		"README.md: #no: no such heading", "README.md: docs/a.md#fenced: no such heading",
		"README.md: docs/a.md#three: no such heading", "README.md: docs/b.md: no such file",
		"docs/a.md: #twice-2: no such heading",
	}
	if got := slices.Sorted(slices.Values(brokenLinks(t, repo))); !slices.Equal(got, want) {
		t.Errorf("broken links = %q, want %q", got, want)
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|(?m:^\s*\[[^\]]+\]:\s+(\S+))`)
	codeSpan     = regexp.MustCompile("``[^\n]*?``|`[^`\n]*`")
)

// brokenLinks returns one line for each relative link that leads to no file or no heading.
func brokenLinks(t *testing.T, repo fs.FS) []string {
	t.Helper()
	var broken []string
	for _, page := range repositoryFiles(t, repo, isMarkdown) {
		text := codeSpan.ReplaceAllString(strings.Join(proseLines(readFrom(t, repo, page)), "\n"), "")
		for _, found := range markdownLink.FindAllStringSubmatch(text, -1) {
			link := found[1] + found[2]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			name, anchor, _ := strings.Cut(link, "#")
			target := page
			if name != "" {
				target = path.Join(path.Dir(page), name)
			}
			if problem := resolve(t, repo, target, anchor); problem != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", page, link, problem))
			}
		}
	}
	return broken
}

func isMarkdown(name string) bool { return path.Ext(name) == ".md" }

// resolve returns why a path with an anchor leads nowhere, or "". A directory is a target without anchors.
func resolve(t *testing.T, repo fs.FS, target, anchor string) string {
	t.Helper()
	if _, err := fs.Stat(repo, target); err != nil {
		return "no such file"
	}
	if anchor != "" && !(isMarkdown(target) && slices.Contains(anchors(readFrom(t, repo, target)), anchor)) {
		return "no such heading"
	}
	return ""
}

// proseLines returns the lines of a page outside of code blocks.
func proseLines(text string) []string {
	var lines []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	headingLine = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the anchors of a page's headings as GitHub makes them: lower case, without punctuation, hyphens for
// spaces, and a number after each repetition.
func anchors(text string) []string {
	var made []string
	seen := map[string]int{}
	for _, line := range proseLines(text) {
		heading := headingLine.FindStringSubmatch(line)
		if heading == nil {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkText.ReplaceAllString(heading[1], "$1"))
		if repeated := seen[anchor]; repeated > 0 {
			made = append(made, fmt.Sprintf("%s-%d", anchor, repeated))
		} else {
			made = append(made, anchor)
		}
		seen[anchor]++
	}
	return made
}
