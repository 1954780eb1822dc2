package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateLicenses = flag.Bool("licenses.update", false, "write docs/third-party-licenses.md")

const licensesDocument = "../docs/third-party-licenses.md"

// licenses lists each license with a text that identifies it. The order matters: the first match wins.
var licenses = []struct{ name, text string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE"},
	{"GPL", "GNU GENERAL PUBLIC LICENSE"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "may be used to endorse"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"Unlicense", "This is free and unencumbered software"},
}

// acceptable lists the licenses that impose no conditions on the rest of the program.
var acceptable = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "OFL-1.1", "Unlicense"}

// TestLicenses_LinkedCode_Listed compares the page with the linked modules and the embedded files of other projects,
// because a distributor of the program has to distribute these license texts with it. `make licenses` writes the page.
func TestLicenses_LinkedCode_Listed(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, module := range modules(t) {
		name, file := licenseOf(t, module)
		if !slices.Contains(acceptable, name) {
			t.Errorf("%s: license %q is not in the list of acceptable ones", module.Path, name)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | `%s` |", module.Path, name, file))
	}
	if len(rows) < 10 {
		t.Fatalf("linked modules = %d, want at least 10", len(rows))
	}
	files := strings.Join(vendoredFileRows(t), "\n")
	want := `# Third-party licenses

Berth itself is under the [Apache License 2.0](../LICENSE). ` + "`bin/berth`" + ` contains the standard library of Go
(BSD-3-Clause), these modules and [the files below](#files-of-npm-packages). Their licenses require that the program is
distributed with the license texts; ` + "`go mod vendor`" + ` collects the modules with these texts. Swagger UI, which ` + "`/docs`" + ` shows, is part of
` + "`github.com/swaggest/swgui`" + ` and is under Apache-2.0 itself. MPL-2.0 also requires that
the source of the module's files is available. Berth does not change them; the module path is their address.
PostgreSQL is not part of the program.

` + "`make licenses`" + ` writes this page, and a test compares it with the linked modules and the files.

| Module | License | File in the module |
| --- | --- | --- |
` + strings.Join(rows, "\n") + `

## Files of npm packages

The repository has unchanged copies of these files. ` + "`bin/berth`" + ` contains those below ` + "`server`" + ` and their license texts;
the others are for tests only.

| File | Package | License | License text |
| --- | --- | --- | --- |
` + files + "\n"
	if *updateLicenses {
		if err := os.WriteFile(licensesDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(licensesDocument); err != nil || string(got) != want {
		t.Errorf("docs/third-party-licenses.md does not match the linked modules and embedded files; run 'make licenses': %v", err)
	}
}

type module struct{ Path, Dir string }

// modules returns the modules that the program links on Linux.
func modules(t *testing.T) []module {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/berth")
	list.Dir = ".."
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []module
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var listed struct{ Module *module }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if listed.Module != nil && listed.Module.Path != "github.com/berthd/berth" && !slices.Contains(found, *listed.Module) {
			found = append(found, *listed.Module)
		}
	}
	slices.SortFunc(found, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// licenseOf returns the name of a module's license and the file with its text, or "unknown".
func licenseOf(t *testing.T, of module) (name, file string) {
	t.Helper()
	entries, err := os.ReadDir(of.Dir)
	if err != nil {
		t.Fatalf("%s: %v", of.Path, err)
	}
	for _, entry := range entries {
		if upper := strings.ToUpper(entry.Name()); entry.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(of.Dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, license := range licenses {
			if strings.Contains(flat, license.text) {
				return license.name, entry.Name()
			}
		}
	}
	return "unknown", ""
}
