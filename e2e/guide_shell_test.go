//go:build client

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/server/dbtest"
)

// TestTheGuidesWorkInAShell types the commands of the guides into a shell, each with
// an empty database, and compares what they print. With -update it writes that into
// the guides.
func TestTheGuidesWorkInAShell(t *testing.T) {
	t.Parallel()
	for _, guide := range []string{"reshape", "baremetal"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel()
			typeGuide(t, "../docs/"+guide+".md")
		})
	}
}

func typeGuide(t *testing.T, guide string) {
	text := readText(t, guide)
	blocks := steps(t, text, 0, len(text))
	const mark = "=== the end of a step ==="
	var script strings.Builder
	for _, block := range blocks {
		script.WriteString(block.commands + "echo '" + mark + "'\n")
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Dir = t.TempDir()
	shell.Env = append(withoutSettings(os.Environ()), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"),
		"BERTH_DATABASE_URL="+dbtest.NewEmpty(t).URL, "BERTH_LISTEN="+address, "BERTH_URL=http://"+address)
	shell.Stdin = strings.NewReader(script.String())
	output, err := shell.CombinedOutput()
	printed := strings.Split(string(output), mark+"\n")
	if err != nil || len(printed) != len(blocks)+1 {
		t.Fatalf("the shell ended with %v after\n%s", err, output)
	}
	rewrite(t, guide, text, blocks, func(i int) string { return printed[i] })
}
