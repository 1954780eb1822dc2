package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/client"
)

func TestCLI_TreeCapacity_MatchesServer(t *testing.T) {
	t.Parallel()
	for want, record := range map[int64]client.InventoryRecord{
		8:             {Total: 8},
		120:           overcommitted(32, 2, 4),
		4:             overcommitted(3, 0, 1.5), // whole units only
		0:             overcommitted(5, 8, 1),
		math.MaxInt64: overcommitted(math.MaxInt32, 0, math.MaxFloat32),
	} {
		if got := (inventoryUsage{record: record}).capacity(); got != want {
			t.Errorf("capacity of %+v = %d, want %d", record, got, want)
		}
	}
}

func TestCLI_TreeBar_FullOnlyAtCapacity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		used  int64
		cells int
		level level
	}{
		{-3, 0, low}, {0, 0, low}, {1, 1, low}, {500, 5, low}, {699, 7, low}, {700, 7, middle}, {900, 9, high}, {999, 9, high}, {1000, 10, high}, {1001, 10, over},
	} {
		h := inventoryUsage{record: client.InventoryRecord{Total: 1000}, used: test.used, counted: true}
		if h.cells(10) != test.cells || h.level() != test.level {
			t.Errorf("%d of 1000: %d of 10 cells at level %d, want %d at level %d", test.used, h.cells(10), h.level(), test.cells, test.level)
		}
	}
}

func TestCLI_TreeAmounts_ShownWithUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class   string
		used    int64
		total   int32
		counted bool
		want    string
	}{
		{"MEMORY_MB", 4096, 65536, true, "4/64 GiB"},
		{"MEMORY_MB", 1536, 65536, false, "64 GiB"},
		{"MEMORY_MB", 1, 1572864, true, "<0.01/1.5 TiB"},
		{"NUMA_MEMORY_MB", 100, 512, true, ""},
		{"DISK_GB", 100, 999, true, ""},
		{"DISK_GB", 1000, 10240, true, "0.98/10 TiB"},
		{"CUSTOM_SCRATCH_GB", 0, 2048, true, "0/2 TiB"},
		{"NET_BW_EGR_KILOBIT_PER_SEC", 500_000, 10_000_000, true, "0.5/10 Gbit/s"},
		{"NET_PACKET_RATE_KILOPACKET_PER_SEC", 1500, 3000, true, "1.5/3 Mpacket/s"},
		{"VCPU", 4096, 65536, true, ""},
	} {
		h := inventoryUsage{class: test.class, used: test.used, counted: test.counted, record: client.InventoryRecord{Total: test.total}}
		if got := h.readable(); got != test.want {
			t.Errorf("%d of %d %s = %q, want %q", test.used, test.total, test.class, got, test.want)
		}
	}
}

func TestCLI_TreeNames_SortedNaturally(t *testing.T) {
	t.Parallel()
	want := []string{"", "a", "compute-1", "compute-1_numa0", "compute-02", "compute-2", "compute-10", "compute-x", "rack1-9", "rack1-10", "rack2-1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareNames)
	if !slices.Equal(got, want) {
		t.Errorf("sorted names = %q, want %q", got, want)
	}
}

func TestCLI_TreeLongLists_ShowOmittedCount(t *testing.T) {
	t.Parallel()
	items := strings.Fields(strings.Repeat("CUSTOM_TRAIT ", 1200))
	got := shorten(items, 40, 2)
	if last := got[len(got)-1]; last != "+1,195 more" || len(wrap(got, 40, " ")) != 2 {
		t.Errorf("%d rows, want 2 that end with +1,195 more: %q", len(wrap(got, 40, " ")), got)
	}
	if got := shorten(items[:6], 40, 2); len(got) != 6 {
		t.Errorf("items = %q, want all six", got)
	}
}

// anyForest draws a forest from few names and parents, so that two forests overlap and some nodes form parent cycles.
func anyForest(t *rapid.T) Forest {
	var forest Forest
	for n := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		one := node(n+1, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), rapid.IntRange(0, 7).Draw(t, "parent"), client.Inventories{})
		for _, class := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"VCPU", "VGPU", "DISK_GB"}), rapid.ID).Draw(t, "classes") {
			one.Inventories[class] = record(rapid.Int32Range(1, 3).Draw(t, "total"))
		}
		one.Traits = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"X", "Y"}), rapid.ID).Draw(t, "traits")
		if rapid.Bool().Draw(t, "there") {
			forest.Nodes = append(forest.Nodes, one)
		}
	}
	return forest
}

func TestCLI_DiffReversed_IsInverse(t *testing.T) {
	t.Parallel()
	opposite := map[string]string{Added: Removed, Removed: Added, Changed: Changed}
	rapid.Check(t, func(t *rapid.T) {
		x, y := anyForest(t), anyForest(t)
		if !Compare(x, x).Empty() {
			t.Fatal("a forest differs from itself")
		}
		seen := map[uuid.UUID]ProviderChange{}
		for _, change := range Compare(x, y).Providers {
			seen[change.UUID] = change
		}
		back := Compare(y, x).Providers
		if len(back) != len(seen) {
			t.Fatalf("%d changes from x to y, %d from y to x", len(seen), len(back))
		}
		for _, change := range back {
			there := seen[change.UUID]
			if opposite[change.Change] != there.Change || fmt.Sprint(change.Traits.Added) != fmt.Sprint(there.Traits.Removed) ||
				len(change.Inventories) != len(there.Inventories) {
				t.Fatalf("from x to y: %+v, from y to x: %+v", there, change)
			}
		}
		if lines := strings.Count(drawnText(t, x, Style{}), " gen "); lines != len(x.Nodes) {
			t.Fatalf("%d of %d providers drawn", lines, len(x.Nodes))
		}
	})
}
