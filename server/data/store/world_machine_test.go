package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/model"
	"github.com/berthd/berth/server/data/store"
)

// worldMachine runs the same operations on the database and on a model of all of it. The names that it may use are
// fixed when it begins; the operations create and delete the objects. The model has the position of each.
type worldMachine struct {
	*bundle
	state model.State
	tally *worldTally

	ids, consumers, aggregates                  []uuid.UUID
	names, classes, traits, tasks, users, types []string
}

// standardClasses and standardTraits are how many of the classes and traits exist from the beginning.
const standardClasses, standardTraits = 2, 3

// newWorldMachine uses names that no other machine uses, because the database is not emptied in between.
func newWorldMachine(b *bundle, number int, tally *worldTally) *worldMachine {
	m := &worldMachine{
		bundle: b, tally: tally, classes: []string{"VCPU", "MEMORY_MB"},
		traits: []string{"HW_CPU_X86_AVX2", "HW_CPU_X86_VMX", "MISC_SHARES_VIA_AGGREGATE"},
		users:  []string{"ada", "bob"}, types: []string{"", "INSTANCE", "MIGRATION"},
	}
	for i := range model.ProviderCount {
		m.ids = append(m.ids, named(fmt.Sprintf("%x world %d", i, number)))
		m.names = append(m.names, fmt.Sprintf("site %d of world %d", i, number))
	}
	for i := range 4 {
		m.consumers = append(m.consumers, named(fmt.Sprintf("%x task of world %d", i, number)))
	}
	for i := range model.AggregateCount {
		m.aggregates = append(m.aggregates, named(fmt.Sprintf("%x rack of world %d", i, number)))
		m.classes = append(m.classes, fmt.Sprintf("CUSTOM_WORLD_%d_%c", number, 'A'+i))
		m.traits = append(m.traits, fmt.Sprintf("CUSTOM_WORLD_%d_%c", number, 'A'+i))
	}
	for i := range 2 {
		m.tasks = append(m.tasks, fmt.Sprintf("project %d of world %d", i, number))
	}
	m.state.NoClasses, m.state.NoTraits = 0b11100, 0b111000
	return m
}

// begin creates the initial state of every sequence: a tree of two, and another root.
func (m *worldMachine) begin(ctx context.Context, t *rapid.T) {
	whole := func(total int32) model.Inventory {
		return model.Inventory{Total: total, MinUnit: 1, MaxUnit: math.MaxInt32, StepSize: 1, Ratio: 1}
	}
	tally := m.tally
	m.tally = newWorldTally()
	defer func() { m.tally = tally }()
	for i, parent := range []int{model.None, 0, model.None} {
		m.create(ctx, t, model.CreateProvider{At: i, Parent: parent, Name: int8(i)})
		m.replaceInventories(ctx, t, model.ReplaceInventories{At: i, Inventories: model.Inventories{whole(16), whole(12)}, Least: 1})
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

// numbers are the positions below count of which something is true.
func numbers(count int, is func(int) bool) (chosen []int) {
	for i := range count {
		if is(i) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

func (m *worldMachine) exists(p int) bool   { return m.state.Providers[p].Exists }
func (m *worldMachine) hasClass(c int) bool { return m.state.NoClasses&(1<<c) == 0 }
func (m *worldMachine) hasTrait(i int) bool { return m.state.NoTraits&(1<<i) == 0 }
func always(int) bool                       { return true }

// parent returns a parent as the store takes it.
func (m *worldMachine) parent(p int) *uuid.UUID {
	if p == model.None {
		return nil
	}
	return &m.ids[p]
}

func (m *worldMachine) drawProvider(t *rapid.T) int {
	return anyOf(t, numbers(len(m.ids), m.exists), numbers(len(m.ids), always), "provider")
}

func (m *worldMachine) drawClass(t *rapid.T) int {
	return anyOf(t, numbers(len(m.classes), m.hasClass), numbers(len(m.classes), always), "class")
}

// drawParent draws a parent, or none.
func (m *worldMachine) drawParent(t *rapid.T) int {
	if rapid.Bool().Draw(t, "root") {
		return model.None
	}
	return m.drawProvider(t)
}

// drawGeneration draws the generation of a provider that the client knows.
func (m *worldMachine) drawGeneration(t *rapid.T, provider int) int64 {
	known := m.state.Providers[provider].Generation
	if rarely(t, "stale") {
		known += rapid.SampledFrom([]int64{-1, 1, 7}).Draw(t, "wrong by")
	}
	if known == model.None {
		known-- // as wrong; for the model, None is not compared
	}
	return known
}

func drawInventory(t *rapid.T) model.Inventory {
	made := model.Inventory{
		Total: rapid.Int32Range(8, 20).Draw(t, "total"), Reserved: rapid.Int32Range(0, 3).Draw(t, "reserved"),
		MinUnit: rapid.Int32Range(1, 2).Draw(t, "min"), MaxUnit: rapid.Int32Range(8, 16).Draw(t, "max"),
		StepSize: rapid.Int32Range(1, 2).Draw(t, "step"), Ratio: rapid.SampledFrom([]float64{1, 1.5, 0.75, 4}).Draw(t, "ratio"),
	}
	if rarely(t, "no capacity") {
		made.Ratio = rapid.SampledFrom([]float64{0, 0.01, -0.1, -4}).Draw(t, "ratio")
	}
	return made
}

func (m *worldMachine) drawInventories(t *rapid.T) (made model.Inventories) {
	for class, name := range m.classes {
		isThere := m.hasClass(class)
		if isThere && rapid.IntRange(0, 3).Draw(t, "without "+name) < 3 || !isThere && rarely(t, "unknown class") {
			made[class] = drawInventory(t)
		}
	}
	return made
}

// inventoryOf and records return inventories as the store takes them.
func inventoryOf(class string, of model.Inventory) store.Inventory {
	return store.Inventory{
		Class: class, Total: of.Total, Reserved: of.Reserved, MinUnit: of.MinUnit, MaxUnit: of.MaxUnit,
		StepSize: of.StepSize, AllocationRatio: of.Ratio,
	}
}

func (m *worldMachine) records(of model.Inventories) (records []store.Inventory) {
	for class := range of {
		if of[class].Total > 0 {
			records = append(records, inventoryOf(m.classes[class], of[class]))
		}
	}
	return records
}

// place is a class of a provider.
type place struct{ provider, class int }

// places are all classes of all providers with an inventory.
func (m *worldMachine) places() (places []place) {
	for p := range m.state.Providers {
		for class := range m.classes {
			if m.state.Providers[p].Inventories[class].Total > 0 {
				places = append(places, place{p, class})
			}
		}
	}
	return places
}

// drawWant draws a claim for a consumer, and the generation that the client knows, for the model and for the store.
func (m *worldMachine) drawWant(t *rapid.T, consumer int) (model.Want, store.Claim) {
	want := model.Want{Consumer: consumer, Given: m.state.Consumers[consumer].Generation}
	want.Owner = model.Owner{
		Project: rapid.Int8Range(0, 1).Draw(t, "project"), User: rapid.Int8Range(0, 1).Draw(t, "user"), Type: rapid.Int8Range(0, 2).Draw(t, "type"),
	}
	made := store.Claim{
		Consumer: m.consumers[consumer], ProjectID: m.tasks[want.Owner.Project], UserID: m.users[want.Owner.User], Type: m.types[want.Owner.Type],
	}
	if want.Given > 0 {
		made.Generation = at(want.Given)
	}
	if rarely(t, "stale") {
		made.Generation = at(rapid.Int64Range(0, 3).Draw(t, "generation"))
		if want.Given = *made.Generation; want.Given == 0 {
			want.Given = model.None // a generation that no consumer has, rather than none
		}
	}
	present := m.places()
	want.Lease, made.Lease = drawLease(t)
	for range rapid.IntRange(0, 3).Draw(t, "allocations") {
		of := place{rapid.IntRange(0, len(m.ids)-1).Draw(t, "provider"), rapid.IntRange(0, len(m.classes)-1).Draw(t, "class")}
		if len(present) > 0 && !rarely(t, "anywhere") {
			of = rapid.SampledFrom(present).Draw(t, "part")
		}
		amount := &want.Allocations[of.provider][of.class]
		if *amount > 0 {
			continue
		}
		*amount = 2 * rapid.Int64Range(1, 4).Draw(t, "amount")
		if rarely(t, "odd amount") {
			*amount = rapid.SampledFrom([]int64{1, 5, 17, math.MaxInt64}).Draw(t, "amount")
		}
		made.Allocations = append(made.Allocations, store.Allocation{Provider: m.ids[of.provider], Class: m.classes[of.class], Amount: *amount})
	}
	return want, made
}

func (m *worldMachine) drawWants(t *rapid.T, most int) (wants []model.Want, claims []store.Claim) {
	all := numbers(len(m.consumers), always)
	for _, consumer := range rapid.Permutation(all).Draw(t, "consumers")[:rapid.IntRange(1, most).Draw(t, "claims")] {
		want, claim := m.drawWant(t, consumer)
		wants, claims = append(wants, want), append(claims, claim)
	}
	return wants, claims
}

// reasons are the rules of the model by those of the store.
var reasons = map[store.Rule]model.Reason{
	store.ProviderNotFound: model.ProviderNotFound, store.ProviderGenerationConflict: model.ProviderGenerationConflict,
	store.ConsumerGenerationConflict: model.ConsumerGenerationConflict, store.ClassNotFound: model.NoClass,
	store.InventoryInUse: model.InUse, store.InventoryOverReserved: model.OverReserved, store.InventoryNotFound: model.NoInventory,
	store.InventoryExists: model.InventoryExists, store.AllocationProviderNotFound: model.NoClaimedProvider,
	store.AllocationNoInventory: model.NoClaimedInventory, store.AllocationViolatesUnits: model.WrongUnits,
	store.AllocationExceedsCapacity: model.CapacityExceeded, store.TraitNotFound: model.NoTrait,
	store.ProviderHasChildren: model.HasChildren, store.ProviderHasAllocations: model.HasAllocations,
	store.ParentNotFound: model.NoParent, store.UnparentNotAllowed: model.UnparentNotAllowed,
	store.ReparentNotAllowed: model.ReparentNotAllowed, store.ParentCycle: model.Loop, store.ClassStandard: model.StandardClass,
	store.TraitStandard: model.StandardTrait, store.ClassInUse: model.ClassInUse, store.TraitInUse: model.TraitInUse,
	store.ProviderNameTaken: model.NameTaken, store.ProviderUUIDTaken: model.Exists, store.ClassNameTaken: model.ClassNameTaken,
	store.ConsumerNotFound: model.NoConsumer,
}

// refusal returns the response that an error is.
func (m *worldMachine) refusal(operation model.Operation, err error) model.Response {
	answer := model.Accepted()
	if err == nil {
		return answer
	}
	answer.Reason, answer.Detail = model.Unexplained, err.Error()
	refused := store.AsRuleViolation(err)
	if refused == nil {
		return answer
	}
	if reason := reasons[refused.Rule]; reason != "" {
		answer.Reason = reason
	}
	if _, is := operation.(model.Reshape); is && answer.Reason == model.ProviderNotFound {
		answer.Reason = model.NoShape
	}
	answer.Provider = slices.IndexFunc(m.ids, func(id uuid.UUID) bool { return id.String() == refused.Values.Provider })
	answer.Class = slices.Index(m.classes, refused.Values.Class)
	if answer.Expected = 0; refused.Values.Actual != nil {
		answer.Expected = *refused.Values.Actual
	}
	return answer
}

// agree has the model judge the result of a write, and adopts its effect.
func (m *worldMachine) agree(t *rapid.T, name string, operation model.Operation, err error) {
	t.Helper()
	m.judge(t, operation, m.refusal(operation, err))
	m.tally.note(name, outcome(err))
}

func (m *worldMachine) judge(t *rapid.T, operation model.Operation, answer model.Response) {
	t.Helper()
	after, isValid := m.state.After(operation, &answer)
	if !isValid && answer.Reason != "" {
		t.Fatalf("%s: %s (%s) is wrong in the state\n%s", model.Describe(operation), answer.Reason, answer.Detail, m.state)
	}
	if !isValid {
		t.Fatalf("%s: success with %+v is wrong in the state\n%s", model.Describe(operation), answer.Observed, m.state)
	}
	m.state = after
}
