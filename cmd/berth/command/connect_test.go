package command

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/session"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/work/history"
)

var updateSessions = flag.Bool("update", false, "write the output of the commands in testdata/sessions to the files")

// startService serves an empty database and returns its URL.
func startService(t *testing.T) string {
	t.Helper()
	return servertest.New(t, servertest.Options{StandardNames: true}).Listen(t).URL
}

// startBaremetal is startService with the Bare Metal API and a running conductor.
func startBaremetal(t *testing.T) string {
	t.Helper()
	started := servertest.New(t, servertest.Options{
		Store: postgres.Options{MaxConns: 6}, StandardNames: true, Server: servertest.Baremetal(servertest.Conductor),
	})
	started.StartConductor(t)
	return started.Listen(t).URL
}

// startHistory is startBaremetal with the worker of the record of changes.
func startHistory(t *testing.T) string {
	t.Helper()
	started := servertest.New(t, servertest.Options{
		Store: postgres.Options{MaxConns: 6}, StandardNames: true, Server: servertest.Baremetal(servertest.Conductor),
	})
	started.StartConductor(t)
	stepper := history.New(history.Options{Store: started.Store, Log: slog.New(slog.DiscardHandler)})
	stepper.Start()
	t.Cleanup(stepper.Close)
	return started.Listen(t).URL
}

// variableTexts are the patterns of texts that differ between runs, and their replacements.
var variableTexts = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "req-…"},
	{regexp.MustCompile(`req-[0-9a-f]{8}(  |,)`), "req-…$1"},
	{regexp.MustCompile(`(log"?:?\s*"?)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "${1}LOG"},
	{regexp.MustCompile(`new log [0-9a-f]{8}…[0-9a-f]{4}`), "new log LOG"},
	{regexp.MustCompile(`(bytes"?:?\s+)[0-9]+`), "${1}N"},
	{regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`), "http://SERVICE"},
	{regexp.MustCompile(`\([0-9.]+(µs|ms|s)\)`), "(…ms)"},
	{regexp.MustCompile(`/tmp/[^ "\n]*`), "/tmp/…"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
}

// asWritten returns the result of a command in the format of sessions: standard output, standard error
// with the prefix "! ", and an exit code other than 0 with the prefix "? ".
func asWritten(got ran) string {
	var text strings.Builder
	text.WriteString(got.stdout)
	for line := range strings.Lines(got.stderr) {
		text.WriteString("! " + line)
	}
	if got.code != frame.ExitOK {
		fmt.Fprintf(&text, "? %d\n", got.code)
	}
	result := text.String()
	for _, variable := range variableTexts {
		result = variable.pattern.ReplaceAllString(result, variable.replacement)
	}
	return result
}

// TestCLI_RecordedSessions_PrintRecordedOutput runs the files of testdata/sessions. Each file starts with an empty server.
func TestCLI_RecordedSessions_PrintRecordedOutput(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sessions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			read, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			start := startService
			switch name, _, _ := strings.Cut(filepath.Base(file), "_"); name {
			case "baremetal":
				start = startBaremetal
			case "history.txt", "history":
				start = startHistory
			}
			environ := []string{"BERTH_URL=" + start(t)}
			var written strings.Builder
			for _, step := range session.Parse(string(read)) {
				got := asWritten(runCommand(t, environ, step.Words()...))
				if got != step.Output && !*updateSessions {
					t.Errorf("$ berth %s\nprints\n%swant\n%s", step.Line, got, step.Output)
				}
				fmt.Fprintf(&written, "$ berth %s\n%s%s", step.Line, got, step.Comment)
			}
			if *updateSessions {
				if err := os.WriteFile(file, []byte(session.Head(string(read))+written.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
