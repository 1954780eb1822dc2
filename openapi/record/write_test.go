package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
)

// TestMicroversion_Records_MatchRouteTables compares every file of openapi/placement and openapi/baremetal with the
// output of `make generate`.
func TestMicroversion_Records_MatchRouteTables(t *testing.T) {
	t.Parallel()
	all, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	again, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		want := files(one)
		other := again[slices.IndexFunc(again, func(other api) bool { return other.name == one.name })]
		for i, version := range one.versions {
			if !bytes.Equal(version.document, other.versions[i].document) {
				t.Errorf("%s %s: two builds of the document differ", one.name, version.name)
			}
		}
		recorded := os.DirFS(path.Join("..", one.name))
		err := fs.WalkDir(recorded, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			got, err := fs.ReadFile(recorded, name)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want[name]) {
				t.Errorf("openapi/%s/%s is not what the route table gives; run 'make generate'", one.name, name)
			}
			delete(want, name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name := range want {
			t.Errorf("openapi/%s/%s is missing; run 'make generate'", one.name, name)
		}
	}
}

// TestMicroversion_NewVersion_ReplacesNewestDocument writes the files of two versions after those of one.
func TestMicroversion_NewVersion_ReplacesNewestDocument(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, one := range []api{of(t, "placement", "1.0", small), of(t, "placement", "1.0", small, "1.1", longer)} {
		if err := write(root, one); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"openapi/placement/1.1.json", "openapi/placement/changes/1.1.diff", "openapi/placement/structure.sha256",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files = %q, want %q", names, want)
	}
	diff, err := os.ReadFile(path.Join(root, want[1]))
	if err != nil {
		t.Fatal(err)
	}
	const wantDiff = `# placement: structure of 1.1, compared with 1.0. Written by make generate.
- schema Name {maxLength: 255, type: "string"}
+ schema Name {maxLength: 256, type: "string"}
`
	if string(diff) != wantDiff {
		t.Errorf("changes = %q, want %q", diff, wantDiff)
	}
}
