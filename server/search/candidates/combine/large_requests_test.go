package combine_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// TestCombine_ManySubtrees_MemoryGrowsLinearly has a set of Subtrees for each requirement. A cell for each requirement
// and set would take 288 MB.
func TestCombine_ManySubtrees_MemoryGrowsLinearly(t *testing.T) { // not parallel: it measures allocations
	const wants, limit = 6000, 32 << 20
	var request combine.Request
	for want := range wants {
		request.Requirements = append(request.Requirements, suffixed(0))
		request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: []int{want, (want + 1) % wants}})
	}
	request.Stop = func() error { return errors.New("first call") }
	tree := devices(1, 1, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	search := combine.NewPlan(request).NewSearch()
	search.Reset(tree)
	search.Next()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Errorf("%d requirements in as many subtrees take %d MB, want at most %d", wants, used>>20, limit>>20)
	}
}

// TestCombine_ManySets_StopCalledAfterFewSteps has so many sets that a step, which looks at all of them, takes as long
// as many other steps.
func TestCombine_ManySets_StopCalledAfterFewSteps(t *testing.T) {
	t.Parallel()
	const wants, sets = 4, 4000
	for _, test := range []struct {
		name string
		add  func(request *combine.Request, one, other int)
	}{
		{"isolation", func(request *combine.Request, one, other int) {
			request.Isolated = append(request.Isolated, []int{one, other})
		}},
		{"subtrees", func(request *combine.Request, one, other int) {
			request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: []int{one, other}})
		}},
		{"subtrees with an outside", func(request *combine.Request, one, other int) {
			request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: []int{one}, Outside: []int{other}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var request combine.Request
			for range wants {
				request.Requirements = append(request.Requirements, suffixed(0))
			}
			for i := range sets {
				test.add(&request, i%2, 1-i%2)
			}
			enough := errors.New("enough")
			request.Stop = func() error { return enough }
			search := combine.NewPlan(request).NewSearch()
			search.Reset(devices(wants, 1, 1))
			for search.Next() {
				continue
			}
			if !errors.Is(search.Err(), enough) || search.Steps() > 50 {
				t.Errorf("error = %v after %d steps, want %v after at most 50", search.Err(), search.Steps(), enough)
			}
		})
	}
}
