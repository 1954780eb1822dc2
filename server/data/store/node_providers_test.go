package store_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// provided describes a node's provider as Placement shows it: its units as class, reserved and used, and its traits.
func (b *bundle) provided(node store.Node) string {
	b.t.Helper()
	shown, err := b.ProviderShow(b.t.Context(), node.UUID)
	if outcome(err) == store.ProviderNotFound {
		return "nothing"
	}
	b.must(err)
	text := ""
	if shown.Name != node.UUID.String() || shown.Parent != nil {
		text = fmt.Sprintf("name %s, parent %v: ", shown.Name, shown.Parent)
	}
	units, err := b.InventoryList(b.t.Context(), node.UUID)
	b.must(err)
	for _, unit := range units.Records {
		text += fmt.Sprintf("%s %d-%d used %d ", unit.Class, unit.Total, unit.Reserved, unit.Used)
	}
	_, traits, err := b.ProviderTraitList(b.t.Context(), node.UUID)
	b.must(err)
	for _, trait := range traits {
		text += trait.Name + " "
	}
	return text
}

// asProviders creates a database where nodes are providers.
func asProviders(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 8)
	b.must(b.SetBaremetalBackend(t.Context(), true))
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	return b
}

// claimed claims a unit through Placement for another consumer.
func (b *bundle) claimed(consumer string, node store.Node, class string) {
	b.t.Helper()
	one := claim(consumer, nil, node.UUID, 1)
	one.Allocations[0].Class = class
	b.must(b.AllocationReplace(b.t.Context(), []store.Claim{one}, true))
}

func TestNode_AsProvider_InventoryFollowsState(t *testing.T) {
	t.Parallel()
	b := asProviders(t)
	ctx := t.Context()
	class := "Bare metal, größer"
	wanted := bareNode("a node", "enroll")
	wanted.ResourceClass = &class
	node, err := b.NodeCreate(ctx, wanted)
	b.must(err)
	generation := int64(-1)
	expect := func(want string, changes bool) {
		t.Helper()
		if got := b.provided(node); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		now := b.generation(node.UUID)
		if changes != (now > generation) {
			t.Errorf("generation = %d, before: %d", now, generation)
		}
		generation = now
		b.auditNodes()
	}
	write := func(change func(*store.Node)) {
		t.Helper()
		_, err := b.NodeUpdate(ctx, "a node", func(node *store.Node) error { change(node); return nil })
		b.must(err)
	}
	expect("CUSTOM_BARE_METAL_GR_ER 1-1 used 0 ", true)
	write(func(node *store.Node) { node.ProvisionState, node.PowerState = "available", new("power off") })
	expect("CUSTOM_BARE_METAL_GR_ER 1-0 used 0 ", true)
	b.must(b.NodeTraitReplace(ctx, "a node", []string{"HW_CPU_X86_AVX", "CUSTOM_NEW"}))
	expect("CUSTOM_BARE_METAL_GR_ER 1-0 used 0 HW_CPU_X86_AVX CUSTOM_NEW ", true)
	b.must(b.NodeTraitDelete(ctx, "a node", "CUSTOM_NEW"))
	expect("CUSTOM_BARE_METAL_GR_ER 1-0 used 0 HW_CPU_X86_AVX ", true)
	b.must(b.NodeMaintenance(ctx, "a node", true, nil))
	expect("CUSTOM_BARE_METAL_GR_ER 1-1 used 0 HW_CPU_X86_AVX ", true)
	write(func(node *store.Node) { node.Owner, node.ResourceClass = new("ada"), new("Bare.metal  gr-er") })
	expect("CUSTOM_BARE_METAL_GR_ER 1-1 used 0 HW_CPU_X86_AVX ", false)
	write(func(node *store.Node) { node.ResourceClass = new("gold") })
	expect("CUSTOM_GOLD 1-1 used 0 HW_CPU_X86_AVX ", true)
	b.must(b.NodeMaintenance(ctx, "a node", false, nil))
	expect("CUSTOM_GOLD 1-0 used 0 HW_CPU_X86_AVX ", true)
	write(func(node *store.Node) { node.PowerState = nil })
	expect("CUSTOM_GOLD 1-1 used 0 HW_CPU_X86_AVX ", true)
	write(func(node *store.Node) { node.PowerState = new("error") })
	expect("CUSTOM_GOLD 1-1 used 0 HW_CPU_X86_AVX ", false)
	write(func(node *store.Node) { node.ResourceClass = nil })
	expect("HW_CPU_X86_AVX ", true)
	b.must(b.NodeDelete(ctx, "a node"))
	if got := b.provided(node); got != "nothing" {
		t.Errorf("left is %s", got)
	}
}

func TestNodeAllocation_WithPlacementBackend_ClaimsProvider(t *testing.T) {
	t.Parallel()
	b := asProviders(t)
	ctx := t.Context()
	node := b.freeOf("a node", "gold", new("ada"))
	done := b.decided(store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("ada")})
	if got := b.provided(node); got != "CUSTOM_GOLD 1-1 used 1 " {
		t.Errorf("assigned: %s", got)
	}
	claims, err := b.AllocationList(ctx, done.UUID)
	if err != nil || claims.ProjectID != "ada" || *claims.Type != "BAREMETAL" || len(claims.Rows) != 1 || claims.Rows[0].Provider != node.UUID {
		t.Errorf("got %+v, %v", claims, err)
	}
	_, err = b.NodeUpdate(ctx, "a node", func(node *store.Node) error { node.ResourceClass = new("silver"); return nil })
	b.must(err)
	if got := b.provided(node); got != "CUSTOM_GOLD 1-1 used 1 CUSTOM_SILVER 1-1 used 0 " {
		t.Errorf("after the class changed: %s", got)
	}
	b.auditNodes()
	b.must(b.NodeAllocationDelete(ctx, done.UUID.String()))
	if got := b.provided(node); got != "CUSTOM_SILVER 1-0 used 0 " {
		t.Errorf("after the release: %s", got)
	}

	released := b.free("b node", "gold")
	done = b.decided(store.NodeAllocationRequest{ResourceClass: "gold"})
	claims, err = b.AllocationList(ctx, done.UUID)
	if err != nil || claims.ProjectID != uuid.Nil.String() || claims.UserID != uuid.Nil.String() {
		t.Errorf("got %+v, %v", claims, err)
	}
	_, moved, err := b.NodeTransition(ctx, "b node", store.Transition{To: "cleaning", TransitionEffects: store.TransitionEffects{TearDown: true}})
	if got := b.provided(released); err != nil || !moved || got != "CUSTOM_GOLD 1-1 used 0 " {
		t.Errorf("being cleaned: %s, %v", got, err)
	}
	b.auditNodes()

	b.free("c node", "bronze")
	done = b.decided(store.NodeAllocationRequest{ResourceClass: "bronze"})
	b.must(b.NodeMaintenance(ctx, "c node", true, nil))
	b.must(b.NodeDelete(ctx, "c node"))
	if left := b.texts("SELECT uuid::text FROM consumers WHERE uuid = $1", done.UUID); len(left) > 0 {
		t.Errorf("left are consumers %v", left)
	}
}

func TestNodeAllocation_NodeClaimedInPlacement_NotSelected(t *testing.T) {
	t.Parallel()
	b := asProviders(t)
	ctx := t.Context()
	node := b.free("a node", "gold", "CUSTOM_A")
	b.claimed("1 server", node, "CUSTOM_GOLD")
	done := b.decided(store.NodeAllocationRequest{ResourceClass: "gold"})
	if got, want := gets(done), failed(done, "could not reserve any of 1 suitable nodes"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Other units of the node would be the same machine.
	_, err := b.NodeUpdate(ctx, "a node", func(node *store.Node) error { node.ResourceClass = new("silver"); return nil })
	refuses(t, err, store.InventoryInUse, store.Values{Node: node.UUID.String(), Provider: node.UUID.String(), Class: "CUSTOM_GOLD"})
	if outcome(b.NodeDelete(ctx, "a node")) != store.ProviderHasAllocations {
		t.Error("deleted a claimed node")
	}
	if got := b.provided(node); got != "CUSTOM_GOLD 1-0 used 1 CUSTOM_A " {
		t.Errorf("left is %s", got)
	}
	// Changes that do not affect the claim are permitted.
	b.must(b.NodeMaintenance(ctx, "a node", true, nil))
	b.must(b.NodeMaintenance(ctx, "a node", false, nil))
	_, err = b.AllocationDelete(ctx, named("1 server"), nil)
	b.must(err)
	if got := gets(b.decided(store.NodeAllocationRequest{ResourceClass: "gold"})); got != node.UUID.String() {
		t.Errorf("got %s", got)
	}
	b.auditNodes()
}

func TestNodeAllocation_ConsumerExistsInPlacement_EndsInError(t *testing.T) {
	t.Parallel()
	b := asProviders(t)
	ctx := t.Context()
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	b.must(b.AllocationReplace(ctx, []store.Claim{claim("1 server", nil, host, 3)}, true))
	b.free("b node", "gold")
	done := b.decided(store.NodeAllocationRequest{UUID: new(named("1 server")), ResourceClass: "gold"})
	want := failed(done, fmt.Sprintf("Consumer %s has allocations in Placement already", done.UUID))
	if got := gets(done); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.must(b.NodeAllocationRetry(ctx, done.UUID.String(), "me"))
	if reasons, err := b.NodeAllocationProcess(ctx, done.UUID, "me"); err != nil || len(reasons) > 0 {
		t.Errorf("reasons = %v, %v", reasons, err)
	}
	b.must(b.NodeAllocationDelete(ctx, done.UUID.String()))
	if got := b.used(host); got != 3 {
		t.Errorf("used by the server = %d", got)
	}

	// The consumer claims other resources while the node allocation has a node.
	done = b.decided(store.NodeAllocationRequest{ResourceClass: "gold"})
	_, err := b.AllocationDelete(ctx, done.UUID, nil)
	b.must(err)
	b.must(b.AllocationReplace(ctx, []store.Claim{{
		Consumer: done.UUID, ProjectID: "p", UserID: "u", Allocations: []store.Allocation{{Provider: host, Class: "VCPU", Amount: 2}},
	}}, true))
	b.must(b.NodeAllocationDelete(ctx, done.UUID.String()))
	if got := b.used(host); got != 5 {
		t.Errorf("used = %d", got)
	}
}

func TestNode_PlacementBackendEnabled_CreatesProviders(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	ctx := t.Context()
	b.must(b.ConductorRegister(ctx, "me", nil))
	free := b.free("a node", "gold", "CUSTOM_A")
	used := b.free("b node", "silver")
	foreign := b.free("c node", "bronze")
	done := b.decided(store.NodeAllocationRequest{ResourceClass: "silver"})
	bronze := b.decided(store.NodeAllocationRequest{ResourceClass: "bronze"})
	// Provider as Nova creates it, and with a class that the node doesn't have.
	_, err := b.ProviderCreate(ctx, foreign.UUID, foreign.UUID.String(), nil)
	b.must(err)
	_, err = b.ResourceClassCreate(ctx, "CUSTOM_BRONZE")
	b.must(err)
	_, err = b.InventoryReplace(ctx, foreign.UUID, 0, inventories(map[string]int32{"CUSTOM_BRONZE": 1, "VCPU": 4}), 1)
	b.must(err)
	b.claimed("2 nova", foreign, "CUSTOM_BRONZE")
	if got := b.provided(free); got != "nothing" {
		t.Errorf("got %s", got)
	}

	b.must(b.SetBaremetalBackend(ctx, true))
	b.must(b.SetBaremetalBackend(ctx, true))
	for node, want := range map[*store.Node]string{
		&free: "CUSTOM_GOLD 1-0 used 0 CUSTOM_A ", &used: "CUSTOM_SILVER 1-1 used 1 ", &foreign: "CUSTOM_BRONZE 1-1 used 1 ",
	} {
		if got := b.provided(*node); got != want {
			t.Errorf("on: got %s, want %s", got, want)
		}
	}

	// With the backend off, outdated inventories are not allocatable, and no row is lost.
	b.must(b.SetBaremetalBackend(ctx, false))
	if got := b.provided(free); got != "CUSTOM_GOLD 1-1 used 0 CUSTOM_A " {
		t.Errorf("off: %s", got)
	}
	b.must(b.NodeAllocationDelete(ctx, done.UUID.String()))
	b.must(b.NodeAllocationDelete(ctx, bronze.UUID.String()))
	if got := b.provided(used); got != "CUSTOM_SILVER 1-1 used 0 " {
		t.Errorf("released while off: %s", got)
	}
	b.free("d node", "gold")

	b.must(b.SetBaremetalBackend(ctx, true))
	b.auditNodes()
	if got := b.provided(used); got != "CUSTOM_SILVER 1-0 used 0 " {
		t.Errorf("on again: %s", got)
	}
	last := b.decided(store.NodeAllocationRequest{ResourceClass: "bronze"})
	if got, want := gets(last), failed(last, "could not reserve any of 1 suitable nodes"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNode_ProviderNameInUse_CreateRejected(t *testing.T) {
	t.Parallel()
	b := asProviders(t)
	_, err := b.ProviderCreate(t.Context(), named("1"), named("a node").String(), nil)
	b.must(err)
	if _, err := b.NodeCreate(t.Context(), bareNode("a node", "enroll")); outcome(err) != store.ProviderNameTaken {
		t.Errorf("got %v", err)
	}
}
