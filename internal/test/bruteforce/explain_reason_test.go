package bruteforce_test

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/search/explain"
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

// reasonLog keeps the reason of the last request line.
type reasonLog struct {
	slog.Handler
	last atomic.Value
}

func (l *reasonLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *reasonLog) Handle(_ context.Context, line slog.Record) error {
	line.Attrs(func(one slog.Attr) bool {
		if one.Key == "reason" {
			l.last.Store(one.Value.String())
		}
		return true
	})
	return nil
}

// TestCandidates_RandomEmptyResults_CountedByReason compares the reasons in the log of a server with those of the
// explanations, and the labels that it counts with what would fit in an empty cloud. Only one reason may differ: the search
// does not always know that trees have a provider for each group, and then says no_tree. The label is then tree.
func TestCandidates_RandomEmptyResults_CountedByReason(t *testing.T) {
	t.Parallel()
	log := &reasonLog{Handler: slog.DiscardHandler}
	on := setupWith(t, func(options *server.Options) { options.Log, options.AccessLog = slog.New(log), true })
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds.Draw(t, "deployment")
		if err := on.load(w.Deployment); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		for range questionsPerDeployment {
			q := explainable(w, searchMinors).Draw(t, "question")
			explained := w.Explain(q.asked(), q.minor)
			if explained == nil || explained.Reason == explain.Fits {
				continue
			}
			before := on.emptyCounts(q.setting)
			on.request(q.setting, http.MethodGet, "/allocation_candidates?"+strings.ReplaceAll(q.asked(), " ", "+"), explainVersionOf(q.asked()), "")
			for label, count := range on.emptyCounts(q.setting) {
				if before[label] == count {
					continue
				}
				reason, _ := log.last.Load().(string)
				seen[reason+" "+label]++
				isUnknown := explained.Reason == explain.Together && explain.Reason(reason) == explain.NoTree
				if explain.Reason(reason) != explained.Reason && !isUnknown {
					t.Fatalf("%#v\n%s\nis logged as %s, and explained as %s", w, bruteforce.Expand(q.query), reason, explained.Reason)
				}
				if labels := labelsOf(w, q, explained); !slices.Contains(labels, label) {
					t.Fatalf("%#v\n%s\nis counted as %s, want one of %s; %s", w, bruteforce.Expand(q.query), label, labels, explained.Summary)
				}
			}
		}
	})
	t.Log(seen)
	if seen["no_tree full"]+seen["no_tree tree"] > 1000 && seen["together full"]+seen["together tree"] == 0 {
		t.Errorf("no result is counted as together: %v", seen)
	}
}

// labelsOf returns the labels that an empty result can have: tree is also that of a search that ran out of time.
func labelsOf(w world, q question, explained *explain.Explanation) []string {
	switch explained.Reason {
	case explain.InTree:
		return []string{"tree"}
	case explain.Root, explain.Trait, explain.Aggregate:
		return []string{"typo"}
	case explain.Amount:
		at := slices.IndexFunc(explained.Facts, func(f explain.Fact) bool { return f.WithRoom != nil && *f.WithRoom == 0 })
		switch fact := &explained.Facts[at]; {
		case fact.Providers == 0:
			return []string{"typo"}
		case slices.ContainsFunc(explained.Conflicts, func(c explain.Conflict) bool {
			return c.Conflict == "amount_too_large" && c.Name == fact.Name && c.Amount == fact.Amount
		}):
			return []string{"never"}
		}
		return []string{"full"}
	}
	empty := &bruteforce.Deployment{Aggregates: w.Aggregates}
	for _, provider := range w.Providers {
		free := *provider
		free.Used = nil
		empty.Providers = append(empty.Providers, &free)
	}
	if fitting := empty.Explain(q.asked(), q.minor); fitting != nil && fitting.Reason == explain.Fits {
		return []string{"full", "tree"}
	}
	return []string{"trait", "aggregate", "tree"}
}
