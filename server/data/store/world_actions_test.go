package store_test

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"pgregory.net/rapid"

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

// agree compares the results of the database and of the model for a write.
func (m *worldMachine) agree(t *rapid.T, operation string, got error, want store.Rule) {
	t.Helper()
	same(t, got, want)
	m.tally.note(operation, want)
}

// risen compares the generation that an accepted write returned with the model's.
func (m *worldMachine) risen(t *rapid.T, provider uuid.UUID, err error, after int64) {
	t.Helper()
	if want := m.model.providers[provider]; err == nil && after != want.generation {
		t.Fatalf("generation = %d, and %d in the model", after, want.generation)
	}
}

func (m *worldMachine) actions(ctx context.Context) map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for _, some := range []map[string]func(*rapid.T){
		m.providerActions(ctx), m.inventoryActions(ctx), m.claimActions(ctx), m.nameActions(ctx), m.memberActions(ctx),
	} {
		maps.Copy(all, some)
	}
	return all
}

func (m *worldMachine) providerActions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create provider": func(t *rapid.T) {
			id, name := rapid.SampledFrom(m.ids).Draw(t, "id"), rapid.SampledFrom(m.names).Draw(t, "name")
			parent := m.parent(t)
			made, err := m.ProviderCreate(ctx, id, name, parent)
			m.agree(t, "create provider", err, m.model.createProvider(id, name, parent))
			if err == nil && made.Root != m.model.root(id) {
				t.Fatalf("root = %s, want %s", made.Root, m.model.root(id))
			}
		},
		"update provider": func(t *rapid.T) {
			id := m.provider(t)
			change := store.ProviderChange{
				Name: rapid.SampledFrom(m.names).Draw(t, "name"), MayReparent: !rarely(t, "before 1.37"),
				SetParent: rapid.IntRange(0, 2).Draw(t, "move") > 0,
			}
			if of := m.model.sites[id]; of != nil && rapid.Bool().Draw(t, "same name") {
				change.Name = of.name
			}
			if change.SetParent {
				change.Parent = m.parent(t)
			}
			_, err := m.ProviderUpdate(ctx, id, change)
			m.agree(t, "update provider", err, m.model.updateProvider(id, change))
		},
		"delete provider": func(t *rapid.T) {
			id := m.provider(t)
			m.agree(t, "delete provider", m.ProviderDelete(ctx, id, nil), m.model.deleteProvider(id))
		},
	}
}

func (m *worldMachine) inventoryActions(ctx context.Context) map[string]func(*rapid.T) {
	least := func(t *rapid.T) int32 { return rapid.Int32Range(0, 1).Draw(t, "least capacity") }
	return map[string]func(*rapid.T){
		"replace inventories": func(t *rapid.T) {
			id, least := m.provider(t), least(t)
			generation, records := m.generation(t, id), m.records(t)
			after, err := m.InventoryReplace(ctx, id, generation, records, least)
			m.agree(t, "replace inventories", err, m.model.replaceInventories(id, generation, records, float64(least)))
			m.risen(t, id, err, after)
		},
		"create inventory": func(t *rapid.T) {
			id, least, record := m.provider(t), least(t), m.record(t, m.class(t))
			after, err := m.InventoryCreate(ctx, id, nil, record, least)
			m.agree(t, "create inventory", err, m.model.createInventory(id, record, float64(least)))
			m.risen(t, id, err, after)
		},
		"update inventory": func(t *rapid.T) {
			id, least, record := m.provider(t), least(t), m.record(t, m.class(t))
			generation := m.generation(t, id)
			after, err := m.InventoryUpdate(ctx, id, generation, record, least)
			m.agree(t, "update inventory", err, m.model.updateInventory(id, generation, record, float64(least)))
			m.risen(t, id, err, after)
		},
		"delete inventory": func(t *rapid.T) {
			id, class := m.provider(t), m.class(t)
			after, err := m.InventoryDelete(ctx, id, nil, class)
			m.agree(t, "delete inventory", err, m.model.deleteInventory(id, class))
			m.risen(t, id, err, after)
		},
		"clear inventories": func(t *rapid.T) {
			id := m.provider(t)
			after, err := m.InventoryClear(ctx, id, nil)
			m.agree(t, "clear inventories", err, m.model.clearInventories(id))
			m.risen(t, id, err, after)
		},
	}
}

func (m *worldMachine) claimActions(ctx context.Context) map[string]func(*rapid.T) {
	replace := func(t *rapid.T, operation string, claims []store.Claim, checked bool) {
		err := m.AllocationReplace(ctx, claims, checked)
		m.agree(t, operation, err, m.model.claim(claims, checked))
		if err == nil {
			m.model.noteOwners(claims)
		}
	}
	// This operation is twice in the table, so that it is drawn twice as often.
	put := func(t *rapid.T) { replace(t, "put allocations", m.claims(t, 1), rapid.Bool().Draw(t, "checked")) }
	return map[string]func(*rapid.T){
		"put allocations": put, "put allocations again": put,
		"post allocations": func(t *rapid.T) { replace(t, "post allocations", m.claims(t, 3), true) },
		"delete allocations": func(t *rapid.T) {
			consumer := rapid.SampledFrom(m.consumers).Draw(t, "consumer")
			existed, err := m.AllocationDelete(ctx, consumer, nil)
			if want := m.model.drop(consumer); err != nil || existed != want {
				t.Fatalf("deleted: got %v, %v, want %v", existed, err, want)
			}
			delete(m.model.owners, consumer)
			if m.tally.note("delete allocations", ""); !existed {
				m.tally.note("delete allocations", "of no consumer")
			}
		},
		"reshape": func(t *rapid.T) {
			var shapes []store.ReshapedProvider
			present := slices.SortedFunc(maps.Keys(m.model.sites), compareUUIDs)
			if len(present) == 0 || rarely(t, "unknown providers") {
				present = m.ids
			}
			for _, id := range rapid.Permutation(present).Draw(t, "providers")[:rapid.IntRange(1, min(3, len(present))).Draw(t, "shapes")] {
				shapes = append(shapes, store.ReshapedProvider{Provider: id, Generation: m.generation(t, id), Records: m.records(t)})
			}
			claims := m.claims(t, 3)
			err := m.Reshape(ctx, shapes, claims)
			m.agree(t, "reshape", err, m.model.reshape(shapes, claims))
			if err == nil {
				m.model.noteOwners(claims)
			}
		},
	}
}

func (m *worldMachine) nameActions(ctx context.Context) map[string]func(*rapid.T) {
	customClass := func(t *rapid.T, label string) string {
		if rarely(t, "standard "+label) {
			return "VCPU"
		}
		return rapid.SampledFrom(m.classes[2:]).Draw(t, label)
	}
	return map[string]func(*rapid.T){
		"make trait": func(t *rapid.T) {
			name := rapid.SampledFrom(m.traits[len(standardTraits):]).Draw(t, "trait")
			created, _, err := m.TraitEnsure(ctx, name)
			if err != nil || created == m.model.traits[name] {
				t.Fatalf("created: got %v, %v, exists in the model: %v", created, err, m.model.traits[name])
			}
			m.model.traits[name] = true
			m.tally.note("make trait", "")
		},
		"delete trait": func(t *rapid.T) {
			name := rapid.SampledFrom(m.traits).Draw(t, "trait")
			m.agree(t, "delete trait", m.TraitDelete(ctx, name), m.model.deleteTrait(name))
		},
		"make class": func(t *rapid.T) {
			name := customClass(t, "class")
			created, err := m.ResourceClassCreate(ctx, name)
			if err != nil || created == m.model.classes[name] {
				t.Fatalf("created: got %v, %v, exists in the model: %v", created, err, m.model.classes[name])
			}
			m.model.classes[name] = true
			m.tally.note("make class", "")
		},
		"rename class": func(t *rapid.T) {
			name, newName := customClass(t, "class"), customClass(t, "name")
			m.agree(t, "rename class", m.ResourceClassRename(ctx, name, newName), m.model.renameClass(name, newName))
		},
		"delete class": func(t *rapid.T) {
			name := customClass(t, "class")
			m.agree(t, "delete class", m.ResourceClassDelete(ctx, name), m.model.deleteClass(name))
		},
	}
}

func (m *worldMachine) memberActions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"replace traits": func(t *rapid.T) {
			id := m.provider(t)
			generation := m.generation(t, id)
			names := rapid.SliceOfN(rapid.Custom(m.presentTrait), 0, 3).Draw(t, "traits")
			after, _, err := m.ProviderTraitReplace(ctx, id, generation, names)
			m.agree(t, "replace traits", err, m.model.replaceTraits(id, &generation, names))
			if len(names) > 0 { // the result has one row for each of them
				m.risen(t, id, err, after)
			}
		},
		"clear traits": func(t *rapid.T) {
			id := m.provider(t)
			m.agree(t, "clear traits", m.ProviderTraitClear(ctx, id, nil), m.model.replaceTraits(id, nil, nil))
		},
		"replace aggregates": func(t *rapid.T) {
			id := m.provider(t)
			known := at(m.generation(t, id))
			if rarely(t, "before 1.19") {
				known = nil
			}
			aggregates := rapid.SliceOfN(rapid.SampledFrom(m.aggregates), 0, 3).Draw(t, "aggregates")
			after, err := m.ProviderAggregateReplace(ctx, id, known, aggregates)
			m.agree(t, "replace aggregates", err, m.model.replaceAggregates(id, known, aggregates))
			m.risen(t, id, err, after)
		},
	}
}

func (m *worldMachine) presentTrait(t *rapid.T) string {
	there := slices.DeleteFunc(slices.Clone(m.traits), func(name string) bool { return !standardTraits[name] && !m.model.traits[name] })
	return anyOf(t, there, m.traits, "trait")
}
