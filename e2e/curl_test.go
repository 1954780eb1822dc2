//go:build client

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDocs_ShellTour_PrintsDocumentedOutput types the tour into a shell with curl, against the program on an empty
// database.
func TestDocs_ShellTour_PrintsDocumentedOutput(t *testing.T) {
	t.Parallel()
	_, blocks := readTour(t)
	const mark = "=== the end of a step ==="
	var script, want strings.Builder
	for _, block := range blocks {
		script.WriteString(block.commands + "echo '" + mark + "'\n")
		want.WriteString(block.output + mark + "\n")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Env = withoutSettings(os.Environ())
	shell.Stdin = strings.NewReader(strings.ReplaceAll(script.String(), tourURL, serve(t)))
	printed, err := shell.CombinedOutput()
	if err != nil || masked(string(printed)) != masked(want.String()) {
		t.Errorf("shell: error = %v, output:\n%s\nwant:\n%s", err, printed, want.String())
	}
}
