package provision

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the diagram in the documentation")

const picture = "../../../docs/baremetal-states.md"

// The diagram is generated from the data, so that both are always equal.
func TestDocs_ProvisionStateDiagram_MatchesStateMachine(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(page), "```mermaid\n")
	_, after, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		t.Fatalf("%s has no mermaid diagram", picture)
	}
	wanted := before + "```mermaid\n" + draw() + "```\n" + after
	if wanted == string(page) {
		return
	}
	if !*update {
		t.Fatalf("the diagram in %s is out of date; run go test ./server/work/provision -update", picture)
	}
	if err := os.WriteFile(picture, []byte(wanted), 0o644); err != nil {
		t.Fatal(err)
	}
}

// draw returns the state machine as a mermaid state diagram.
func draw() string {
	var out strings.Builder
	out.WriteString("stateDiagram-v2\n")
	id := func(state string) string { return strings.ReplaceAll(state, " ", "_") }
	for _, state := range reachableStates {
		if id(state) != state {
			fmt.Fprintf(&out, "    state %q as %s\n", state, id(state))
		}
	}
	out.WriteString("    [*] --> enroll\n")
	for _, e := range verbs {
		fmt.Fprintf(&out, "    %s --> %s: %s\n", id(e.From), id(e.To), e.Verb)
	}
	for _, w := range transientStates {
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
