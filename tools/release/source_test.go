package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// smallClone returns a repository with a change log of version 0.1.0 and a go.mod without a program.
func smallClone(t *testing.T, tags ...string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "CHANGELOG.md"), "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-23\n\n- First.\n")
	write(t, filepath.Join(root, "go.mod"), "module example.org/empty\n")
	write(t, filepath.Join(root, ".gitignore"), "/dist/\n")
	if err := commit(t.Context(), root, tags...); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRelease_UnreleasableClone_NamesEachViolation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tags      []string
		change    func(root string)
		requested string
		want      []string
	}{
		"a changed and an untracked file": {[]string{"v0.1.0"}, func(root string) {
			write(t, filepath.Join(root, "go.mod"), "module example.org/other\n")
			write(t, filepath.Join(root, "new.go"), "package main\n")
		}, "", []string{"2 files are not committed (go.mod, new.go); commit or remove them, or try with 'make release-snapshot'"}},
		"no tag":              {nil, nil, "", []string{"has no tag of a version; tag the commit as docs/releasing.md describes"}},
		"a tag of no version": {[]string{"nightly", "v1"}, nil, "", []string{"has no tag of a version"}},
		"another version":     {[]string{"v0.1.0"}, nil, "v0.2.0", []string{"version 0.2.0 is not a tag of commit ", "whose tags are v0.1.0"}},
		"two tags":            {[]string{"v0.1.0", "v0.2.0"}, nil, "", []string{"has the tags v0.1.0, v0.2.0; choose one with VERSION="}},
		"no change log":       {[]string{"v0.2.0"}, nil, "", []string{`CHANGELOG.md has no section "## [0.2.0] - YYYY-MM-DD"; add it before the tag`}},
		"a finished version": {[]string{"v0.1.0"}, func(root string) {
			write(t, filepath.Join(root, "dist", "0.1.0", "SHA256SUMS"), "")
		}, "0.1.0", []string{"version 0.1.0 exists already in ", "dist/0.1.0; a released version never changes, so tag the next one"}},
		"several violations": {[]string{"v0.2.0"}, func(root string) {
			write(t, filepath.Join(root, "new.go"), "package main\n")
		}, "", []string{"1 files are not committed (new.go)", `CHANGELOG.md has no section "## [0.2.0]`}},
		"no version": {[]string{"v0.1.0"}, nil, "1.x", []string{`version "1.x" is not a semantic version`}},
	} {
		t.Run(name, func(t *testing.T) {
			root := smallClone(t, test.tags...)
			if test.change != nil {
				test.change(root)
			}
			_, err := newRelease(t.Context(), root, test.requested, false)
			if err == nil {
				t.Fatal("error = nil, want one")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestRelease_TaggedClone_HasVersionOfTag(t *testing.T) {
	t.Parallel()
	root := smallClone(t, "v0.1.0", "v0.0.9", "other")
	r, err := newRelease(t.Context(), root, "v0.1.0", false)
	if err != nil {
		t.Fatal(err)
	}
	if r.version != "0.1.0" || r.tag() != "v0.1.0" || r.snapshot || r.date.Unix() != 1790000000 {
		t.Errorf("version = %s, tag = %s, snapshot = %t, date = %s", r.version, r.tag(), r.snapshot, r.date)
	}
}

func TestRelease_Snapshot_SortsBelowRelease(t *testing.T) {
	t.Parallel()
	root := smallClone(t)
	r, err := newRelease(t.Context(), root, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "0.1.0-snapshot.20260921141320.g" + r.commit[:8]; r.version != want {
		t.Errorf("version = %s, want %s", r.version, want)
	}
	debian := strings.Replace(r.version, "-", "~", 1)
	if out, err := exec.Command("dpkg", "--compare-versions", debian, "lt", "0.1.0").CombinedOutput(); err != nil {
		t.Errorf("dpkg does not sort %s below 0.1.0: %v %s", debian, err, out)
	}
	write(t, filepath.Join(root, "new.go"), "package main\n")
	if r, err = newRelease(t.Context(), root, "v0.3.0", true); err != nil || r.version != "0.3.0-snapshot.20260921141320.g"+r.commit[:8]+".dirty" {
		t.Errorf("version = %s, %v, want one of 0.3.0 that ends with dirty", r.version, err)
	}
}

// TestRelease_BuildFails_LeavesNothing releases a repository without the program.
func TestRelease_BuildFails_LeavesNothing(t *testing.T) {
	t.Parallel()
	root := smallClone(t, "v0.1.0")
	var progress strings.Builder
	err := run(t.Context(), []string{"-root", root}, &progress)
	if err == nil || !strings.Contains(err.Error(), "programs: go build") {
		t.Errorf("error = %v, want one of go build", err)
	}
	if left, err := os.ReadDir(filepath.Join(root, "dist")); err != nil || len(left) > 0 {
		t.Errorf("dist has %v (%v), want nothing", left, err)
	}
}

func TestRelease_KeyMissing_BuildsNothing(t *testing.T) {
	t.Parallel()
	root := smallClone(t, "v0.1.0")
	err := run(t.Context(), []string{"-root", root, "-key", filepath.Join(root, "none")}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "cannot read the key for signatures") {
		t.Errorf("error = %v, want one of the key", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "dist" }) {
		t.Errorf("entries = %v (%v), want no dist", entries, err)
	}
}
