package command

import (
	"os"
	"strings"
	"testing"
)

// TestDocs_SystemdEnvironment_NamesExistingSettings reads the file of settings that the packages install. Every setting
// in it is commented out, so that a new installation has the defaults.
func TestDocs_SystemdEnvironment_NamesExistingSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/deploy/berth.env")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is not commented out", line)
		}
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "#"), "="); ok && strings.HasPrefix(name, "BERTH_") {
			names++
			if !isVariable(name) {
				t.Errorf("%s is not a setting", name)
			}
		}
	}
	if names < 5 {
		t.Errorf("settings = %d, want at least 5", names)
	}
}
