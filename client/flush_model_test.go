package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// randomEditor edits one tree at random. Its numbers are of one drawing only, so that
// many drawings can be on one server.
type randomEditor struct {
	tree    *ProviderTree
	drawing int
	made    int
}

func (s *randomEditor) root() string { return fmt.Sprintf("root-%d", s.drawing) }

// member draws a member of the tree; anybody but the root if that is asked for.
func (s *randomEditor) member(t *rapid.T, butRoot bool) (Node, bool) {
	ids, err := s.tree.UUIDs(s.root())
	if err != nil {
		t.Fatal(err)
	}
	if butRoot {
		ids = ids[1:]
	}
	if len(ids) == 0 {
		return Node{}, false
	}
	node, err := s.tree.Provider(rapid.SampledFrom(ids).Draw(t, "member").String())
	if err != nil {
		t.Fatal(err)
	}
	return node, true
}

// name is one that was not used before: the server refuses to swap names.
func (s *randomEditor) name() string {
	s.made++
	return fmt.Sprintf("p-%d-%d", s.drawing, s.made)
}

// edit does one random thing.
func (s *randomEditor) edit(t *rapid.T) error {
	what := rapid.SampledFrom([]string{"child", "child", "remove", "rename", "move", "inventory", "traits", "aggregates"}).Draw(t, "what")
	node, found := s.member(t, what == "remove" || what == "move")
	if !found {
		return nil
	}
	ref := node.UUID.String()
	switch what {
	case "child":
		_, err := s.tree.NewChild(s.name(), ref, uuid.Nil)
		return err
	case "remove":
		return s.tree.Remove(ref)
	case "rename":
		if node.Parent == uuid.Nil {
			return nil
		}
		return s.tree.Rename(ref, s.name())
	case "move":
		above, _ := s.member(t, false)
		below, err := s.tree.UUIDs(ref)
		if err != nil || slices.Contains(below, above.UUID) {
			return err
		}
		return s.tree.Move(ref, above.UUID.String())
	case "inventory":
		inventories := Inventories{}
		classes := rapid.SampledFrom([]string{"VCPU", "PCPU", "CUSTOM_X", "CUSTOM_Y"})
		for _, class := range rapid.SliceOfNDistinct(classes, 0, 3, rapid.ID).Draw(t, "classes") {
			record := InventoryRecord{Total: rapid.Int32Range(1, 9).Draw(t, "total")}
			if rapid.Bool().Draw(t, "with ratio") {
				record.AllocationRatio = new(rapid.Float64Range(0.1, 20).Draw(t, "ratio"))
			}
			inventories[class] = record
		}
		_, err := s.tree.UpdateInventory(ref, inventories, nil)
		return err
	case "traits":
		_, err := s.tree.UpdateTraits(ref, rapid.SliceOfN(rapid.SampledFrom(
			[]string{"HW_NUMA_ROOT", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C"}), 0, 3).Draw(t, "traits"), nil)
		return err
	}
	_, err := s.tree.UpdateAggregates(ref, ids(rapid.SliceOfN(rapid.IntRange(900, 903), 0, 3).Draw(t, "aggregates")...), nil)
	return err
}

// TestClient_RandomTreeEdits_ReachServer, and once it is there, it is not sent
// again. A client that never saw the drawing reads it from there.
func TestClient_RandomTreeEdits_ReachServer(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c, ctx := cloudOf(), t.Context()
		drawings := 0
		rapid.Check(t, func(t *rapid.T) {
			drawings++
			s := &randomEditor{drawing: drawings}
			host := uuid.New()
			load := func(from *Client) *ProviderTree {
				tree, err := from.GetProviderTreeAndEnsureRoot(ctx, host, s.root(), uuid.Nil)
				if err != nil {
					t.Fatal(err)
				}
				return tree
			}
			c.client.ClearCache()
			s.tree = load(c.client)
			for range rapid.IntRange(1, 4).Draw(t, "passes") {
				for range rapid.IntRange(0, 8).Draw(t, "edits") {
					if err := s.edit(t); err != nil {
						t.Fatal(err)
					}
				}
				var allocations Allocations
				if rapid.Bool().Draw(t, "as a reshape") {
					allocations = Allocations{}
				}
				if err := c.client.UpdateFromProviderTree(ctx, s.tree, allocations); err != nil {
					t.Fatal(err)
				}
				c.operator.ClearCache()
				for _, tree := range []*ProviderTree{load(c.client), load(c.operator)} {
					if difference := compareTrees(s.tree, tree); difference != nil {
						t.Fatal(difference)
					}
				}
				c.requests()
				if err := c.client.UpdateFromProviderTree(ctx, s.tree, allocations); err != nil {
					t.Fatal(err)
				}
				if sent := c.requests(); len(sent) > 0 {
					t.Fatalf("the same tree again sends %q", sent)
				}
			}
		})
		dbtest.Audit(t, c.db)
	})
}

// compareTrees says in what the tree that is there differs from the one drawn.
func compareTrees(drawn, there *ProviderTree) error {
	wanted, present := drawn.Nodes(), there.Nodes()
	if len(wanted) != len(present) {
		return fmt.Errorf("there are %d providers, want %d", len(present), len(wanted))
	}
	for i, node := range wanted {
		found := present[i]
		if found.UUID != node.UUID || found.Name != node.Name || found.Parent != node.Parent ||
			node.Inventories.differFrom(found.Inventories) ||
			!slices.Equal(found.Traits, node.Traits) || !slices.Equal(found.Aggregates, node.Aggregates) {
			return errors.Join(errors.New("a provider is not as it was drawn"), fmt.Errorf("%+v", found), fmt.Errorf("%+v", node))
		}
	}
	return nil
}
