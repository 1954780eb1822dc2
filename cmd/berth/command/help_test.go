package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// helpOf returns the help of a command, as a pipe gets it.
func helpOf(t *testing.T, command *cobra.Command, flag string) string {
	t.Helper()
	got := runCommand(t, nil, append(strings.Fields(command.CommandPath())[1:], flag)...)
	if got.code != frame.ExitOK || got.stderr != "" {
		t.Fatalf("%s %s: exit code %d, %s", command.CommandPath(), flag, got.code, got.stderr)
	}
	return got.stdout
}

// drawing reports whether a line is part of an example that cannot be broken: a drawing, YAML, or one long word.
func drawing(line string) bool {
	return strings.ContainsAny(line, "▇░#'") || len(strings.Fields(line)) <= 2 || !strings.Contains(line, " --")
}

func TestCLI_HelpInPipe_FitsInto80Columns(t *testing.T) {
	t.Parallel()
	host := frame.Frame{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}
	for _, command := range availableCommands(rootCommand(&host)) {
		help := helpOf(t, command, "--help")
		if command.Flags().Lookup("help-all") != nil {
			help += helpOf(t, command, "--help-all")
		}
		_, examples, _ := strings.Cut(help, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		for line := range strings.Lines(help) {
			line = strings.TrimRight(line, "\n")
			if terminal.Cells(line) > 80 && !(strings.Contains(examples, line) && drawing(line)) {
				t.Errorf("%s --help: %d columns: %s", command.CommandPath(), terminal.Cells(line), line)
			}
		}
	}
}

func TestCLI_ServeHelp_ListsEverySettingOnceByGroup(t *testing.T) {
	t.Parallel()
	serve, _, err := rootCommand(&frame.Frame{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	brief, all := helpOf(t, serve, "--help"), helpOf(t, serve, "--help-all")
	described, rest, _ := strings.Cut(brief, "Other flags, which --help-all describes:")
	first := 0
	for _, row := range new(config.Settings).Table() {
		words := func(text string) int {
			return len(slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word != "--"+row.Name }))
		}
		if _, description, found := strings.Cut(all, "      --"+row.Name); !found || !strings.Contains(description, "["+row.Env()+"]") {
			t.Errorf("--help-all does not describe %s", row.Name)
		}
		if strings.Contains(described, "["+row.Env()+"]") {
			first++
		} else if words(rest) != 1 {
			t.Errorf("--help names %s %d times among the other flags", row.Name, words(rest))
		}
	}
	if first != 10 {
		t.Errorf("--help describes %d settings, want 10", first)
	}
	titles := []string{}
	for line := range strings.Lines(all) {
		if title, is := strings.CutSuffix(strings.TrimRight(line, "\n"), ":"); is && !strings.HasPrefix(line, " ") {
			titles = append(titles, title)
		}
	}
	want := []string{"Usage", "Examples", "Flags", "Configuration files", "Listen", "Database", "Authentication", "Console", "Policy", "Limits",
		"Claims, candidates and explanations", "Streams of events", "Logs, metrics and traces", "Bare metal"}
	if !slices.Equal(titles, want) {
		t.Errorf("--help-all has the parts %q, want %q", titles, want)
	}
}

func TestCLI_Reflow_KeepsIndentedLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, want string
		width      int
	}{
		{"one two three\nfour", "one two\nthree\nfour", 7},
		{"one\n\n  as  it is, however wide\ntwo three", "one\n\n  as  it is, however wide\ntwo\nthree", 5},
		{"a,bb,ccc", "a, bb,\nccc", 6},
	} {
		if got := frame.Reflow(test.text, test.width); got != test.want {
			t.Errorf("width %d: %q, want %q", test.width, got, test.want)
		}
	}
}
