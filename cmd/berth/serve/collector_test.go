package serve

import (
	"math"
	"testing"
)

func TestSettings_MemoryLimitOfTheControlGroup_LeavesRoom(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, test := range []struct {
		name        string
		group       uint64
		connections int64
		want        int64
	}{
		{"a database elsewhere", 1000 * mib, 0, 900 * mib},
		{"embedded PostgreSQL", 592 * mib, 8, 360 * mib},
		{"embedded PostgreSQL with too many connections", 400 * mib, 100, 90 * mib},
		{"no limit that matters", math.MaxUint64, 0, math.MaxInt64},
	} {
		if got := memoryLimit(test.group, test.connections); got != test.want {
			t.Errorf("%s: memoryLimit(%d, %d) = %d, want %d", test.name, test.group, test.connections, got, test.want)
		}
	}
}
