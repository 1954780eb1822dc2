package command

import (
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// contents returns what lists of a server print, without that of aggregates, which the API cannot delete.
func contents(t *testing.T, environ []string) string {
	t.Helper()
	text := ""
	for _, line := range []string{"provider list", "consumer list", "class list", "trait list", "baremetal node list", "baremetal allocation list"} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if got.code != frame.ExitOK {
			t.Fatalf("%s: %+v", line, got)
		}
		text += got.stdout
	}
	return text
}

func TestCLI_Demo_LoadsRefusesAndRemoves(t *testing.T) {
	t.Parallel()
	url := startBaremetal(t)
	environ := []string{"BERTH_URL=" + url}
	demo := func(code int, stdout, stderr string, flags ...string) {
		t.Helper()
		got := runCommand(t, environ, append([]string{"demo"}, flags...)...)
		if got.code != code || got.stdout != stdout || !strings.Contains(got.stderr, stderr) {
			t.Fatalf("demo %q: %+v, want exit code %d, %q, %q", flags, got, code, stdout, stderr)
		}
	}
	const summary = `{
  "trees": 16,
  "providers": 36,
  "consumers": 97,
  "nodes": 7,
  "node_allocations": 3,
  "queries_without_candidates": 3
}
`
	empty := contents(t, environ)
	demo(frame.ExitUsage, "", "is not from 12 to 5000", "--hosts=1")
	demo(frame.ExitOK, "removed 0 trees\n", "", "--remove", "--url="+url)
	demo(frame.ExitOK, summary, "", "--hosts=12", "-o", "json")
	loaded := contents(t, environ)
	demo(frame.ExitFailed, "", "the server has the sample data, or a part of it: 36 providers; nothing was changed", "--force")
	if again := contents(t, environ); again != loaded {
		t.Errorf("the second run changed\n%s\nto\n%s", loaded, again)
	}
	demo(frame.ExitOK, "removed 16 trees\n", "", "--remove")
	if left := contents(t, environ); left != empty {
		t.Errorf("--remove left\n%s", left)
	}
	if got := runCommand(t, environ, "provider", "create", "other", "--uuid", "c0ffee00-0000-4000-8000-000000000001"); got.code != frame.ExitOK {
		t.Fatal(got)
	}
	foreign := contents(t, environ)
	demo(frame.ExitFailed, "", "the server has providers of others: 1, such as other; nothing was changed", "--hosts=12")
	if now := contents(t, environ); now != foreign {
		t.Errorf("the refused run left\n%s", now)
	}
	demo(frame.ExitOK, summary, "", "--hosts=12", "--force", "-o", "json")
	demo(frame.ExitOK, "{\n  \"trees\": 16\n}\n", "", "--remove", "--output=json")
	if left := contents(t, environ); left != foreign {
		t.Errorf("--remove left\n%s\nwant\n%s", left, foreign)
	}
}
