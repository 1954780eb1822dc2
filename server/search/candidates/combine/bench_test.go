package combine_test

import (
	"testing"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// measured is a request, a tree, and a number of solutions to find.
type measured struct {
	name    string
	request combine.Request
	tree    *combine.Tree
	limit   int
}

// measurements are the cases of the benchmark and of the test of heap allocations.
func measurements() []measured {
	isolated := func(request combine.Request) combine.Request {
		isolateAll(&request)
		return request
	}
	request, tree := flat()
	return []measured{
		{"flat provider, 3 requirements", request, tree, 2},
		{"8 isolated on 8 devices, first 1000", isolated(groups(8, 8)), devices(8, 8, 1), 1000},
		{"16 isolated on 16 devices, first 1000", isolated(groups(16, 16)), devices(16, 16, 1), 1000},
		{"9 isolated on 8 devices, none", isolated(groups(9, 9)), devices(8, 9, 1), 1},
		{"16 different on 16 devices of one unit, first 1000", groups(16, 16), devices(16, 16, 1), 1000},
		{"16 equal on 8 devices of two units, first 1000", groups(16, 1), devices(8, 1, 2), 1000},
		{"2 NUMA nodes of 4 with 2 functions each of 4, first 1000", pairs(2), numa(4, 4), 1000},
		{"the same, isolated", isolated(pairs(2)), numa(4, 4), 1000},
		{"2 isolated NUMA nodes of 40 with 2 functions each of 40, first 1000", isolated(pairs(2)), numa(40, 40), 1000},
	}
}

// BenchmarkSearch measures one Reset and all calls of Next for the number of solutions.
func BenchmarkSearch(b *testing.B) {
	for _, m := range measurements() {
		b.Run(m.name, func(b *testing.B) {
			search := combine.NewPlan(m.request).NewSearch()
			found := first(search, m.tree, m.limit)
			b.ReportAllocs()
			for b.Loop() {
				first(search, m.tree, m.limit)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*max(found, 1)), "ns/solution")
			b.ReportMetric(float64(search.Steps()), "steps")
		})
	}
}

// TestCombine_SecondTree_NoHeapAllocations is not parallel: heap allocations are counted for the whole process.
func TestCombine_SecondTree_NoHeapAllocations(t *testing.T) {
	for _, m := range measurements() {
		search := combine.NewPlan(m.request).NewSearch()
		if n := testing.AllocsPerRun(10, func() { first(search, m.tree, m.limit) }); n != 0 {
			t.Errorf("%s: allocations = %v, want 0", m.name, n)
		}
	}
}
