package command

import (
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// completed returns the completions after a command line.
func completed(t *testing.T, environ []string, words ...string) []string {
	t.Helper()
	got := runCommand(t, environ, append([]string{"__complete"}, words...)...)
	var completions []string
	for line := range strings.Lines(got.stdout) {
		if word := strings.TrimSpace(line); !strings.HasPrefix(word, ":") && word != "" {
			word, _, _ = strings.Cut(word, "\t")
			completions = append(completions, word)
		}
	}
	return completions
}

func TestCLI_Completion_ListsServerNames(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	for _, line := range []string{
		"provider create compute-1", "provider create compute-2", "provider create pool",
		"class create CUSTOM_LICENSE CUSTOM_LANE", "trait create CUSTOM_RACK_7 CUSTOM_RACK_8",
	} {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
			t.Fatalf("%s: %s", line, got.stderr)
		}
	}
	for line, want := range map[string]string{
		"provider show ":                                    "compute-1 compute-2 pool",
		"provider show c":                                   "compute-1 compute-2",
		"provider show pool ":                               "",
		"provider delete pool compute-1 ":                   "compute-2",
		"provider create ":                                  "",
		"provider create x --parent p":                      "pool",
		"provider list --in-tree p":                         "pool",
		"provider trait add pool CUSTOM_RACK":               "CUSTOM_RACK_7 CUSTOM_RACK_8",
		"provider trait add pool CUSTOM_RACK_7 CUS":         "CUSTOM_RACK_8",
		"inventory delete pool CUSTOM_L":                    "CUSTOM_LICENSE CUSTOM_LANE",
		"inventory set pool --resource CUSTOM_LA":           "CUSTOM_LANE",
		"class delete CUSTOM_LI":                            "CUSTOM_LICENSE",
		"trait show CUSTOM_RACK_8":                          "CUSTOM_RACK_8",
		"aggregate add pool ":                               "",
		"allocation unset x --class CUSTOM_LA":              "CUSTOM_LANE",
		"allocation set x --on po":                          "pool",
		"candidate list --resources VCPU:1,CUSTOM_LA":       "VCPU:1,CUSTOM_LANE",
		"candidate list --required CUSTOM_RACK_7,!CUSTOM_R": "CUSTOM_RACK_7,!CUSTOM_RACK_7 CUSTOM_RACK_7,!CUSTOM_RACK_8",
		"candidate list --group-policy ":                    "none isolate",
		"candidate list --root-required !CUSTOM_RACK_7,CUS": "!CUSTOM_RACK_7,CUSTOM_RACK_7 !CUSTOM_RACK_7,CUSTOM_RACK_8",
		"candidate list --can-split VCPU,CUSTOM_LA":         "VCPU,CUSTOM_LANE",
		"candidate list --order r":                          "random",
		"allocation claim x --order pack:CUSTOM_LA":         "pack:CUSTOM_LANE",
		"candidate list --group _A:resources=VCPU:1 --group _B:resources=VCPU:1 --same-subtree _A,!": "_A,!_A _A,!_B",
		"allocation claim x --group _A:resources=VCPU:1 --isolate ":                                  "_A",
		"claim x --apart ":         "root",
		"claim x --not-in-tree po": "pool",
		"claim x --resources VCPU:1 --else --order pack:CUSTOM_LA": "pack:CUSTOM_LANE",
		"provider apply f --delete po":                             "pool",
		"history compute":                                          "compute-1 compute-2",
		"history --tree po":                                        "pool",
		"history --topic ":                                         "aggregate allocation history inventory name node node_allocation provider trait",
		"provider list --auth ":                                    "noauth token keystone",
		"provider list --interface ":                               "public internal admin",
		"provider list --output ":                                  "table json yaml csv",
		"man provider tr":                                          "trait",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		if got := strings.Join(completed(t, environ, words...), " "); got != want {
			t.Errorf("completions of %q = %q, want %q", line, got, want)
		}
	}
}

func TestCLI_CompletionServiceUnreachable_PrintsNothing(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"no listener":     {"BERTH_URL=http://127.0.0.1:1"},
		"invalid setting": {"BERTH_URL=nowhere"},
		"invalid token":   {"BERTH_URL=" + startService(t), "BERTH_TOKEN=unknown"},
	} {
		got := runCommand(t, environ, "__complete", "provider", "show", "")
		if got.code != frame.ExitOK || got.stdout != ":4\n" || strings.Contains(got.stderr, "berth:") {
			t.Errorf("%s: exit code %d, %q, %q", name, got.code, got.stdout, got.stderr)
		}
	}
}

func TestCLI_CompletionScripts_PrintedForEachShell(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := runCommand(t, nil, "completion", shell)
		if got.code != frame.ExitOK || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: exit code %d, %d bytes", shell, got.code, len(got.stdout))
		}
	}
}
