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

var updateLicences = flag.Bool("licences.update", false, "write docs/licences.md anew")

const licencesDocument = "../docs/licences.md"

// licences are known by words that no other has, asked for in this order.
var licences = []struct{ name, words string }{
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

// agreeable licences ask for nothing of the rest of the program.
var agreeable = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// TestTheLicencesOfEveryModuleInTheProgramAreListed: whoever gives the program to
// others has to give them these texts. `make licences` writes the list anew.
func TestTheLicencesOfEveryModuleInTheProgramAreListed(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, module := range modules(t) {
		name, file := licenceOf(t, module)
		if !slices.Contains(agreeable, name) {
			t.Errorf("%s has the licence %q", module.Path, name)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | `%s` |", module.Path, name, file))
	}
	if len(rows) < 10 {
		t.Fatalf("only %d modules were found", len(rows))
	}
	want := `# Licences of what is in the program

Berth itself is under the [Apache License 2.0](../LICENSE). ` + "`bin/berth`" + ` contains the standard library of Go
(BSD-3-Clause) and these modules. Their licences ask that their texts come along with the program;
` + "`go mod vendor`" + ` collects the modules with them. Swagger UI, which ` + "`/docs`" + ` shows, is inside of
` + "`github.com/swaggest/swgui`" + ` and is under Apache-2.0 itself. MPL-2.0 asks besides that
the source of the module's own files can be had, which are unchanged here; its address is its name.
PostgreSQL is not in the program.

This page is made by ` + "`make licences`" + `, and a test compares it with what is linked.

| Module | Licence | File in the module |
| --- | --- | --- |
` + strings.Join(rows, "\n") + "\n"
	if *updateLicences {
		if err := os.WriteFile(licencesDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(licencesDocument); err != nil || string(got) != want {
		t.Errorf("docs/licences.md is not what is linked; run 'make licences': %v", err)
	}
}

type module struct{ Path, Dir string }

// modules are those of which anything is linked, on Linux.
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

// licenceOf reads the file with a module's licence.
func licenceOf(t *testing.T, of module) (name, file string) {
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
		for _, one := range licences {
			if strings.Contains(flat, one.words) {
				return one.name, entry.Name()
			}
		}
	}
	return "unknown", ""
}
