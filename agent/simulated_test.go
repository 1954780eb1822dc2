package agent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
)

const (
	vgpu = "VGPU"
	// gpuTrait is on the children, so that there is something to write after a
	// reshape, too.
	gpuTrait = "CUSTOM_SIMULATED_GPU"
)

// simulated is the driver of a host whose virtual GPUs were counted on its root
// once and are now on a child for each GPU. It is for the tests of this package:
// its hypervisor is a map.
type simulated struct {
	// gpus are how many virtual ones each has; 0 means that it was pulled out.
	gpus map[string]int64
	// where says which GPUs each consumer uses.
	where map[uuid.UUID]map[string]int64
	// fail, if set, is returned instead of doing anything.
	fail error
	// asksAgain makes it ask for the allocations although it has them.
	asksAgain bool

	// Counted by the driver.
	calls, reshapes int
}

func (s *simulated) UpdateProviderTree(_ context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error {
	s.calls++
	if s.fail != nil {
		return s.fail
	}
	children, err := s.children(tree, nodeName)
	if err != nil {
		return err
	}
	root, err := tree.Provider(nodeName)
	if err != nil {
		return err
	}
	root.Inventories["VCPU"] = client.InventoryRecord{Total: 16}
	if _, old := root.Inventories[vgpu]; old {
		if allocations == nil || s.asksAgain {
			return fmt.Errorf("%w: %s is on the root still", client.ErrReshapeNeeded, vgpu)
		}
		if err := s.move(root.UUID, children, allocations); err != nil {
			return err
		}
		s.reshapes++
		delete(root.Inventories, vgpu)
	}
	_, err = tree.UpdateInventory(nodeName, root.Inventories, nil)
	return err
}

// children makes one for each GPU and tells their uuids.
func (s *simulated) children(tree *client.ProviderTree, nodeName string) (map[string]uuid.UUID, error) {
	children := map[string]uuid.UUID{}
	for _, gpu := range slices.Sorted(maps.Keys(s.gpus)) {
		name := nodeName + "_" + gpu
		if s.gpus[gpu] == 0 {
			if tree.Exists(name) {
				if err := tree.Remove(name); err != nil {
					return nil, err
				}
			}
			continue
		}
		if !tree.Exists(name) {
			if _, err := tree.NewChild(name, nodeName, uuid.Nil); err != nil {
				return nil, err
			}
		}
		if _, err := tree.UpdateInventory(name, client.Inventories{vgpu: {Total: int32(s.gpus[gpu])}}, nil); err != nil {
			return nil, err
		}
		if err := tree.AddTraits(name, gpuTrait); err != nil {
			return nil, err
		}
		child, err := tree.Provider(name)
		if err != nil {
			return nil, err
		}
		children[gpu] = child.UUID
	}
	return children, nil
}

// move puts what consumers have of the root where they really have it.
func (s *simulated) move(root uuid.UUID, children map[string]uuid.UUID, allocations client.Allocations) error {
	for _, consumer := range allocations.Consumers() {
		record := allocations[consumer]
		if record.Allocations[root][vgpu] == 0 {
			continue
		}
		used, known := s.where[consumer]
		if !known {
			return fmt.Errorf("%w: unknown GPU of consumer %s", client.ErrReshapeFailed, consumer)
		}
		for gpu, amount := range used {
			record.Allocations[children[gpu]] = client.Resources{vgpu: amount}
		}
		delete(record.Allocations[root], vgpu)
	}
	return nil
}

// The consumers of a host.
var (
	both     = uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000001") // processors, and a GPU on each card
	graphics = uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000002") // nothing but a GPU
	plain    = uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000003") // no GPU
	guest    = uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000004") // also on another host
	late     = uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000005") // comes in the middle
)

// host is one with the old shape and some consumers.
type host struct {
	t      *testing.T
	url    string
	setup  *client.Client // another client, without faults on its connection
	node   agent.Node
	other  uuid.UUID
	driver *simulated
}

func newHost(t *testing.T) *host {
	t.Helper()
	return newHostOn(t, serve(t))
}

// newHostOn is newHost on a server that knows nothing of it.
func newHostOn(t *testing.T, url string) *host {
	t.Helper()
	h := &host{
		t: t, url: url, setup: newClient(t, url), other: uuid.New(),
		node: agent.Node{Name: "cn1", UUID: uuid.MustParse("cccccccc-0000-4000-8000-000000000001")},
		driver: &simulated{
			gpus: map[string]int64{"gpu0": 4, "gpu1": 4},
			where: map[uuid.UUID]map[string]int64{
				both: {"gpu0": 1, "gpu1": 1}, graphics: {"gpu1": 1}, guest: {"gpu0": 1}, late: {"gpu1": 1},
			},
		},
	}
	h.provider(h.node.Name, h.node.UUID, client.Inventories{"VCPU": {Total: 16}, vgpu: {Total: 8}})
	h.provider("cn2", h.other, client.Inventories{"VCPU": {Total: 16}, vgpu: {Total: 8}})
	h.claim(both, map[uuid.UUID]client.Resources{h.node.UUID: {"VCPU": 2, vgpu: 2}})
	h.claim(graphics, map[uuid.UUID]client.Resources{h.node.UUID: {vgpu: 1}})
	h.claim(plain, map[uuid.UUID]client.Resources{h.node.UUID: {"VCPU": 1}})
	h.claim(guest, map[uuid.UUID]client.Resources{h.node.UUID: {vgpu: 1}, h.other: {"VCPU": 3, vgpu: 1}})
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) provider(name string, id uuid.UUID, inventories client.Inventories) {
	h.t.Helper()
	made, err := h.setup.ProviderCreate(h.t.Context(), name, id, uuid.Nil)
	h.must(err)
	_, _, err = h.setup.InventoryReplace(h.t.Context(), id, int64(made.Generation), inventories)
	h.must(err)
}

func (h *host) claim(consumer uuid.UUID, wanted map[uuid.UUID]client.Resources) {
	h.t.Helper()
	h.must(h.tryClaim(consumer, wanted))
}

func (h *host) tryClaim(consumer uuid.UUID, wanted map[uuid.UUID]client.Resources) error {
	return h.setup.AllocationReplace(h.t.Context(), consumer, &client.Consumer{
		Allocations: wanted, ProjectID: "p", UserID: "u", Type: "INSTANCE",
	}, nil)
}

// disturb writes to a provider like a concurrent client: it adds one trait in each call.
func (h *host) disturb(id uuid.UUID) error {
	traits, generation, err := h.setup.ProviderTraitList(h.t.Context(), id)
	if err != nil {
		return err
	}
	all, err := h.setup.TraitList(h.t.Context(), client.TraitFilter{Name: "startswith:HW_CPU_X86_A"})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(trait string) bool { return slices.Contains(traits, trait) })
	_, _, err = h.setup.ProviderTraitReplace(h.t.Context(), id, generation, append(traits, all[0]))
	return err
}

// remove takes everything off the server again.
func (h *host) remove() {
	h.t.Helper()
	for _, consumer := range []uuid.UUID{both, graphics, plain, guest, late} {
		if err := h.setup.AllocationDelete(h.t.Context(), consumer); err != nil && !errors.Is(err, client.ErrNotFound) {
			h.t.Fatal(err)
		}
	}
	providers := h.providers()
	for name, id := range providers {
		if name != h.node.Name {
			h.must(h.setup.ProviderDelete(h.t.Context(), id))
		}
	}
	h.must(h.setup.ProviderDelete(h.t.Context(), h.node.UUID))
	h.must(h.setup.ProviderDelete(h.t.Context(), h.other))
}

// tracker is one that starts afresh, behind a wire.
func (h *host) tracker(w *faultyTransport, options agent.Options) *agent.Tracker {
	h.t.Helper()
	if options.Pause == nil {
		options.Pause = func(int) time.Duration { return 0 }
	}
	return agent.NewTracker(newClient(h.t, h.url, client.WithTransport(w)), h.driver, h.node, options)
}

// providers are the host's by name, with their inventories' totals.
func (h *host) providers() map[string]uuid.UUID {
	h.t.Helper()
	listed, err := h.setup.ProviderList(h.t.Context(), client.ProviderFilter{InTree: h.node.UUID.String()})
	h.must(err)
	byName := map[string]uuid.UUID{}
	for _, one := range listed {
		byName[one.Name] = one.UUID
	}
	return byName
}

// held is what a consumer has, as "provider class amount" by the providers' names.
func (h *host) held(consumer uuid.UUID) []string {
	h.t.Helper()
	names := map[uuid.UUID]string{h.other: "cn2"}
	for name, id := range h.providers() {
		names[id] = name
	}
	record, err := h.setup.AllocationList(h.t.Context(), consumer)
	h.must(err)
	var held []string
	for id, resources := range record.Allocations {
		for class, amount := range resources {
			held = append(held, fmt.Sprint(names[id], " ", class, " ", amount))
		}
	}
	slices.Sort(held)
	return held
}

func (h *host) wantHeld(consumer uuid.UUID, want ...string) {
	h.t.Helper()
	if got := h.held(consumer); !slices.Equal(got, want) {
		h.t.Errorf("consumer %s holds %q, want %q", consumer, got, want)
	}
}

// wantOldShape is how newHost left it; empty children do not matter.
func (h *host) wantOldShape() {
	h.t.Helper()
	h.wantTotals(map[string]map[string]int32{"cn1": {"VCPU": 16, vgpu: 8}, "cn1_gpu0": {}, "cn1_gpu1": {}})
	h.wantHeld(both, "cn1 VCPU 2", "cn1 VGPU 2")
	h.wantHeld(graphics, "cn1 VGPU 1")
	h.wantHeld(plain, "cn1 VCPU 1")
	h.wantHeld(guest, "cn1 VGPU 1", "cn2 VCPU 3", "cn2 VGPU 1")
}

// wantNewShape is that of the driver.
func (h *host) wantNewShape() {
	h.t.Helper()
	h.wantTotals(map[string]map[string]int32{"cn1": {"VCPU": 16}, "cn1_gpu0": {vgpu: 4}, "cn1_gpu1": {vgpu: 4}})
	h.wantHeld(both, "cn1 VCPU 2", "cn1_gpu0 VGPU 1", "cn1_gpu1 VGPU 1")
	h.wantHeld(graphics, "cn1_gpu1 VGPU 1")
	h.wantHeld(plain, "cn1 VCPU 1")
	h.wantHeld(guest, "cn1_gpu0 VGPU 1", "cn2 VCPU 3", "cn2 VGPU 1")
	for _, gpu := range []string{"cn1_gpu0", "cn1_gpu1"} {
		traits, _, err := h.setup.ProviderTraitList(h.t.Context(), h.providers()[gpu])
		if err != nil || !slices.Equal(traits, []string{gpuTrait}) {
			h.t.Errorf("%s has the traits %q, %v", gpu, traits, err)
		}
	}
}

// wantNothingLost holds in the old shape, in the new one, and at every moment
// between them.
func (h *host) wantNothingLost() {
	h.t.Helper()
	for consumer, want := range map[uuid.UUID]int64{both: 2, graphics: 1, plain: 0, guest: 2} {
		record, err := h.setup.AllocationList(h.t.Context(), consumer)
		h.must(err)
		sum := int64(0)
		for _, resources := range record.Allocations {
			sum += resources[vgpu]
		}
		if sum != want {
			h.t.Errorf("consumer %s holds %d of %s, want %d", consumer, sum, vgpu, want)
		}
	}
}

// wantTotals compares the inventories; a provider that is wanted without any may
// also be absent.
func (h *host) wantTotals(want map[string]map[string]int32) {
	h.t.Helper()
	providers := h.providers()
	for name, id := range providers {
		inventories, _, err := h.setup.InventoryList(h.t.Context(), id)
		h.must(err)
		got := map[string]int32{}
		for class, record := range inventories {
			got[class] = record.Total
		}
		if !maps.Equal(got, want[name]) {
			h.t.Errorf("%s has %v, want %v", name, got, want[name])
		}
	}
	for name, classes := range want {
		if _, there := providers[name]; !there && len(classes) > 0 {
			h.t.Errorf("%s is missing", name)
		}
	}
}
