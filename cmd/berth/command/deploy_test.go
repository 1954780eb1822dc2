package command

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// isVariable reports whether name is the environment variable of a setting.
func isVariable(name string) bool {
	return slices.ContainsFunc(new(config.Settings).Table(), func(row setting.Setting) bool { return row.Env() == name })
}

// TestSettings_Unit_SpoolIsWritable checks that the spool has a writable directory, because the file system of the unit
// is read-only.
func TestSettings_Unit_SpoolIsWritable(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nCacheDirectory=berth\n", "\nEnvironment=BERTH_SPOOL_DIR=/var/cache/berth\n"} {
		if !strings.Contains(string(unit), want) {
			t.Errorf("the unit lacks %q", strings.TrimSpace(want))
		}
	}
}

// TestDocs_SystemdUnit_NamesExistingCommandAndSettings parses the command line and the variables of the unit and of its
// file of settings.
func TestDocs_SystemdUnit_NamesExistingCommandAndSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	hasExecStart := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if name, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "BERTH_") && !isVariable(name) {
			t.Errorf("%s is not a setting", name)
		}
		words, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/berth ")
		if !ok {
			continue
		}
		hasExecStart = true
		command, rest, err := rootCommand((&frame.Frame{})).Find(strings.Fields(words))
		if err != nil || command.Name() != "serve" {
			t.Fatalf("%q: %v", words, err)
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
	if !hasExecStart {
		t.Error("the unit lacks ExecStart")
	}
}

func TestSettings_Unit_LimitsMemory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"MemoryHigh", "MemoryMax"} {
		if !regexp.MustCompile(`(?m)^` + limit + `=[0-9]+[MG]$`).Match(text) {
			t.Errorf("the unit lacks %s=", limit)
		}
	}
}
