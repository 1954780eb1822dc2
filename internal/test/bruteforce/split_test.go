package bruteforce_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// wideTree returns a tree with 17 providers of VCPU=1: one more than a split can use.
func wideTree(t *testing.T) *bruteforce.Deployment {
	t.Helper()
	var text strings.Builder
	text.WriteString("root\n")
	for i := range 17 {
		fmt.Fprintf(&text, "  n%d  VCPU=1\n", i)
	}
	return mustParse(t, text.String())
}

// wideSplits maps queries of wideTree to their number of candidates.
var wideSplits = map[string]int{
	"resources=VCPU:16&can_split=VCPU": 17,
	"resources=VCPU:17&can_split=VCPU": 0,
}

func TestCandidates_BruteforceWideSplit_UsesAtMost16Providers(t *testing.T) {
	t.Parallel()
	for query, want := range wideSplits {
		if got := len(wideTree(t).Ask(query, bruteforce.Berth).Candidates); got != want {
			t.Errorf("%s: candidates = %d, want %d", query, got, want)
		}
	}
}
