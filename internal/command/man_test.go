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

	"github.com/berthd/berth/internal/frame"
)

// everyCommandOfBerth are the commands as a user would find them.
func everyCommandOfBerth() []*cobra.Command {
	root := rootCommand((&frame.Frame{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Signals: frame.SystemSignals}))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return everyCommand(root)
}

func TestCLI_ManPages_CoverCommandsAndFlags(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if got := runCommand(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "man", "--all", directory); got.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var pages []string
	for _, command := range everyCommandOfBerth() {
		name := pageName(command) + ".1"
		pages = append(pages, name)
		read, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(read), `\-`, "-")
		if !strings.Contains(page, `"Nov 2023"`) {
			t.Errorf("%s has not the date of SOURCE_DATE_EPOCH", name)
		}
		named := func(flag *pflag.Flag) {
			if !flag.Hidden && !strings.Contains(page, "--"+flag.Name) {
				t.Errorf("%s does not name --%s", name, flag.Name)
			}
		}
		command.NonInheritedFlags().VisitAll(named)
		command.InheritedFlags().VisitAll(named)
	}
	found, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil || len(found) != len(pages) {
		t.Errorf("%d pages for %d commands, %v", len(found), len(pages), err)
	}
}

func TestCLI_ManPage_PrintedWithoutDate(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "man", "provider", "list")
	if got.code != frame.ExitOK || !strings.Contains(got.stdout, `.TH "BERTH-PROVIDER-LIST" "1" "" "berth`) {
		t.Errorf("exit code %d, %.200q", got.code, got.stdout)
	}
	if again := runCommand(t, nil, "man", "provider", "list"); again.stdout != got.stdout {
		t.Error("a second run writes something else")
	}
}

func TestCLI_Commands_HaveHelpAndExamples(t *testing.T) {
	t.Parallel()
	theirs := []string{"berth completion", "berth help"} // cobra's own
	for _, command := range everyCommandOfBerth() {
		path := command.CommandPath()
		if slices.ContainsFunc(theirs, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			continue
		}
		if command.Short == "" || command.Long == "" || command.Example == "" {
			t.Errorf("%s lacks a short or a long text, or an example", path)
		}
		for line := range strings.Lines(command.Long) {
			if len([]rune(line)) > 96 && !strings.Contains(line, "://") {
				t.Errorf("%s has a line of %d characters: %s", path, len([]rune(line)), line)
			}
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s does not explain --%s", path, flag.Name)
			}
		})
	}
}
