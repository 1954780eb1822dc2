package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vendoredDirectories are the directories with files of npm packages. Each has a README.md with a table of them.
var vendoredDirectories = []string{"internal/test/browser/testdata", "server/console/assets"}

// vendoredRow is a row of such a table: file, package, version, file in the package, license, license text, SHA-256.
var vendoredRow = regexp.MustCompile(
	"(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| (\\S+) \\| `[^`]+` \\| (\\S+) \\| `([^`]+)` \\| `([0-9a-f]{64})` \\|$")

// vendoredFileRows returns the rows of docs/third-party-licenses.md about files of npm packages. It compares each file
// with its hash.
func vendoredFileRows(t *testing.T) []string {
	t.Helper()
	repo := repository()
	var rows []string
	for _, directory := range vendoredDirectories {
		found := vendoredRow.FindAllStringSubmatch(readFrom(t, repo, path.Join(directory, "README.md")), -1)
		for _, row := range found {
			name, pkg, version, license, text, want := path.Join(directory, row[1]), row[2], row[3], row[4], path.Join(directory, row[5]), row[6]
			if sum := sha256.Sum256([]byte(readFrom(t, repo, name))); hex.EncodeToString(sum[:]) != want {
				t.Errorf("SHA-256 of %s = %x, want %s", name, sum, want)
			}
			if !slices.Contains(acceptable, license) {
				t.Errorf("%s: license %q is not in the list of acceptable ones", name, license)
			}
			if _, err := fs.Stat(repo, text); err != nil {
				t.Error(err)
			}
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` %s | %s | `%s` |", name, pkg, version, license, text))
		}
		if len(found) == 0 {
			t.Errorf("%s/README.md lists no files", directory)
		}
	}
	return rows
}

// TestLicenses_MinifiedFiles_Listed finds copies of other projects' files that no table lists.
func TestLicenses_MinifiedFiles_Listed(t *testing.T) {
	t.Parallel()
	repo := repository()
	listed := strings.Join(vendoredFileRows(t), "\n")
	isCopy := func(name string) bool {
		return strings.HasSuffix(name, ".min.js") || strings.HasSuffix(name, ".min.css") || path.Ext(name) == ".woff2"
	}
	for _, name := range repositoryFiles(t, repo, isCopy) {
		if !strings.Contains(listed, "| `"+name+"` |") {
			t.Errorf("%s is in no table of vendored files", name)
		}
	}
}
