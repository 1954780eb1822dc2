package store_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/store"
)

// compare reads the whole database and compares it with the model.
func (m *worldMachine) compare(ctx context.Context, t *rapid.T) {
	for _, id := range m.ids {
		if m.model.sites[id] == nil {
			if _, err := m.ProviderShow(ctx, id); outcome(err) != store.ProviderNotFound {
				t.Fatalf("provider %s does not exist in the model; error = %v", id, err)
			}
			continue
		}
		m.compareSite(ctx, t, id)
		m.compareHoldings(ctx, t, id)
	}
	for _, id := range m.consumers {
		m.compareConsumer(ctx, t, id)
	}
	m.compareUsages(ctx, t)
	m.compareNames(ctx, t)
}

// compareSite compares providers and their trees.
func (m *worldMachine) compareSite(ctx context.Context, t *rapid.T, id uuid.UUID) {
	want := m.model.sites[id]
	got, err := m.ProviderShow(ctx, id)
	if err != nil || got.Name != want.name || got.Generation != m.model.providers[id].generation || got.Root != m.model.root(id) ||
		(got.Parent == nil) != (want.parent == nil) || got.Parent != nil && *got.Parent != *want.parent {
		t.Fatalf("provider %s: got %+v, %v, want %+v", id, got, err, want)
	}
	rows, err := m.ProviderList(ctx, store.ProviderFilter{InTree: &id})
	m.must(err)
	defer rows.Close()
	tree := map[uuid.UUID]bool{}
	for row, err := range rows.All() {
		m.must(err)
		tree[row.UUID] = true
	}
	for other := range m.model.sites {
		if is := m.model.root(other) == m.model.root(id); is != tree[other] {
			t.Fatalf("the tree of %s: %s in it: got %v, want %v", id, other, tree[other], is)
		}
	}
}

// compareHoldings compares inventories, traits and aggregates of providers.
func (m *worldMachine) compareHoldings(ctx context.Context, t *rapid.T, id uuid.UUID) {
	want, got := m.model.providers[id], map[string]store.Inventory{}
	found, err := m.InventoryList(ctx, id)
	m.must(err)
	for _, record := range found.Records {
		if used := m.model.used(part{id, record.Class}); record.Used != used {
			t.Fatalf("%s of %s: got %d used, want %d", record.Class, id, record.Used, used)
		}
		record.Used, record.ModifiedAt = 0, want.inventories[record.Class].ModifiedAt
		got[record.Class] = record
	}
	if !maps.Equal(got, want.inventories) {
		t.Fatalf("inventories of %s: got %v, want %v", id, got, want.inventories)
	}
	_, present, err := m.ProviderTraitList(ctx, id)
	m.must(err)
	traits := map[string]bool{}
	for _, trait := range present {
		traits[trait.Name] = true
	}
	_, members, err := m.ProviderAggregateList(ctx, id)
	m.must(err)
	aggregates := map[uuid.UUID]bool{}
	for _, aggregate := range members {
		aggregates[aggregate] = true
	}
	if of := m.model.sites[id]; !maps.Equal(traits, of.traits) || !maps.Equal(aggregates, of.aggregates) {
		t.Fatalf("provider %s: got traits %v and aggregates %v, want %v and %v", id, traits, aggregates, of.traits, of.aggregates)
	}
	m.compareTakers(ctx, t, id)
}

// compareTakers compares the allocations on a provider.
func (m *worldMachine) compareTakers(ctx context.Context, t *rapid.T, id uuid.UUID) {
	type taken struct {
		consumer uuid.UUID
		class    string
	}
	got, want := map[taken]int64{}, map[taken]int64{}
	_, rows, err := m.ProviderAllocationList(ctx, id)
	m.must(err)
	for _, row := range rows {
		got[taken{row.Consumer, row.Class}] = row.Amount
	}
	for consumer, has := range m.model.consumers {
		for of, amount := range has.taken {
			if of.provider == id {
				want[taken{consumer, of.class}] = amount
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("allocations of provider %s: got %v, want %v", id, got, want)
	}
}

func (m *worldMachine) compareConsumer(ctx context.Context, t *rapid.T, id uuid.UUID) {
	got, err := m.AllocationList(ctx, id)
	m.must(err)
	want := m.model.consumers[id]
	if want == nil {
		if len(got.Rows) > 0 {
			t.Fatalf("consumer %s: got %+v, want nothing", id, got)
		}
		return
	}
	of, kind := m.model.owners[id], "unknown"
	if got.Type != nil {
		kind = *got.Type
	}
	taken := map[part]int64{}
	for _, row := range got.Rows {
		taken[part{row.Provider, row.Class}] = row.Amount
	}
	if got.Generation != want.generation || (owner{got.ProjectID, got.UserID, kind}) != of || !maps.Equal(taken, want.taken) {
		t.Fatalf("consumer %s: got %+v, want %+v of %+v", id, got, want, of)
	}
}

func (m *worldMachine) compareUsages(ctx context.Context, t *rapid.T) {
	for i, project := range m.tasks {
		filter := store.UsageFilter{ProjectID: project, ByType: i%2 == 0}
		var user, kind string
		if rapid.Bool().Draw(t, "of a user") {
			user = "ada"
			filter.UserID = &user
		}
		if rapid.Bool().Draw(t, "of a type") {
			kind = rapid.SampledFrom([]string{"INSTANCE", "unknown"}).Draw(t, "type")
			filter.ConsumerType = &kind
		}
		rows, err := m.UsageList(ctx, filter)
		m.must(err)
		got := map[[2]string]store.Usage{}
		for _, row := range rows {
			got[[2]string{row.ConsumerType, row.Class}] = row
		}
		if want := m.model.usages(project, user, kind, filter.ByType); !maps.Equal(got, want) {
			t.Fatalf("usages of %s, user %q, type %q: got %v, want %v", project, user, kind, got, want)
		}
	}
}

func (m *worldMachine) compareNames(ctx context.Context, t *rapid.T) {
	for _, class := range m.classes[2:] {
		if _, err := m.ResourceClassShow(ctx, class); (err == nil) != m.model.classes[class] {
			t.Fatalf("class %s: got %v, and in the model: %v", class, err, m.model.classes[class])
		}
	}
	there, err := m.TraitList(ctx, store.TraitFilter{Names: m.traits[len(standardTraits):]})
	m.must(err)
	var got []string
	for _, trait := range there {
		got = append(got, trait.Name)
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(m.model.traits)); !slices.Equal(got, want) {
		t.Fatalf("traits: got %v, want %v", got, want)
	}
}

// worldParts is the number of databases with parallel sequences. Each runs -rapid.checks sequences, so that 2500 there
// are 10,000 in all.
const worldParts = 4

// TestModel_RandomOperations_MatchStore draws sequences of all writes, compares each result with the model's, and after
// each sequence everything that can be read. Short ones (-rapid.steps) find as many errors: a failure needs few steps,
// and rapid removes the others.
func TestModel_RandomOperations_MatchStore(t *testing.T) {
	t.Parallel()
	tally := newWorldTally()
	t.Run("side by side", func(t *testing.T) {
		for range worldParts {
			t.Run("sequences", func(t *testing.T) {
				t.Parallel()
				b, number := setup(t, 1), 0
				rapid.Check(t, func(t *rapid.T) {
					number++
					tally.begun()
					m := newWorldMachine(b, number, tally)
					m.begin(b.t.Context())
					t.Repeat(m.actions(b.t.Context()))
					m.compare(b.t.Context(), t)
				})
			})
		}
	})
	operations := 0
	for _, counts := range []map[string]int{tally.accepted, tally.refused} {
		for _, count := range counts {
			operations += count
		}
	}
	t.Logf("sequences: %d of %d operations\naccepted: %v\nrejected: %v", tally.sequences, operations, tally.accepted, tally.refused)
	if kinds := len((&worldMachine{}).actions(t.Context())) - 1; tally.sequences >= 400 && len(tally.accepted) < kinds {
		t.Errorf("of %d operations only these were ever accepted: %v", kinds, tally.accepted)
	}
}
