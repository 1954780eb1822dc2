package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/version"
)

// allCommands returns the available commands of berth, including those of cobra.
func allCommands() []*cobra.Command {
	root := rootCommand((&frame.Frame{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Signals: frame.SystemSignals}))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return availableCommands(root)
}

func TestCLI_ManPages_CoverCommandsAndFlags(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if got := runCommand(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "man", "--all", directory); got.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var pages []string
	for _, command := range allCommands() {
		name := pageName(command) + ".1"
		pages = append(pages, name)
		read, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(read), `\-`, "-")
		if !strings.Contains(page, `"Nov 2023"`) {
			t.Errorf("%s lacks the date of SOURCE_DATE_EPOCH", name)
		}
		checkFlag := func(flag *pflag.Flag) {
			if !flag.Hidden && !strings.Contains(page, "--"+flag.Name) {
				t.Errorf("%s lacks --%s", name, flag.Name)
			}
		}
		command.NonInheritedFlags().VisitAll(checkFlag)
		command.InheritedFlags().VisitAll(checkFlag)
	}
	found, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil || len(found) != len(pages) {
		t.Errorf("pages = %d, want %d; %v", len(found), len(pages), err)
	}
}

func TestCLI_ManPage_PrintedWithoutDate(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "man", "provider", "list")
	if got.code != frame.ExitOK || !strings.Contains(got.stdout, `.TH "BERTH-PROVIDER-LIST" "1" "" "berth`) {
		t.Errorf("exit code %d, %.200q", got.code, got.stdout)
	}
	if again := runCommand(t, nil, "man", "provider", "list"); again.stdout != got.stdout {
		t.Error("the output of the second run differs")
	}
}

func TestCLI_Commands_HaveHelpAndExamples(t *testing.T) {
	t.Parallel()
	generated := []string{"berth completion", "berth help"} // by cobra
	for _, command := range allCommands() {
		path := command.CommandPath()
		if slices.ContainsFunc(generated, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			continue
		}
		if command.Short == "" || command.Long == "" || command.Example == "" {
			t.Errorf("%s lacks Short, Long or Example", path)
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s: --%s has no help", path, flag.Name)
			}
		})
	}
}

func TestCLI_VersionFlag_PrintsOneLine(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "--version")
	if want := version.Line() + "\n"; got.code != frame.ExitOK || got.stdout != want || got.stderr != "" {
		t.Errorf("exit code %d, %q, %q; want 0, %q", got.code, got.stdout, got.stderr, want)
	}
	if !strings.HasPrefix(version.Line(), "berth ") || strings.Count(version.Line(), ", ") != 2 {
		t.Errorf("line = %q, want the version, commit and date of berth", version.Line())
	}
}
