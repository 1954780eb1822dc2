package e2e

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

var update = flag.Bool("update", false, "write the output of documented commands into their pages")

const tourPage = "../docs/tour.md"

// tourBlock is one step of a page: the commands of a block marked sh and, in the block marked text below it, their
// output. A step without output is followed by the next step at once.
type tourBlock struct {
	commands, output string
	// from and to enclose the output in the page; 0 where there is none.
	from, to int
}

var fence = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// readTour returns the text of the tour and its steps.
func readTour(t *testing.T) (text string, blocks []tourBlock) {
	t.Helper()
	text = readText(t, tourPage)
	return text, steps(t, text)
}

// steps returns the commands and outputs of a page.
func steps(t *testing.T, text string) (blocks []tourBlock) {
	t.Helper()
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[4], at[5]
		if text[at[2]:at[3]] == "sh" {
			blocks = append(blocks, tourBlock{commands: text[from:to]})
			continue
		}
		last := &blocks[len(blocks)-1]
		last.output, last.from, last.to = text[from:to], from, to
	}
	if len(blocks) == 0 {
		t.Fatal("the page has no steps")
	}
	return blocks
}

var (
	anyUUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d\d:\d\d:\d\d\b|explained \d+ s later|\bafter \d+\.\d s\b`)
	// anyHash is a hash of a table in the report of an import or export, which depends on the times in its rows.
	anyHash = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	// anyRequest is the beginning of a request ID in a table.
	anyRequest = regexp.MustCompile(`\breq-[0-9a-f]{8}\b`)
)

// masked replaces what differs between runs: times, hashes of rows with times, and every UUID that the pages do not
// choose. Theirs begin with c0ffee00.
func masked(output string) string {
	output = anyHash.ReplaceAllString(anyTime.ReplaceAllString(output, "…"), "…")
	output = anyUUID.ReplaceAllStringFunc(output, func(found string) string {
		if strings.HasPrefix(found, "c0ffee00-") {
			return found
		}
		return "…"
	})
	return anyRequest.ReplaceAllString(output, "…")
}

// TestDocs_Tour_PrintsDocumentedOutput runs the tour against the handler, without curl or a shell, on an empty database.
func TestDocs_Tour_PrintsDocumentedOutput(t *testing.T) {
	t.Parallel()
	text, blocks := readTour(t)
	guide := newGuide(handler(t, dbtest.New(t).URL))
	rewrite(t, tourPage, text, blocks, func(i int) string {
		printed, err := guide.run(blocks[i].commands)
		if err != nil {
			t.Fatalf("%v, in:\n%s", err, blocks[i].commands)
		}
		return printed
	})
}

// rewrite compares the output of each step with the documented output. With -update it writes the output into the page.
func rewrite(t *testing.T, path, text string, blocks []tourBlock, run func(i int) string) {
	t.Helper()
	var rewritten strings.Builder
	written := 0
	for i, block := range blocks {
		printed := run(i)
		if block.to == 0 {
			if printed != "" {
				t.Errorf("%s: undocumented output of\n%s\n%s", path, block.commands, printed)
			}
			continue
		}
		rewritten.WriteString(text[written:block.from])
		written = block.to
		if masked(printed) == masked(block.output) {
			printed = block.output
		} else if !*update {
			t.Errorf("output of\n%s\n%swant, by %s:\n%s", block.commands, printed, path, block.output)
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
