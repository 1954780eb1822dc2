package provision

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture in the documentation anew")

const picture = "../../docs/baremetal-states.md"

// The picture is drawn from the data, so that it cannot show another machine.
func TestThePictureInTheDocumentationShowsTheseEdges(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(page), "```mermaid\n")
	_, after, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		t.Fatalf("%s has no mermaid picture", picture)
	}
	wanted := before + "```mermaid\n" + draw() + "```\n" + after
	if wanted == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s shows other edges; run go test ./server/provision -update", picture)
	}
	if err := os.WriteFile(picture, []byte(wanted), 0o644); err != nil {
		t.Fatal(err)
	}
}

// draw writes the machine as a mermaid state diagram.
func draw() string {
	var out strings.Builder
	out.WriteString("stateDiagram-v2\n")
	id := func(state string) string { return strings.ReplaceAll(state, " ", "_") }
	for _, state := range reached {
		if id(state) != state {
			fmt.Fprintf(&out, "    state %q as %s\n", state, id(state))
		}
	}
	out.WriteString("    [*] --> enroll\n")
	for _, e := range verbs {
		fmt.Fprintf(&out, "    %s --> %s: %s\n", id(e.From), id(e.To), e.Verb)
	}
	for _, w := range works {
		if w.done == "" {
			fmt.Fprintf(&out, "    %s --> %s: done, if that is the target\n", w.state, Available)
			fmt.Fprintf(&out, "    %s --> %s: done, if that is the target\n", w.state, Manageable)
		} else {
			fmt.Fprintf(&out, "    %s --> %s: done\n", w.state, id(w.done))
		}
		fmt.Fprintf(&out, "    %s --> %s: fail\n", w.state, id(w.failed))
	}
	out.WriteString("    classDef work font-style:italic\n    class ")
	out.WriteString(strings.Join(Transients(), ","))
	out.WriteString(" work\n")
	return out.String()
}
