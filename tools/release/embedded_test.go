package main

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestRelease_EmbeddedPackages_ThoseOfLicensePage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := &release{root: root}
	page := filepath.Join(root, "docs/third-party-licenses.md")
	write(t, page, "| `example.org/module` | MIT | `LICENSE` |\n")
	if packages, err := r.embeddedPackages(); err == nil {
		t.Errorf("packages of a page without files = %v, want an error", packages)
	}
	write(t, page, "| `internal/test/a.js` | `tool` 1.0.0 | MIT | `internal/test/LICENSE` |\n"+
		"| `server/a/b.js` | `plain` 1.2.3 | 0BSD | `server/a/LICENSE` |\n"+
		"| `server/a/c.woff2` | `@scope/fonts` 4.5.6 | OFL-1.1 | `server/a/LICENSE.fonts` |\n"+
		"| `server/a/d.woff2` | `@scope/fonts` 4.5.6 | OFL-1.1 | `server/a/LICENSE.fonts` |\n")
	packages, err := r.embeddedPackages()
	if err != nil {
		t.Fatal(err)
	}
	want := []embeddedPackage{{"plain", "1.2.3", "0BSD", "server/a/LICENSE"}, {"@scope/fonts", "4.5.6", "OFL-1.1", "server/a/LICENSE.fonts"}}
	if !reflect.DeepEqual(packages, want) {
		t.Errorf("packages = %v, want %v", packages, want)
	}
	if got, want := packages[1].component().PackageURL, "pkg:npm/%40scope/fonts@4.5.6"; got != want {
		t.Errorf("purl = %s, want %s", got, want)
	}
}
