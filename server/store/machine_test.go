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

	"github.com/berthd/berth/server/store"
)

// machine does the same to the database and to a model of it.
type machine struct {
	*bundle
	model     *model
	providers []uuid.UUID
	consumers []uuid.UUID
}

// Of the classes the last does not exist; nor does one more provider.
var machineClasses = []string{"VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_NOT_THERE"}

// newMachine makes providers and names that no machine before it had.
func newMachine(b *bundle, number int) *machine {
	m := &machine{bundle: b, model: &model{
		providers: map[uuid.UUID]*modelProvider{}, consumers: map[uuid.UUID]*modelConsumer{},
		classes: map[string]bool{"VCPU": true, "MEMORY_MB": true, "DISK_GB": true},
	}}
	for i := range 3 {
		id := b.provider(fmt.Sprintf("%x provider of machine %d", i, number), nil, nil)
		m.providers = append(m.providers, id)
		m.model.providers[id] = &modelProvider{inventories: map[string]store.Inventory{}}
	}
	m.providers = append(m.providers, named(fmt.Sprintf("f nobody of machine %d", number)))
	for i := range 4 {
		m.consumers = append(m.consumers, named(fmt.Sprintf("%x consumer of machine %d", i, number)))
	}
	return m
}

// rarely is true once in some twenty times. Small numbers would come up more often.
func rarely(t *rapid.T, label string) bool { return rapid.IntRange(0, 15).Draw(t, label) == 11 }

// pick leaves the last element, which is a wrong one, to rare cases.
func pick[T any](t *rapid.T, from []T, label string) T {
	if rarely(t, "wrong "+label) {
		return from[len(from)-1]
	}
	return rapid.SampledFrom(from[:len(from)-1]).Draw(t, label)
}

// drawClaim draws what a consumer wants, and what the client thinks of it.
func (m *machine) drawClaim(t *rapid.T, consumer uuid.UUID) store.Claim {
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

func (m *machine) drawClaims(t *rapid.T, most int) []store.Claim {
	var claims []store.Claim
	for _, consumer := range rapid.Permutation(m.consumers).Draw(t, "consumers")[:rapid.IntRange(1, most).Draw(t, "claims")] {
		claims = append(claims, m.drawClaim(t, consumer))
	}
	return claims
}

func (m *machine) drawRecords(t *rapid.T) []store.Inventory {
	var records []store.Inventory
	for i, class := range machineClasses {
		isWrong := i == len(machineClasses)-1
		if isWrong && !rarely(t, "unknown class") || !isWrong && rapid.IntRange(0, 7).Draw(t, "without "+class) == 5 {
			continue
		}
		record := store.Inventory{
			Class: class, Total: rapid.Int32Range(8, 20).Draw(t, "total"), Reserved: rapid.Int32Range(0, 3).Draw(t, "reserved"),
			MinUnit: rapid.Int32Range(1, 2).Draw(t, "min"), MaxUnit: rapid.Int32Range(8, 16).Draw(t, "max"),
			StepSize:        rapid.Int32Range(1, 2).Draw(t, "step"),
			AllocationRatio: rapid.SampledFrom([]float64{1, 1.5, 0.75, 4}).Draw(t, "ratio"),
		}
		if rarely(t, "no capacity") {
			record.AllocationRatio = rapid.SampledFrom([]float64{0, 0.01, -0.1, -4}).Draw(t, "ratio")
		}
		records = append(records, record)
	}
	return records
}

// drawGeneration is what the client thinks a provider's generation is.
func (m *machine) drawGeneration(t *rapid.T, provider uuid.UUID) int64 {
	var known int64
	if of := m.model.providers[provider]; of != nil {
		known = of.generation
	}
	if rarely(t, "stale") {
		known++
	}
	return known
}

// same compares what the database and the model say of a write.
func same(t *rapid.T, got error, want store.Rule) {
	t.Helper()
	if outcome(got) != want {
		t.Fatalf("the database says %q, the model %q", outcome(got), want)
	}
}

func (m *machine) actions(ctx context.Context) map[string]func(*rapid.T) {
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
			existed, err := m.AllocationDelete(ctx, consumer)
			if want := m.model.drop(consumer); err != nil || existed != want {
				t.Fatalf("dropped: got %v, %v, want %v", existed, err, want)
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
			var shapes []store.Shape
			for _, provider := range rapid.Permutation(m.providers[:3]).Draw(t, "providers")[:rapid.IntRange(1, 3).Draw(t, "shapes")] {
				shapes = append(shapes, store.Shape{
					Provider: provider, Generation: m.drawGeneration(t, provider), Records: m.drawRecords(t),
				})
			}
			claims := m.drawClaims(t, 3)
			same(t, m.Reshape(ctx, shapes, claims), m.model.reshape(shapes, claims))
		},
		"": func(t *rapid.T) { m.compareProviders(ctx, t) },
	}
}

// compareProviders holds them against the model, with the sums of what is used.
func (m *machine) compareProviders(ctx context.Context, t *rapid.T) {
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

// compareConsumers holds all that they have against the model.
func (m *machine) compareConsumers(ctx context.Context, t *rapid.T) {
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

func TestWritesDoWhatTheModelSays(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		m := newMachine(b, number)
		t.Repeat(m.actions(b.t.Context()))
		m.compareConsumers(b.t.Context(), t)
	})
}

// The model and the names above are only as good as their own order.
func TestNamesAreOrderedByTheirFirstLetter(t *testing.T) {
	t.Parallel()
	ids := []string{named("0 any").String(), named("7 any").String(), named("a any").String(), named("f any").String()}
	if !slices.IsSorted(ids) {
		t.Errorf("not in order: %q", ids)
	}
}
