package command

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// TestCLI_ConfigOfFile_MatchesGolden compares the output of `berth config` with a golden file: the
// warnings, and the settings without a default value.
func TestCLI_ConfigOfFile_MatchesGolden(t *testing.T) {
	t.Parallel()
	got := runCommand(t, []string{"BERTH_LOG_FORMAT=json", "BERTH_KEYSTONE_PASSWORD="}, "config", "--config-file", "testdata/placement.conf", "--cors-max-age=5m")
	if got.code != frame.ExitOK || strings.Contains(got.stdout+got.stderr, "hunter2") {
		t.Fatalf("exit code %d: %s\n%s", got.code, got.stderr, got.stdout)
	}
	text := got.stderr + "\n"
	for line := range strings.Lines(got.stdout) {
		if !regexp.MustCompile(`^\S+ +default( |\n)`).MatchString(line) || strings.Contains(line, "default of") {
			text += regexp.MustCompile(` +`).ReplaceAllString(line, " ")
		}
	}
	const golden = "testdata/config.golden"
	if *updateSessions {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || text != string(want) {
		t.Errorf("%v; got\n%s", err, text)
	}
}
