package combine

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestCombine_Flow_EqualsHallCondition: sources can send their whole amounts if and only if no set of them has more
// than the capacity of the cells that they can send to together.
func TestCombine_Flow_EqualsHallCondition(t *testing.T) {
	t.Parallel()
	var f flow
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 6).Draw(t, "room")
		need := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 6).Draw(t, "need")
		f.reset(len(room))
		f.begin()
		targets := make([]uint, len(need))
		for source := range need {
			targets[source] = rapid.UintRange(0, 1<<len(room)-1).Draw(t, "targets")
			f.source(need[source])
			for set := targets[source]; set != 0; set &= set - 1 {
				cell := bits.TrailingZeros(set)
				f.edge(int32(cell), room[cell])
			}
		}
		want := true
		for sources := range 1 << len(need) {
			sum, cells := int64(0), uint(0)
			for source := range need {
				if sources>>source&1 == 1 {
					sum, cells = sum+need[source], cells|targets[source]
				}
			}
			for ; cells != 0; cells &= cells - 1 {
				sum -= room[bits.TrailingZeros(cells)]
			}
			want = want && sum <= 0
		}
		if got := f.satisfiable(); got != want {
			t.Fatalf("need %v of %v in %b: %t", need, room, targets, got)
		}
	})
}
