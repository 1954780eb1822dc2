package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/openapi"
)

const (
	// recorded is the directory of the files, relative to the root of the repository.
	recorded  = "openapi"
	hashFile  = "structure.sha256"
	changeDir = "changes"
)

// write replaces the files of an API. It deletes files that it does not write, such as the document of the previous
// newest version.
func write(root string, of api) error {
	wanted := files(of)
	directory := filepath.Join(root, recorded, of.name)
	for _, pattern := range []string{"*.json", changeDir + "/*"} {
		stale, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return err
		}
		for _, name := range stale {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(directory, changeDir), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if err := os.WriteFile(filepath.Join(directory, filepath.FromSlash(name)), wanted[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files returns the content of the files of an API by their names in its directory.
func files(of api) map[string][]byte {
	newest := of.versions[len(of.versions)-1]
	made := map[string][]byte{newest.name + ".json": newest.document}
	var hashes strings.Builder
	for i, version := range of.versions {
		fmt.Fprintf(&hashes, "%s  %s\n", version.structure.Hash(), version.name)
		switch {
		case i == 0 && of.base != nil:
			made[path.Join(changeDir, version.name+".diff")] = changes(of.title+" with extensions", *of.base, version)
		case i > 0:
			made[path.Join(changeDir, version.name+".diff")] = changes(of.title, of.versions[i-1], version)
		}
	}
	made[hashFile] = []byte(hashes.String())
	return made
}

// changes describes what a version changes, for the review of the version.
func changes(title string, before, after version) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s: structure of %s, compared with %s. Written by make generate.\n",
		title, after.name, before.name)
	lines := openapi.Changes(before.structure.WithoutVersion(), after.structure.WithoutVersion())
	if len(lines) == 0 {
		lines = []string{"# The structure does not change."}
	}
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	return []byte(text.String())
}
