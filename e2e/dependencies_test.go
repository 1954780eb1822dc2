package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dependencyList has a table with a reason for each module that go.mod requires directly.
const dependencyList = "docs/decisions/0005-dependencies.md"

// maxDependencies is the maximum number of modules that go.mod requires directly. It only becomes lower.
const maxDependencies = 35

var backtickedModule = regexp.MustCompile("`([^`]+)`")

func TestArchitecture_DirectDependencies_HaveReasons(t *testing.T) {
	t.Parallel()
	required := directDependencies(t)
	if len(required) > maxDependencies {
		t.Errorf("go.mod requires %d modules directly, at most %d are allowed", len(required), maxDependencies)
	}
	text, err := os.ReadFile("../" + dependencyList)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Modules that go.mod names\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for line := range strings.Lines(section) {
		row, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			continue
		}
		cells := strings.Split(row, " | ")
		for _, module := range backtickedModule.FindAllStringSubmatch(cells[0], -1) {
			listed = append(listed, module[1])
			if len(cells) != 5 || cells[1] == "" {
				t.Errorf("%s: the row of %s has no reason", dependencyList, module[1])
			}
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, required) {
		t.Errorf("%s lists %q, go.mod requires %q", dependencyList, listed, required)
	}
}

// directDependencies returns the modules that go.mod requires directly, in the order of their names.
func directDependencies(t *testing.T) []string {
	t.Helper()
	edit := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	edit.Dir = ".."
	output, err := edit.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(output, &module); err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, required := range module.Require {
		if !required.Indirect {
			direct = append(direct, required.Path)
		}
	}
	slices.Sort(direct)
	return direct
}
