package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/postgres"
)

var updateSessions = flag.Bool("update", false, "write what the commands of testdata/sessions really print into the files")

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

// changing matches what differs from one run to the next.
var changing = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "req-…"},
	{regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`), "http://SERVICE"},
	{regexp.MustCompile(`\([0-9.]+(µs|ms|s)\)`), "(…ms)"},
	{regexp.MustCompile(`/tmp/[^ "\n]*`), "/tmp/…"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
}

// asWritten is how a session shows a command that was run: what it printed, then
// what it said on standard error behind "! ", then an exit code other than 0
// behind "? ".
func asWritten(got ran) string {
	var text strings.Builder
	text.WriteString(got.stdout)
	for line := range strings.Lines(got.stderr) {
		text.WriteString("! " + line)
	}
	if got.code != frame.ExitOK {
		fmt.Fprintf(&text, "? %d\n", got.code)
	}
	shown := text.String()
	for _, one := range changing {
		shown = one.pattern.ReplaceAllString(shown, one.shown)
	}
	return shown
}

// splitWords splits a command line at blanks that are not in single quotes.
func splitWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

// TestCLI_RecordedSessions_PrintRecordedOutput runs the files of testdata/sessions: command lines
// behind "$ berth ", each followed by what it prints. Lines with # are for people.
// Every file has an empty service of its own.
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
			if strings.HasPrefix(filepath.Base(file), "baremetal") {
				start = startBaremetal
			}
			environ := []string{"BERTH_URL=" + start(t)}
			var written strings.Builder
			for _, step := range strings.SplitAfter("\n"+string(read), "\n$ berth ")[1:] {
				line, rest, _ := strings.Cut(strings.TrimSuffix(step, "$ berth "), "\n")
				want, comment := cutComment(rest)
				got := asWritten(runCommand(t, environ, splitWords(line)...))
				if got != want && !*updateSessions {
					t.Errorf("$ berth %s\nprints\n%sand the file says\n%s", line, got, want)
				}
				fmt.Fprintf(&written, "$ berth %s\n%s%s", line, got, comment)
			}
			if *updateSessions {
				head, _, _ := strings.Cut("\n"+string(read), "\n$ berth ")
				whole := strings.TrimPrefix(head+"\n"+written.String(), "\n")
				if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// cutComment separates the output of a step from the lines for people before the
// next one.
func cutComment(text string) (output, comment string) {
	if at := strings.Index("\n"+text, "\n#"); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}
