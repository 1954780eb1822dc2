package console

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vendoredRow is a row of the table in assets/README.md: the name of a file, its license text and its hash.
var vendoredRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\| `([^`]+)` \\| `([0-9a-f]{64})` \\|$")

// TestConsole_VendoredAssets_MatchTheirHashes compares the files of other projects with assets/README.md.
func TestConsole_VendoredAssets_MatchTheirHashes(t *testing.T) {
	t.Parallel()
	readme, err := assets.ReadFile("assets/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range vendoredRow.FindAllStringSubmatch(string(readme), -1) {
		name, license, want := row[1], row[2], row[3]
		listed = append(listed, name)
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("SHA-256 of %s = %x, want %s", name, sum, want)
		}
		if _, err := fs.Stat(assets, "assets/"+license); err != nil {
			t.Error(err)
		}
	}
	if vendored := vendoredAssets(t); !slices.Equal(listed, vendored) {
		t.Errorf("assets/README.md lists %q, want %q", listed, vendored)
	}
}

// vendoredAssets returns the names of all minified scripts and fonts in the order of the directory.
func vendoredAssets(t *testing.T) []string {
	t.Helper()
	entries, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".min.js") || path.Ext(name) == ".woff2" {
			names = append(names, name)
		}
	}
	return names
}
