package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// TestCLI_FileNames_ComparedExactly checks that members with names in another case are neither taken for others nor
// replace them.
func TestCLI_FileNames_ComparedExactly(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "file.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const candidate = `{"allocations": {"c0ffee00-0000-4000-8000-000000000012": {"resources": {"VCPU": 1}}}}`
	claim := func(content string) []string {
		return []string{"claim", claimedID, "--project", "p", "--user", "u", "--type", "T", "--candidates", file(content)}
	}
	for name, c := range map[string]struct {
		line []string
		want string // in the error
	}{
		"a tree":                      {[]string{"provider", "apply", file(`{"Resource_Providers": [{"name": "x"}]}`)}, `unknown field "Resource_Providers"`},
		"a provider":                  {[]string{"provider", "apply", file(`{"resource_providers": [{"name": "x", "NAME": "y"}]}`)}, `unknown field "NAME"`},
		"candidates":                  {claim(`{"Allocation_Requests": [` + candidate + `]}`), "it has no candidates"},
		"candidates twice":            {claim(`{"allocation_requests": [], "allocation_requests": [` + candidate + `]}`), `the member "allocation_requests" appears twice`},
		"allocations of a candidate":  {claim(`[{"Allocations": {}, ` + candidate[1:] + `, {"allocations": {}, ` + candidate[1:] + `]`), `the member "allocations" appears twice`},
		"text behind the candidates":  {claim(`[` + candidate + `] []`), "after top-level value"},
		"candidates that are no text": {claim("[{\"x\": \"\xff\"}]"), "the text is not UTF-8"},
	} {
		if got := runCommand(t, environ, c.line...); got.code != frame.ExitUsage || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}
