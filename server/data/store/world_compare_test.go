package store_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/model"
	"github.com/berthd/berth/server/data/store"
)

// compare reads the whole database and has the model judge what it reads.
func (m *worldMachine) compare(ctx context.Context, t *rapid.T) {
	for p := range m.ids {
		m.compareProvider(ctx, t, p)
		if m.exists(p) {
			m.compareTree(ctx, t, p)
			m.compareHoldings(ctx, t, p)
		}
	}
	for who := range m.consumers {
		m.compareConsumer(ctx, t, who)
	}
	m.compareUsages(ctx, t)
	m.compareNames(ctx, t)
}

// reads has the model judge a part of a provider.
func (m *worldMachine) reads(t *rapid.T, operation model.Operation, err error, show func(*model.Observed)) {
	t.Helper()
	answer := m.refusal(operation, err)
	if err == nil {
		show(&answer.Observed)
	}
	m.judge(t, operation, answer)
}

func (m *worldMachine) number(id uuid.UUID) int { return slices.Index(m.ids, id) }

func (m *worldMachine) compareProvider(ctx context.Context, t *rapid.T, p int) {
	got, err := m.ProviderShow(ctx, m.ids[p])
	m.reads(t, model.Read{At: p}, err, func(seen *model.Observed) {
		seen.Generation, seen.Name, seen.Root = got.Generation, int8(slices.Index(m.names, got.Name)), m.number(got.Root)
		if got.Parent != nil {
			seen.Parent = m.number(*got.Parent)
		}
	})
}

// compareTree compares the providers of a tree.
func (m *worldMachine) compareTree(ctx context.Context, t *rapid.T, p int) {
	rows, err := m.ProviderList(ctx, store.ProviderFilter{InTree: &m.ids[p]})
	m.must(err)
	defer rows.Close()
	var tree []int
	for row, err := range rows.All() {
		m.must(err)
		tree = append(tree, m.number(row.UUID))
	}
	slices.Sort(tree)
	want := numbers(len(m.ids), func(other int) bool { return m.exists(other) && m.state.Root(other) == m.state.Root(p) })
	if !slices.Equal(tree, want) {
		t.Fatalf("the tree of provider %d: got %v, want %v", p, tree, want)
	}
}

// compareHoldings compares inventories, usages, traits, aggregates and allocations of a provider.
func (m *worldMachine) compareHoldings(ctx context.Context, t *rapid.T, p int) {
	found, err := m.InventoryList(ctx, m.ids[p])
	for _, part := range []model.Part{model.PartInventories, model.PartUsages} {
		m.reads(t, model.Read{At: p, Part: part}, err, func(seen *model.Observed) {
			seen.Generation = found.Generation
			for _, of := range found.Records {
				class := slices.Index(m.classes, of.Class)
				seen.Used[class], seen.Inventories[class] = of.Used, model.Inventory{
					Total: of.Total, Reserved: of.Reserved, MinUnit: of.MinUnit, MaxUnit: of.MaxUnit, StepSize: of.StepSize, Ratio: of.AllocationRatio,
				}
			}
		})
	}
	generation, present, err := m.ProviderTraitList(ctx, m.ids[p])
	m.reads(t, model.Read{At: p, Part: model.PartTraits}, err, func(seen *model.Observed) {
		seen.Generation = generation
		for _, trait := range present {
			seen.Traits |= 1 << slices.Index(m.traits, trait.Name)
		}
	})
	generation, members, err := m.ProviderAggregateList(ctx, m.ids[p])
	m.reads(t, model.Read{At: p, Part: model.PartAggregates}, err, func(seen *model.Observed) {
		seen.Generation = generation
		for _, aggregate := range members {
			seen.Aggregates |= 1 << slices.Index(m.aggregates, aggregate)
		}
	})
	generation, rows, err := m.ProviderAllocationList(ctx, m.ids[p])
	m.reads(t, model.Read{At: p, Part: model.PartAllocations}, err, func(seen *model.Observed) {
		seen.Generation = generation
		for _, row := range rows {
			who := slices.Index(m.consumers, row.Consumer)
			seen.ConsumerGenerations[who] = row.Generation
			seen.ByConsumer[who][slices.Index(m.classes, row.Class)] = row.Amount
		}
	})
}

func (m *worldMachine) compareConsumer(ctx context.Context, t *rapid.T, who int) {
	got, err := m.AllocationList(ctx, m.consumers[who])
	m.reads(t, model.ReadAllocations{Consumer: who}, err, func(seen *model.Observed) { m.showConsumer(seen, &got) })
}

// showConsumer converts a consumer of the store to that of a response.
func (m *worldMachine) showConsumer(seen *model.Observed, got *store.ConsumerAllocations) {
	seen.Lease = shownLease(got.Lease)
	if seen.Generation = got.Generation; got.Generation == 0 {
		return
	}
	seen.Owner = model.Owner{Project: int8(slices.Index(m.tasks, got.ProjectID)), User: int8(slices.Index(m.users, got.UserID))}
	if got.Type != nil {
		seen.Owner.Type = int8(slices.Index(m.types, *got.Type))
	}
	for _, row := range got.Rows {
		p := m.number(row.Provider)
		seen.ProviderGenerations[p] = row.Generation
		seen.Allocations[p][slices.Index(m.classes, row.Class)] = row.Amount
	}
}

// usages sums the allocations of the consumers of a project; user and kind empty: any.
func (m *worldMachine) usages(project int, user, kind string, byType bool) map[[2]string]store.Usage {
	sums, counts := map[[2]string]store.Usage{}, map[string]int64{}
	for _, consumer := range m.state.Consumers {
		of, its := consumer.Owner, cmp.Or(m.types[consumer.Owner.Type], "unknown")
		if consumer.Generation == 0 || int(of.Project) != project || user != "" && m.users[of.User] != user || kind != "" && its != kind {
			continue
		}
		group := "all"
		if byType {
			group = its
		}
		counts[group]++
		for p := range consumer.Allocations {
			for class, amount := range consumer.Allocations[p] {
				if key := [2]string{group, m.classes[class]}; amount > 0 {
					sums[key] = store.Usage{ConsumerType: group, Class: key[1], Used: sums[key].Used + amount}
				}
			}
		}
	}
	for key, sum := range sums {
		sum.ConsumerCount = counts[key[0]]
		sums[key] = sum
	}
	return sums
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
		if want := m.usages(i, user, kind, filter.ByType); !maps.Equal(got, want) {
			t.Fatalf("usages of %s, user %q, type %q: got %v, want %v", project, user, kind, got, want)
		}
	}
}

func (m *worldMachine) compareNames(ctx context.Context, t *rapid.T) {
	for class := standardClasses; class < len(m.classes); class++ {
		if _, err := m.ResourceClassShow(ctx, m.classes[class]); (err == nil) != m.hasClass(class) {
			t.Fatalf("class %s: got %v, and in the model: %v", m.classes[class], err, m.hasClass(class))
		}
	}
	there, err := m.TraitList(ctx, store.TraitFilter{Names: m.traits[standardTraits:]})
	m.must(err)
	var got []int
	for _, trait := range there {
		got = append(got, slices.Index(m.traits, trait.Name))
	}
	slices.Sort(got)
	if want := numbers(len(m.traits), func(i int) bool { return i >= standardTraits && m.hasTrait(i) }); !slices.Equal(got, want) {
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
				b, number := recorded(t, setup(t, 1)), 0
				rapid.Check(t, func(t *rapid.T) {
					number++
					tally.begun()
					m := newWorldMachine(b, number, tally)
					m.begin(b.t.Context(), t)
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
