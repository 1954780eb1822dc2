package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// treePages creates, deletes and re-parents providers while a test pages through the sums by tree.
type treePages struct {
	*bundle
	random *rand.Rand
	// lasting are roots with inventory that stay roots; passing are deleted; children change their trees.
	lasting, passing, children []uuid.UUID
	made                       int
}

// root creates a tree with an inventory and sometimes a child.
func (p *treePages) root() uuid.UUID {
	p.made++
	id := p.provider(fmt.Sprintf("%x root", p.made), nil, map[string]int32{"VCPU": 8})
	if p.random.IntN(2) == 0 {
		p.children = append(p.children, p.provider(fmt.Sprintf("%x child", p.made), &id, map[string]int32{"VCPU": 2, "MEMORY_MB": 16}))
	}
	return id
}

// write makes a random write.
func (p *treePages) write() {
	p.t.Helper()
	ctx := p.t.Context()
	switch p.random.IntN(4) {
	case 0:
		p.made++
		p.passing = append(p.passing, p.provider(fmt.Sprintf("%x passing", p.made), nil, map[string]int32{"VCPU": 8}))
	case 1:
		if len(p.passing) > 0 {
			id := p.passing[0]
			shown, err := p.ProviderShow(ctx, id)
			p.must(err)
			_, err = p.InventoryReplace(ctx, id, shown.Generation, nil, 1)
			p.must(err)
			p.must(p.ProviderDelete(ctx, id, nil))
			p.passing = p.passing[1:]
		}
	case 2: // a child becomes one of another tree, whose page may be over, or a tree of its own, which keeps its old id
		id := p.children[p.random.IntN(len(p.children))]
		shown, err := p.ProviderShow(ctx, id)
		p.must(err)
		change := store.ProviderChange{Name: shown.Name, SetParent: true, MayReparent: true}
		if p.random.IntN(3) > 0 {
			parent := p.lasting[p.random.IntN(len(p.lasting))]
			change.Parent = &parent
		}
		_, err = p.ProviderUpdate(ctx, id, change)
		p.must(err)
	default:
		id := p.lasting[p.random.IntN(len(p.lasting))]
		shown, err := p.ProviderShow(ctx, id)
		p.must(err)
		_, err = p.InventoryReplace(ctx, id, shown.Generation, []store.Inventory{{
			Class: "VCPU", Total: 1 + p.random.Int32N(64), MinUnit: 1, MaxUnit: math.MaxInt32, StepSize: 1, AllocationRatio: 1,
		}}, 1)
		p.must(err)
	}
}

// TestInventory_CapacityOfTreesBetweenWrites_ListsLastingTreesOnce writes between the pages. A tree that exists all the time
// comes exactly once, with each of its classes once, and in the order of the roots.
func TestInventory_CapacityOfTreesBetweenWrites_ListsLastingTreesOnce(t *testing.T) {
	t.Parallel()
	pages := &treePages{bundle: setup(t, 4), random: rand.New(rand.NewPCG(20, 7))}
	for len(pages.lasting) < 25 {
		pages.lasting = append(pages.lasting, pages.root())
	}
	for _, filter := range []store.CapacityFilter{{}, {Classes: []string{"VCPU"}}, {Units: []store.Amount{{Class: "VCPU", Amount: 2}}}} {
		for _, filter.Trees = range []int{1, 2, 7, 1000} {
			filter.AfterRoot = 0
			type row struct {
				tree  uuid.UUID
				class string
			}
			seen, order := map[row]int{}, []uuid.UUID{}
			for number := 0; ; number++ {
				sums, err := pages.CapacityShow(t.Context(), filter)
				pages.must(err)
				for i := range sums.Classes {
					one := row{sums.Classes[i].Tree.UUID, sums.Classes[i].Class}
					if seen[one]++; seen[one] > 1 {
						t.Errorf("%+v: %v came twice", filter, one)
					}
					if one.class == "VCPU" {
						order = append(order, one.tree)
					}
				}
				if sums.LastRoot == nil {
					break
				}
				if *sums.LastRoot <= filter.AfterRoot || number > 1000 {
					t.Fatalf("%+v: the next page begins after %d", filter, *sums.LastRoot)
				}
				filter.AfterRoot = *sums.LastRoot
				if number < 60 { // new trees must not keep the list from ending
					pages.write()
				}
			}
			var listed []uuid.UUID
			for _, id := range order {
				for _, lasting := range pages.lasting {
					if id == lasting {
						listed = append(listed, id)
					}
				}
			}
			if fmt.Sprint(listed) != fmt.Sprint(pages.lasting) {
				t.Errorf("%+v: lasting trees\n%v, want\n%v", filter, listed, pages.lasting)
			}
		}
	}
}
