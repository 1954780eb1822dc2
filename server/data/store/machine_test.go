package store_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/store"
)

// stateMachine runs the same operations on the database and on a model of it.
type stateMachine struct {
	*bundle
	model     *claimModel
	providers []uuid.UUID
	consumers []uuid.UUID
}

// The last class does not exist, and neither does the last provider.
var machineClasses = []string{"VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_NOT_THERE"}

// newMachine creates providers and names that no other machine uses.
func newMachine(b *bundle, number int) *stateMachine {
	m := &stateMachine{bundle: b, model: &claimModel{
		providers: map[uuid.UUID]*modelProvider{}, consumers: map[uuid.UUID]*modelConsumer{},
		classes: map[string]bool{"VCPU": true, "MEMORY_MB": true, "DISK_GB": true},
	}}
	for i := range 3 {
		id := b.provider(fmt.Sprintf("%x provider of machine %d", i, number), nil, nil)
		m.providers = append(m.providers, id)
		m.model.providers[id] = &modelProvider{inventories: map[string]store.Inventory{}}
	}
	m.providers = append(m.providers, named(fmt.Sprintf("f unknown of machine %d", number)))
	for i := range 4 {
		m.consumers = append(m.consumers, named(fmt.Sprintf("%x consumer of machine %d", i, number)))
	}
	return m
}

// rarely is true about once in twenty times. Small numbers would come up more often.
func rarely(t *rapid.T, label string) bool { return rapid.IntRange(0, 15).Draw(t, label) == 11 }

// pick returns the last element, which does not exist, only in rare cases.
func pick[T any](t *rapid.T, from []T, label string) T {
	if rarely(t, "wrong "+label) {
		return from[len(from)-1]
	}
	return rapid.SampledFrom(from[:len(from)-1]).Draw(t, label)
}

// drawClaim draws a claim for a consumer, and the generation that the client knows.
func (m *stateMachine) drawClaim(t *rapid.T, consumer uuid.UUID) store.Claim {
	made := store.Claim{Consumer: consumer, ProjectID: "project", UserID: "user", Type: "INSTANCE"}
	if present := m.model.consumers[consumer]; present != nil {
		made.Generation = at(present.generation)
	}
	if rarely(t, "stale") {
		made.Generation = at(rapid.Int64Range(0, 3).Draw(t, "generation"))
	}
	seen := map[part]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "allocations") {
		of := part{pick(t, m.providers, "provider"), pick(t, machineClasses, "class")}
		if !seen[of] {
			seen[of] = true
			amount := 2 * rapid.Int64Range(1, 4).Draw(t, "amount")
			if rarely(t, "odd amount") {
				amount = rapid.SampledFrom([]int64{1, 5, 11, math.MaxInt64}).Draw(t, "amount")
			}
			made.Allocations = append(made.Allocations, store.Allocation{Provider: of.provider, Class: of.class, Amount: amount})
		}
	}
	return made
}

func (m *stateMachine) drawClaims(t *rapid.T, most int) []store.Claim {
	var claims []store.Claim
	for _, consumer := range rapid.Permutation(m.consumers).Draw(t, "consumers")[:rapid.IntRange(1, most).Draw(t, "claims")] {
		claims = append(claims, m.drawClaim(t, consumer))
	}
	return claims
}

func (m *stateMachine) drawRecords(t *rapid.T) []store.Inventory {
	var records []store.Inventory
	for i, class := range machineClasses {
		isWrong := i == len(machineClasses)-1
		if isWrong && !rarely(t, "unknown class") || !isWrong && rapid.IntRange(0, 7).Draw(t, "without "+class) == 5 {
			continue
		}
		records = append(records, inventoryOf(class, drawInventory(t)))
	}
	return records
}

// drawGeneration draws the generation of a provider that the client knows.
func (m *stateMachine) drawGeneration(t *rapid.T, provider uuid.UUID) int64 {
	var known int64
	if of := m.model.providers[provider]; of != nil {
		known = of.generation
	}
	if rarely(t, "stale") {
		known++
	}
	return known
}

// same compares the results of the database and of the model for a write.
func same(t *rapid.T, got error, want store.Rule) {
	t.Helper()
	if outcome(got) != want {
		t.Fatalf("outcome = %q, and %q in the model", outcome(got), want)
	}
}

func (m *stateMachine) actions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"claim": func(t *rapid.T) {
			claims, checked := m.drawClaims(t, 1), rapid.Bool().Draw(t, "checked")
			same(t, m.AllocationReplace(ctx, claims, checked), m.model.claim(claims, checked))
		},
		"claim many": func(t *rapid.T) {
			claims := m.drawClaims(t, 3)
			same(t, m.AllocationReplace(ctx, claims, true), m.model.claim(claims, true))
		},
		"drop": func(t *rapid.T) {
			consumer := rapid.SampledFrom(m.consumers).Draw(t, "consumer")
			existed, err := m.AllocationDelete(ctx, consumer, nil)
			if want := m.model.drop(consumer); err != nil || existed != want {
				t.Fatalf("deleted: got %v, %v, want %v", existed, err, want)
			}
		},
		"replace inventories": func(t *rapid.T) {
			provider := pick(t, m.providers, "provider")
			generation, records := m.drawGeneration(t, provider), m.drawRecords(t)
			least := rapid.Int32Range(0, 1).Draw(t, "least capacity")
			_, err := m.InventoryReplace(ctx, provider, generation, records, least)
			same(t, err, m.model.replaceInventories(provider, generation, records, float64(least)))
		},
		"reshape": func(t *rapid.T) {
			var shapes []store.ReshapedProvider
			for _, provider := range rapid.Permutation(m.providers[:3]).Draw(t, "providers")[:rapid.IntRange(1, 3).Draw(t, "shapes")] {
				shapes = append(shapes, store.ReshapedProvider{
					Provider: provider, Generation: m.drawGeneration(t, provider), Records: m.drawRecords(t),
				})
			}
			claims := m.drawClaims(t, 3)
			same(t, m.Reshape(ctx, shapes, claims), m.model.reshape(shapes, claims))
		},
		"": func(t *rapid.T) { m.compareProviders(ctx, t) },
	}
}

// compareProviders compares all providers with the model, including the sums of their allocations.
func (m *stateMachine) compareProviders(ctx context.Context, t *rapid.T) {
	for id, want := range m.model.providers {
		got, err := m.InventoryList(ctx, id)
		if err != nil || got.Generation != want.generation {
			t.Fatalf("generation of %s: got %d, %v, want %d", id, got.Generation, err, want.generation)
		}
		records := map[string]store.Inventory{}
		for _, record := range got.Records {
			if used := m.model.used(part{id, record.Class}); record.Used != used {
				t.Fatalf("%s of %s: got %d used, want %d", record.Class, id, record.Used, used)
			}
			record.Used, record.ModifiedAt = 0, want.inventories[record.Class].ModifiedAt
			records[record.Class] = record
		}
		if !maps.Equal(records, want.inventories) {
			t.Fatalf("inventories of %s: got %v, want %v", id, records, want.inventories)
		}
	}
}

// compareConsumers compares all allocations of the consumers with the model.
func (m *stateMachine) compareConsumers(ctx context.Context, t *rapid.T) {
	for _, id := range m.consumers {
		got, err := m.AllocationList(ctx, id)
		want := m.model.consumers[id]
		if err != nil || want == nil && len(got.Rows) > 0 || want != nil && got.Generation != want.generation {
			t.Fatalf("consumer %s: got %+v, %v, want %+v", id, got, err, want)
		}
		taken := map[part]int64{}
		for _, row := range got.Rows {
			taken[part{row.Provider, row.Class}] = row.Amount
		}
		if want != nil && !maps.Equal(taken, want.taken) {
			t.Fatalf("consumer %s: got %v, want %v", id, taken, want.taken)
		}
	}
}

func TestModel_ClaimsAndInventories_MatchStore(t *testing.T) {
	t.Parallel()
	b := recorded(t, setup(t, 1))
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		m := newMachine(b, number)
		t.Repeat(m.actions(b.t.Context()))
		m.compareConsumers(b.t.Context(), t)
	})
}

// The order of model and names depends on the first letters of these names.
func TestModel_TestNames_SortByFirstLetter(t *testing.T) {
	t.Parallel()
	ids := []string{named("0 any").String(), named("7 any").String(), named("a any").String(), named("f any").String()}
	if !slices.IsSorted(ids) {
		t.Errorf("not in order: %q", ids)
	}
}
