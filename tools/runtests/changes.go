package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// changes are the files that differ from a commit, with slashes, and the packages that contain them.
type changes struct {
	base     string
	files    []string
	packages []goPackage
	// importers import a changed package, directly or in a test.
	importers []goPackage
}

// findChanges finds what differs from a commit, uncommitted and untracked files included.
func findChanges(ctx context.Context, root, base string) (*changes, error) {
	var err error
	if base, err = baseOf(ctx, root, base); err != nil {
		return nil, err
	}
	changed, err := output(ctx, root, "git", "diff", "--name-only", "--no-renames", base)
	if err != nil {
		return nil, err
	}
	untracked, err := output(ctx, root, "git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	found := &changes{base: base, files: strings.Fields(changed + untracked)}
	all, err := listAll(ctx, root)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if slices.ContainsFunc(found.files, func(file string) bool { return one.owns(root, file) }) {
			found.packages = append(found.packages, one)
		}
	}
	for _, one := range all {
		imports := func(changed goPackage) bool { return one.imports(changed.ImportPath) }
		same := func(changed goPackage) bool { return one.ImportPath == changed.ImportPath }
		if slices.ContainsFunc(found.packages, imports) && !slices.ContainsFunc(found.packages, same) {
			found.importers = append(found.importers, one)
		}
	}
	return found, nil
}

// baseOf returns the commit to compare with: where this branch left the main branch, or its last commit on the main branch.
func baseOf(ctx context.Context, root, base string) (string, error) {
	if base != "" {
		return base, nil
	}
	for _, branch := range []string{"origin/main", "main"} {
		if text, err := output(ctx, root, "git", "merge-base", "HEAD", branch); err == nil {
			return strings.TrimSpace(text), nil
		}
	}
	text, err := output(ctx, root, "git", "rev-parse", "HEAD")
	return strings.TrimSpace(text), err
}

// owns reports whether a file belongs to a package: Go files of its folder, and data below it.
func (p *goPackage) owns(root, file string) bool {
	dir, err := filepath.Rel(root, p.Dir)
	if err != nil {
		return false
	}
	dir = filepath.ToSlash(dir)
	if filepath.ToSlash(filepath.Dir(file)) == dir {
		return strings.HasSuffix(file, ".go") || dir != "."
	}
	rest, isBelow := strings.CutPrefix(file, dir+"/")
	folder, _, _ := strings.Cut(rest, "/")
	return isBelow && slices.Contains([]string{"testdata", "templates", "assets", "files", "queries", "functions", "migrations"}, folder)
}

// touches reports whether a file below one of the folders has changed.
func (c *changes) touches(folders ...string) bool {
	return slices.ContainsFunc(c.files, func(file string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return file == folder || strings.HasPrefix(file, folder+"/") })
	})
}

// String says what has changed.
func (c *changes) String() string {
	return fmt.Sprintf("Since %.9s, files changed: %d, packages: %d, other packages that import these: %d", c.base, len(c.files), len(c.packages), len(c.importers))
}

// tested returns the import paths of the packages that have tests.
func tested(packages []goPackage) []string {
	var paths []string
	for i := range packages {
		if packages[i].hasTests() {
			paths = append(paths, packages[i].ImportPath)
		}
	}
	return paths
}
