package store_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/store"
)

// worldMachine runs the same operations on the database and on a model of all of it. The names that it may use are
// fixed when it begins; the operations create and delete the objects.
type worldMachine struct {
	*bundle
	model *worldModel
	tally *worldTally

	ids, consumers, aggregates    []uuid.UUID
	names, classes, traits, tasks []string
}

// newWorldMachine uses names that no other machine uses, because the database is not emptied in between.
func newWorldMachine(b *bundle, number int, tally *worldTally) *worldMachine {
	m := &worldMachine{
		bundle: b, model: newWorldModel(), tally: tally,
		classes: []string{"VCPU", "MEMORY_MB"}, traits: slices.Sorted(maps.Keys(standardTraits)),
	}
	for i := range 6 {
		m.ids = append(m.ids, named(fmt.Sprintf("%x world %d", i, number)))
		m.names = append(m.names, fmt.Sprintf("site %d of world %d", i, number))
	}
	for i := range 4 {
		m.consumers = append(m.consumers, named(fmt.Sprintf("%x task of world %d", i, number)))
	}
	for i := range 3 {
		m.aggregates = append(m.aggregates, named(fmt.Sprintf("%x rack of world %d", i, number)))
		m.classes = append(m.classes, fmt.Sprintf("CUSTOM_WORLD_%d_%c", number, 'A'+i))
		m.traits = append(m.traits, fmt.Sprintf("CUSTOM_WORLD_%d_%c", number, 'A'+i))
	}
	for i := range 2 {
		m.tasks = append(m.tasks, fmt.Sprintf("project %d of world %d", i, number))
	}
	return m
}

// begin creates the initial state of every sequence: a tree of two, and another root.
func (m *worldMachine) begin(ctx context.Context) {
	for i, parent := range []*uuid.UUID{nil, &m.ids[0], nil} {
		_, err := m.ProviderCreate(ctx, m.ids[i], m.names[i], parent)
		m.must(err)
		m.model.createProvider(m.ids[i], m.names[i], parent)
		records := []store.Inventory{inventory("VCPU", 16), inventory("MEMORY_MB", 12)}
		_, err = m.InventoryReplace(ctx, m.ids[i], 0, records, 1)
		m.must(err)
		m.model.replaceInventories(m.ids[i], 0, records, 1)
	}
}

// anyOf draws one of several; in rare cases one that may not exist.
func anyOf[T any](t *rapid.T, present, all []T, label string) T {
	if len(present) == 0 || rarely(t, "any "+label) {
		present = all
	}
	return rapid.SampledFrom(present).Draw(t, label)
}

func compareUUIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

func (m *worldMachine) provider(t *rapid.T) uuid.UUID {
	return anyOf(t, slices.SortedFunc(maps.Keys(m.model.sites), compareUUIDs), m.ids, "provider")
}

func (m *worldMachine) class(t *rapid.T) string {
	there := slices.DeleteFunc(slices.Clone(m.classes), func(name string) bool { return !m.model.classes[name] })
	return anyOf(t, there, m.classes, "class")
}

// parent draws a parent, or none.
func (m *worldMachine) parent(t *rapid.T) *uuid.UUID {
	if rapid.Bool().Draw(t, "root") {
		return nil
	}
	drawn := m.provider(t)
	return &drawn
}

// generation draws the generation of a provider that the client knows.
func (m *worldMachine) generation(t *rapid.T, provider uuid.UUID) int64 {
	var known int64
	if of := m.model.providers[provider]; of != nil {
		known = of.generation
	}
	if rarely(t, "stale") {
		known += rapid.SampledFrom([]int64{-1, 1, 7}).Draw(t, "wrong by")
	}
	return known
}

func (m *worldMachine) record(t *rapid.T, class string) store.Inventory {
	made := store.Inventory{
		Class: class, Total: rapid.Int32Range(8, 20).Draw(t, "total"), Reserved: rapid.Int32Range(0, 3).Draw(t, "reserved"),
		MinUnit: rapid.Int32Range(1, 2).Draw(t, "min"), MaxUnit: rapid.Int32Range(8, 16).Draw(t, "max"),
		StepSize: rapid.Int32Range(1, 2).Draw(t, "step"), AllocationRatio: rapid.SampledFrom([]float64{1, 1.5, 0.75, 4}).Draw(t, "ratio"),
	}
	if rarely(t, "no capacity") {
		made.AllocationRatio = rapid.SampledFrom([]float64{0, 0.01, -0.1, -4}).Draw(t, "ratio")
	}
	return made
}

func (m *worldMachine) records(t *rapid.T) (records []store.Inventory) {
	for _, class := range m.classes {
		isThere := m.model.classes[class]
		if isThere && rapid.IntRange(0, 3).Draw(t, "without "+class) < 3 || !isThere && rarely(t, "unknown class") {
			records = append(records, m.record(t, class))
		}
	}
	return records
}

// parts are all classes of all providers with an inventory.
func (m *worldMachine) parts() (parts []part) {
	for id, of := range m.model.providers {
		for class := range of.inventories {
			parts = append(parts, part{id, class})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(compareUUIDs(a.provider, b.provider), cmp.Compare(a.class, b.class))
	})
	return parts
}

// claim draws a claim for a consumer, and the generation that the client knows.
func (m *worldMachine) claim(t *rapid.T, consumer uuid.UUID) store.Claim {
	made := store.Claim{
		Consumer: consumer, ProjectID: rapid.SampledFrom(m.tasks).Draw(t, "project"),
		UserID: rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "user"),
		Type:   rapid.SampledFrom([]string{"INSTANCE", "MIGRATION", ""}).Draw(t, "type"),
	}
	if present := m.model.consumers[consumer]; present != nil {
		made.Generation = at(present.generation)
	}
	if rarely(t, "stale") {
		made.Generation = at(rapid.Int64Range(0, 3).Draw(t, "generation"))
	}
	present, seen := m.parts(), map[part]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "allocations") {
		of := part{rapid.SampledFrom(m.ids).Draw(t, "provider"), rapid.SampledFrom(m.classes).Draw(t, "class")}
		if len(present) > 0 && !rarely(t, "anywhere") {
			of = rapid.SampledFrom(present).Draw(t, "part")
		}
		if seen[of] {
			continue
		}
		seen[of] = true
		amount := 2 * rapid.Int64Range(1, 4).Draw(t, "amount")
		if rarely(t, "odd amount") {
			amount = rapid.SampledFrom([]int64{1, 5, 17, math.MaxInt64}).Draw(t, "amount")
		}
		made.Allocations = append(made.Allocations, store.Allocation{Provider: of.provider, Class: of.class, Amount: amount})
	}
	return made
}

func (m *worldMachine) claims(t *rapid.T, most int) (claims []store.Claim) {
	for _, consumer := range rapid.Permutation(m.consumers).Draw(t, "consumers")[:rapid.IntRange(1, most).Draw(t, "claims")] {
		claims = append(claims, m.claim(t, consumer))
	}
	return claims
}
