package e2e

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server/dbtest"
)

var update = flag.Bool("update", false, "write what the commands of the documents really print into them")

const readme = "../README.md"

// tourBlock is one step of the README's tour: the commands of a block marked sh
// and, in the block marked text below it, what they print. A step without output
// is followed by the next step at once.
type tourBlock struct {
	commands, output string
	// from and to enclose the output in the README; 0 where there is none.
	from, to int
}

var fence = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// readTour finds the tour between its heading and the next.
func readTour(t *testing.T) (text string, blocks []tourBlock) {
	t.Helper()
	whole, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	text = string(whole)
	const heading = "\n## A five-minute tour\n"
	start := strings.Index(text, heading)
	if start < 0 {
		t.Fatalf("the README has no heading %q", strings.TrimSpace(heading))
	}
	start += len(heading)
	end := start + strings.Index(text[start:], "\n## ")
	return text, steps(t, text, start, end)
}

// steps finds the commands and outputs in a part of a text.
func steps(t *testing.T, text string, start, end int) (blocks []tourBlock) {
	t.Helper()
	for _, at := range fence.FindAllStringSubmatchIndex(text[start:end], -1) {
		from, to := start+at[4], start+at[5]
		if text[start+at[2]:start+at[3]] == "sh" {
			blocks = append(blocks, tourBlock{commands: text[from:to]})
			continue
		}
		last := &blocks[len(blocks)-1]
		last.output, last.from, last.to = text[from:to], from, to
	}
	if len(blocks) == 0 {
		t.Fatal("there are no steps")
	}
	return blocks
}

var anyUUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// masked hides what differs from one run to the next: the uuids that the documents
// have not chosen themselves.
func masked(output string) string {
	return anyUUID.ReplaceAllStringFunc(output, func(found string) string {
		if strings.HasPrefix(found, "c0ffee00-") {
			return found
		}
		return "…"
	})
}

// TestTheTourPrintsWhatTheREADMESays runs the tour against the handler, without
// curl or a shell, on an empty database.
func TestTheTourPrintsWhatTheREADMESays(t *testing.T) {
	t.Parallel()
	text, blocks := readTour(t)
	guide := newGuide(handler(t, dbtest.New(t).URL))
	rewrite(t, readme, text, blocks, func(i int) string {
		printed, err := guide.run(blocks[i].commands)
		if err != nil {
			t.Fatalf("%v, in:\n%s", err, blocks[i].commands)
		}
		return printed
	})
}

// rewrite compares what the steps print with what the text says of it, and with
// -update makes the text say so.
func rewrite(t *testing.T, path, text string, blocks []tourBlock, run func(i int) string) {
	t.Helper()
	var rewritten strings.Builder
	written := 0
	for i, block := range blocks {
		printed := run(i)
		if block.to == 0 {
			if printed != "" {
				t.Errorf("%s shows no output of\n%swhich prints\n%s", path, block.commands, printed)
			}
			continue
		}
		rewritten.WriteString(text[written:block.from])
		written = block.to
		if masked(printed) == masked(block.output) {
			printed = block.output
		} else if !*update {
			t.Errorf("the step\n%sprints\n%sand %s says\n%s", block.commands, printed, path, block.output)
		}
		rewritten.WriteString(printed)
	}
	rewritten.WriteString(text[written:])
	if *update {
		if err := os.WriteFile(path, []byte(rewritten.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
