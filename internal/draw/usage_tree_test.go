package draw

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// shownHost is a host with two NUMA nodes, a card below the first, a shared pool, and two consumers.
func shownHost() *client.ShownTree {
	provider := func(n int, name string, parent int, used client.Resources, inventories client.Inventories) client.ShownProvider {
		shown := client.ShownProvider{Node: node(n, name, parent, inventories), Root: id(1), Usages: used}
		shown.Aggregates = []uuid.UUID{id(90)}
		return shown
	}
	pool := provider(9, "pool", 0, client.Resources{"DISK_GB": 50}, client.Inventories{"DISK_GB": record(100)})
	pool.Root, pool.Aggregates = id(9), []uuid.UUID{id(90), id(91)}
	consumer := func(allocations map[uuid.UUID]client.Resources) *client.ShownConsumer {
		return &client.ShownConsumer{Consumer: client.Consumer{Allocations: allocations}, Places: map[uuid.UUID]api.AllocationsOnNamedProvider{}}
	}
	return &client.ShownTree{
		Root: id(1), Sharing: []client.ShownProvider{pool},
		Providers: []client.ShownProvider{
			provider(1, "host", 0, nil, nil), provider(3, "host_numa10", 1, client.Resources{"VCPU": 2}, client.Inventories{"VCPU": overcommitted(5, 1, 1.5)}),
			provider(2, "host_numa2", 1, client.Resources{"VCPU": 3}, client.Inventories{"VCPU": record(4)}), provider(4, "host_gpu", 2, nil, client.Inventories{"VGPU": record(1)}),
		},
		Consumers: map[uuid.UUID]*client.ShownConsumer{
			id(21): consumer(map[uuid.UUID]client.Resources{id(2): {"VCPU": 2}, id(9): {"DISK_GB": 10}, id(99): {"VCPU": 7}}),
			id(20): consumer(map[uuid.UUID]client.Resources{id(2): {"VCPU": 1}}),
		},
	}
}

// described returns the name, depth, closed children and shared aggregates of rows.
func described(rows []UsageRow) (texts []string) {
	for _, row := range rows {
		texts = append(texts, fmt.Sprintf("%s %d %d %d", row.Provider.Name, row.Depth, row.Closed, len(row.Shares)))
	}
	return texts
}

func TestConsole_TreeRows_AreInDepthFirstOrder(t *testing.T) {
	t.Parallel()
	tree := NewUsageTree(shownHost())
	for name, c := range map[string]struct {
		rows []UsageRow
		want []string
	}{
		"whole":    {tree.Rows(uuid.Nil, 4), []string{"host 0 0 0", "host_numa2 1 0 0", "host_gpu 2 0 0", "host_numa10 1 0 0", "pool 0 0 1"}},
		"large":    {tree.Rows(uuid.Nil, 3), []string{"host 0 0 0", "host_numa2 1 1 0", "host_numa10 1 0 0", "pool 0 0 1"}},
		"opened":   {tree.Rows(uuid.Nil, 3, id(2)), []string{"host 0 0 0", "host_numa2 1 0 0", "host_gpu 2 0 0", "host_numa10 1 0 0", "pool 0 0 1"}},
		"consumer": {tree.RowsOf(id(20)), []string{"host 0 0 0", "host_numa2 1 0 0"}},
	} {
		if got := described(c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestConsole_TreeBars_HaveAPieceForEachConsumer(t *testing.T) {
	t.Parallel()
	tree := NewUsageTree(shownHost())
	rows := tree.Rows(id(21), 100)
	for at, want := range map[int]UsageBar{
		1: {Capacity: 4, Pieces: []Piece{{1, Used}, {2, Marked}, {0, Used}}},
		3: {Capacity: 6, Reserved: 1.5, Pieces: []Piece{{2, Used}}},
	} {
		if got := rows[at].Bars["VCPU"]; !reflect.DeepEqual(got, want) {
			t.Errorf("bar of %s = %+v, want %+v", rows[at].Provider.Name, got, want)
		}
	}
	if got, want := rows[4].Bars["DISK_GB"].Pieces, []Piece{{10, Marked}, {40, Used}}; !slices.Equal(got, want) {
		t.Errorf("pieces of the pool = %v, want %v", got, want)
	}
	if got, want := tree.Held(id(21)), map[string]int64{"VCPU": 2, "DISK_GB": 10}; !reflect.DeepEqual(got, want) {
		t.Errorf("held = %v, want %v", got, want)
	}
	if held := tree.Held(id(77)); len(held) != 0 {
		t.Errorf("an unknown consumer holds %v", held)
	}
}

func TestConsole_ClassesOfHosts_ComeFirst(t *testing.T) {
	t.Parallel()
	got := Classes(map[string]bool{"CUSTOM_A10": true, "CUSTOM_A2": true, "DISK_GB": true, "VGPU": true, "VCPU": true, "PCPU": true, "MEMORY_MB": true})
	if want := "VCPU PCPU MEMORY_MB DISK_GB CUSTOM_A2 CUSTOM_A10 VGPU"; strings.Join(got, " ") != want {
		t.Errorf("classes = %q, want %q", got, want)
	}
}

func TestConsole_CSVFormulas_AreQuoted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := CSV(&out, "name,amount", [][]any{{"=1+1", -5}, {"@x", 1.5}, {`a,"b"`, id(1)}, {"", "-"}}); err != nil {
		t.Fatal(err)
	}
	want := "name,amount\n'=1+1,-5\n'@x,1.5\n\"a,\"\"b\"\"\"," + id(1).String() + "\n,'-\n"
	if out.String() != want {
		t.Errorf("CSV = %q, want %q", out.String(), want)
	}
	if rows := NewUsageTree(shownHost()).Inventories(); len(rows) != 4 || len(rows[0]) != len(strings.Split(InventoryHeads, ",")) {
		t.Errorf("inventories = %v", rows)
	}
}
