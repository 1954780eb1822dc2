package bruteforce_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server/explain"
)

var emptyCount = regexp.MustCompile(`berth_allocation_candidates_empty_total\{reason="(\w+)"\} (\d+)`)

// emptyCounts returns the numbers of empty results by reason, as texts.
func (b *bundle) emptyCounts(setting int) map[string]string {
	counts := map[string]string{}
	page := b.request(setting, http.MethodGet, "/metrics", "placement 1.39", "").Body.String()
	for _, line := range emptyCount.FindAllStringSubmatch(page, -1) {
		counts[line[1]] = line[2]
	}
	return counts
}

// TestCandidates_RandomEmptyResults_CountedByReason compares the reasons that a server counts with those of the
// explanations. Only one may differ: the search does not always know that trees have a provider for each group, and then
// says no_tree.
func TestCandidates_RandomEmptyResults_CountedByReason(t *testing.T) {
	t.Parallel()
	server, seen := setup(t), map[explain.Reason]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds.Draw(t, "deployment")
		if err := server.load(w.Deployment); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		for range questionsPerDeployment {
			q := explainable(w, searchMinors).Draw(t, "question")
			explained := w.Explain(q.asked(), q.minor)
			if explained == nil || explained.Reason == explain.Fits {
				continue
			}
			before := server.emptyCounts(q.setting)
			server.request(q.setting, http.MethodGet, "/allocation_candidates?"+strings.ReplaceAll(q.asked(), " ", "+"), explainVersionOf(q.asked()), "")
			for reason, count := range server.emptyCounts(q.setting) {
				if before[reason] == count {
					continue
				}
				seen[explain.Reason(reason)]++
				isUnknown := explained.Reason == explain.Together && explain.Reason(reason) == explain.NoTree
				if explain.Reason(reason) != explained.Reason && !isUnknown {
					t.Fatalf("%#v\n%s\nis counted as %s, and explained as %s", w, bruteforce.Expand(q.query), reason, explained.Reason)
				}
			}
		}
	})
	t.Log(seen)
	if seen[explain.NoTree] > 1000 && seen[explain.Together] == 0 {
		t.Errorf("no result is counted as together: %v", seen)
	}
}
