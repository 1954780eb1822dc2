package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// TestCLI_CapacityFits_PrintsWhatIsShort asks on the two hosts of testdata/trees.
func TestCLI_CapacityFits_PrintsWhatIsShort(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	for _, file := range []string{"compute-1.yaml", "compute-2.json"} {
		if got := runCommand(t, environ, "provider", "apply", filepath.Join("testdata", "trees", file)); got.code != frame.ExitOK {
			t.Fatal(got.stderr)
		}
	}
	for _, step := range []struct {
		flags string
		code  int
		want  string
	}{
		{"--resources VCPU:4,MEMORY_MB:512", frame.ExitFailed, `16 fit, no more (exact; 2 of 2 trees have room, at most 8 in one)

CLASS      AMOUNT  ENOUGH FOR    FREE  STRANDED
VCPU            4          16      64         0  ← short
MEMORY_MB     512         252  129024    120832
`},
		{"--resources VCPU:4,MEMORY_MB:512 --count 1", frame.ExitOK, "at least 1 fits; the search ended at --count\n"},
		{"--resources VCPU:4 --in-tree compute-1", frame.ExitFailed, `8 fit, no more (exact; 1 of 1 tree has room, at most 8 in one)

CLASS  AMOUNT  ENOUGH FOR  FREE  STRANDED
VCPU        4           8    32         0  ← short
`},
		{"--resources VCPU:40", frame.ExitFailed, `none fits (exact; none of 2 trees has room)

CLASS  AMOUNT  ENOUGH FOR  FREE  STRANDED
VCPU       40           0    64        64  ← short
`},
		{"--resources VCPU:40 --change VCPU:ratio=1", frame.ExitFailed, "none fits instead of none (exact; VCPU ends first)\n"},
		{"--resources VCPU:4 --apart root --like compute-1-numa-0:3 --change VCPU:ratio=2,in-tree=compute-2", frame.ExitFailed, "5 fit instead of 2, no more (exact; VCPU ends first)\n"},
		{"--resources VCPU:4 --count 3 --output json --not-in-tree compute-1", frame.ExitOK, `{
  "at_most": null,
  "ends_first": null,
  "exact": false,
  "fit": 3,
  "resources": {
    "VCPU": {
      "amount": 4,
      "free": null,
      "limit": null,
      "stranded": null,
      "usable": 12
    }
  },
  "stopped": "count",
  "trees": {
    "looked_at": 1,
    "most_in_one": 3,
    "with_room": 1
  }
}
`},
		{"--resources VCPU:4 --like compute-1", frame.ExitUsage, `berth: like: "compute-1" (flag --like) is not a provider and a number from 1 to 10000; write PROVIDER:NUMBER such as compute-17:20
`},
		{"--resources VCPU:4 --change VCPU:shade=red", frame.ExitUsage, `berth: change: "VCPU:shade=red" (flag --change) has the unknown setting "shade"; use ratio, reserved, in-tree or member-of
`},
		{"--resources VCPU:4 --change VCPU:in-tree=compute-1", frame.ExitUsage, `berth: change: "VCPU:in-tree=compute-1" (flag --change) has neither ratio nor reserved; write CLASS:SETTING=VALUE,… such as MEMORY_MB:ratio=1.5,in-tree=compute-1
`},
		{"--resources VCPU:4 --count 0", frame.ExitUsage, `berth: count: "0" (flag --count) is not a number from 1 to 1000000; write the number of members
`},
	} {
		got := runCommand(t, environ, append([]string{"capacity", "fits"}, strings.Fields(step.flags)...)...)
		if text := got.stdout + got.stderr; got.code != step.code || text != step.want {
			t.Errorf("%s: exit code %d, want %d:\n%s\nwant\n%s", step.flags, got.code, step.code, text, step.want)
		}
	}
}
