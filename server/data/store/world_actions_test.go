package store_test

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/model"
	"github.com/berthd/berth/server/data/store"
)

// worldTally counts the operations of sequences, so that a test can check that each one succeeded.
type worldTally struct {
	mutex             sync.Mutex
	sequences         int
	accepted, refused map[string]int
}

func newWorldTally() *worldTally {
	return &worldTally{accepted: map[string]int{}, refused: map[string]int{}}
}

func (c *worldTally) begun() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sequences++
}

// note counts an operation by its name, or by the rule that it violated.
func (c *worldTally) note(operation string, rule store.Rule) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if rule == "" {
		c.accepted[operation]++
	} else {
		c.refused[operation+" "+string(rule)]++
	}
}

// risen compares the generation that an accepted write returned with the model's.
func (m *worldMachine) risen(t *rapid.T, provider int, err error, after int64) {
	t.Helper()
	if want := m.state.Providers[provider].Generation; err == nil && after != want {
		t.Fatalf("generation = %d, and %d in the model", after, want)
	}
}

func (m *worldMachine) actions(ctx context.Context) map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for _, some := range []map[string]func(*rapid.T){
		m.providerActions(ctx), m.inventoryActions(ctx), m.claimActions(ctx), m.leaseActions(ctx), m.nameActions(ctx), m.memberActions(ctx),
	} {
		maps.Copy(all, some)
	}
	return all
}

func (m *worldMachine) create(ctx context.Context, t *rapid.T, w model.CreateProvider) {
	made, err := m.ProviderCreate(ctx, m.ids[w.At], m.names[w.Name], m.parent(w.Parent))
	m.agree(t, "create provider", w, err)
	if err == nil && made.Root != m.ids[m.state.Root(w.At)] {
		t.Fatalf("root = %s, want %s", made.Root, m.ids[m.state.Root(w.At)])
	}
}

func (m *worldMachine) providerActions(ctx context.Context) map[string]func(*rapid.T) {
	drawName := func(t *rapid.T) int8 { return rapid.Int8Range(0, int8(len(m.names)-1)).Draw(t, "name") }
	return map[string]func(*rapid.T){
		"create provider": func(t *rapid.T) {
			id, name := rapid.IntRange(0, len(m.ids)-1).Draw(t, "id"), drawName(t)
			m.create(ctx, t, model.CreateProvider{At: id, Name: name, Parent: m.drawParent(t)})
		},
		"update provider": func(t *rapid.T) {
			id := m.drawProvider(t)
			w := model.UpdateProvider{
				At: id, Name: drawName(t), Before137: rarely(t, "before 1.37"),
				KeepParent: rapid.IntRange(0, 2).Draw(t, "move") == 0, Parent: model.None,
			}
			if m.exists(id) && rapid.Bool().Draw(t, "same name") {
				w.Name = m.state.Providers[id].Name
			}
			if !w.KeepParent {
				w.Parent = m.drawParent(t)
			}
			_, err := m.ProviderUpdate(ctx, m.ids[id], store.ProviderChange{
				Name: m.names[w.Name], MayReparent: !w.Before137, SetParent: !w.KeepParent, Parent: m.parent(w.Parent),
			})
			m.agree(t, "update provider", w, err)
		},
		"delete provider": func(t *rapid.T) {
			id := m.drawProvider(t)
			m.agree(t, "delete provider", model.DeleteProvider{At: id, Given: model.None}, m.ProviderDelete(ctx, m.ids[id], nil))
		},
	}
}

func (m *worldMachine) replaceInventories(ctx context.Context, t *rapid.T, w model.ReplaceInventories) {
	after, err := m.InventoryReplace(ctx, m.ids[w.At], w.Given, m.records(w.Inventories), w.Least)
	m.agree(t, "replace inventories", w, err)
	m.risen(t, w.At, err, after)
}

func (m *worldMachine) inventoryActions(ctx context.Context) map[string]func(*rapid.T) {
	least := func(t *rapid.T) int32 { return rapid.Int32Range(0, 1).Draw(t, "least capacity") }
	change := func(t *rapid.T, name string, w model.ChangeInventory) {
		var after int64
		var err error
		switch record := inventoryOf(m.classes[w.Class], w.Inventory); w.Method {
		case http.MethodPost:
			after, err = m.InventoryCreate(ctx, m.ids[w.At], nil, record, w.Least)
		case http.MethodPut:
			after, err = m.InventoryUpdate(ctx, m.ids[w.At], w.Given, record, w.Least)
		default:
			after, err = m.InventoryDelete(ctx, m.ids[w.At], nil, record.Class)
		}
		m.agree(t, name, w, err)
		m.risen(t, w.At, err, after)
	}
	return map[string]func(*rapid.T){
		"replace inventories": func(t *rapid.T) {
			id := m.drawProvider(t)
			m.replaceInventories(ctx, t, model.ReplaceInventories{
				At: id, Least: least(t), Given: m.drawGeneration(t, id), Inventories: m.drawInventories(t),
			})
		},
		"create inventory": func(t *rapid.T) {
			change(t, "create inventory", model.ChangeInventory{
				Method: http.MethodPost, At: m.drawProvider(t), Given: model.None, Least: least(t), Inventory: drawInventory(t), Class: m.drawClass(t),
			})
		},
		"update inventory": func(t *rapid.T) {
			id := m.drawProvider(t)
			change(t, "update inventory", model.ChangeInventory{
				Method: http.MethodPut, At: id, Given: m.drawGeneration(t, id), Least: least(t), Inventory: drawInventory(t), Class: m.drawClass(t),
			})
		},
		"delete inventory": func(t *rapid.T) {
			change(t, "delete inventory", model.ChangeInventory{
				Method: http.MethodDelete, At: m.drawProvider(t), Given: model.None, Class: m.drawClass(t),
			})
		},
		"clear inventories": func(t *rapid.T) {
			id := m.drawProvider(t)
			after, err := m.InventoryClear(ctx, m.ids[id], nil)
			m.agree(t, "clear inventories", model.ReplaceInventories{At: id, Given: model.None, IsDelete: true}, err)
			m.risen(t, id, err, after)
		},
	}
}

func (m *worldMachine) claimActions(ctx context.Context) map[string]func(*rapid.T) {
	replace := func(t *rapid.T, name string, most int, isChecked bool) {
		wants, claims := m.drawWants(t, most)
		m.agree(t, name, model.Claim{Wants: wants, IsUnchecked: !isChecked}, m.AllocationReplace(ctx, claims, isChecked))
	}
	// This operation is twice in the table, so that it is drawn twice as often.
	put := func(t *rapid.T) { replace(t, "put allocations", 1, rapid.Bool().Draw(t, "checked")) }
	return map[string]func(*rapid.T){
		"put allocations": put, "put allocations again": put,
		"post allocations": func(t *rapid.T) { replace(t, "post allocations", 3, true) },
		"delete allocations": func(t *rapid.T) {
			consumer := rapid.IntRange(0, len(m.consumers)-1).Draw(t, "consumer")
			existed, err := m.AllocationDelete(ctx, m.consumers[consumer], nil)
			answer := m.refusal(nil, err)
			if m.tally.note("delete allocations", ""); err == nil && !existed {
				m.tally.note("delete allocations", "of no consumer")
				answer.Reason = model.NoConsumer
			}
			m.judge(t, model.DeleteAllocations{Consumer: consumer}, answer)
		},
		"reshape": func(t *rapid.T) {
			var w model.Reshape
			var shapes []store.ReshapedProvider
			present := numbers(len(m.ids), m.exists)
			if len(present) == 0 || rarely(t, "unknown providers") {
				present = numbers(len(m.ids), always)
			}
			for _, id := range rapid.Permutation(present).Draw(t, "providers")[:rapid.IntRange(1, min(3, len(present))).Draw(t, "shapes")] {
				shape := model.Shape{At: id, Given: m.drawGeneration(t, id), Inventories: m.drawInventories(t)}
				w.Shapes = append(w.Shapes, shape)
				shapes = append(shapes, store.ReshapedProvider{Provider: m.ids[id], Generation: shape.Given, Records: m.records(shape.Inventories)})
			}
			var claims []store.Claim
			w.Wants, claims = m.drawWants(t, 3)
			m.agree(t, "reshape", w, m.Reshape(ctx, shapes, claims))
		},
	}
}

func (m *worldMachine) nameActions(ctx context.Context) map[string]func(*rapid.T) {
	customClass := func(t *rapid.T, label string) int {
		if rarely(t, "standard "+label) {
			return 0
		}
		return rapid.IntRange(standardClasses, len(m.classes)-1).Draw(t, label)
	}
	made := func(t *rapid.T, name string, w model.Operation, exists, created bool, err error) {
		if created == exists {
			t.Fatalf("%s: created: got %v, %v, exists in the model: %v", name, created, err, exists)
		}
		m.agree(t, name, w, err)
	}
	return map[string]func(*rapid.T){
		"make trait": func(t *rapid.T) {
			trait := rapid.IntRange(standardTraits, len(m.traits)-1).Draw(t, "trait")
			created, _, err := m.TraitEnsure(ctx, m.traits[trait])
			made(t, "make trait", model.CreateTrait{Trait: trait}, m.hasTrait(trait), created, err)
		},
		"delete trait": func(t *rapid.T) {
			trait := rapid.IntRange(0, len(m.traits)-1).Draw(t, "trait")
			w := model.DeleteTrait{Trait: trait, IsStandard: trait < standardTraits}
			m.agree(t, "delete trait", w, m.TraitDelete(ctx, m.traits[trait]))
		},
		"make class": func(t *rapid.T) {
			class := customClass(t, "class")
			created, err := m.ResourceClassCreate(ctx, m.classes[class])
			made(t, "make class", model.CreateClass{Class: class}, m.hasClass(class), created, err)
		},
		"rename class": func(t *rapid.T) {
			w := model.RenameClass{Class: customClass(t, "class"), To: customClass(t, "name")}
			w.IsStandard = w.Class < standardClasses
			m.agree(t, "rename class", w, m.ResourceClassRename(ctx, m.classes[w.Class], m.classes[w.To]))
		},
		"delete class": func(t *rapid.T) {
			class := customClass(t, "class")
			w := model.DeleteClass{Class: class, IsStandard: class < standardClasses}
			m.agree(t, "delete class", w, m.ResourceClassDelete(ctx, m.classes[class]))
		},
	}
}

func (m *worldMachine) memberActions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"replace traits": func(t *rapid.T) {
			id := m.drawProvider(t)
			w := model.ReplaceTraits{At: id, Given: m.drawGeneration(t, id)}
			names := []string{} // nil is not the empty set
			for _, trait := range rapid.SliceOfN(rapid.Custom(m.drawTrait), 0, 3).Draw(t, "traits") {
				w.Traits |= 1 << trait
				names = append(names, m.traits[trait])
			}
			after, _, err := m.ProviderTraitReplace(ctx, m.ids[id], w.Given, names)
			m.agree(t, "replace traits", w, err)
			if len(names) > 0 { // the result has one row for each of them
				m.risen(t, id, err, after)
			}
		},
		"clear traits": func(t *rapid.T) {
			id := m.drawProvider(t)
			m.agree(t, "clear traits", model.ReplaceTraits{At: id, Given: model.None}, m.ProviderTraitClear(ctx, m.ids[id], nil))
		},
		"replace aggregates": func(t *rapid.T) {
			id := m.drawProvider(t)
			w := model.ReplaceAggregates{At: id, Given: m.drawGeneration(t, id)}
			known := &w.Given
			if rarely(t, "before 1.19") {
				w.Given, known = model.None, nil
			}
			aggregates := []uuid.UUID{} // nil is not the empty set
			for _, aggregate := range rapid.SliceOfN(rapid.IntRange(0, len(m.aggregates)-1), 0, 3).Draw(t, "aggregates") {
				w.Aggregates |= 1 << aggregate
				aggregates = append(aggregates, m.aggregates[aggregate])
			}
			after, err := m.ProviderAggregateReplace(ctx, m.ids[id], known, aggregates)
			m.agree(t, "replace aggregates", w, err)
			m.risen(t, id, err, after)
		},
	}
}

func (m *worldMachine) drawTrait(t *rapid.T) int {
	return anyOf(t, numbers(len(m.traits), m.hasTrait), numbers(len(m.traits), always), "trait")
}
