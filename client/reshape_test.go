package client

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestClient_ReshapeColdCache_SendsMinimalRequests is the whole conversation.
func TestClient_ReshapeColdCache_SendsMinimalRequests(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if err := pass(t.Context(), c.client, splitGPUs); err != nil {
		t.Fatal(err)
	}
	wantRequests(t, c, "a cold start",
		"GET /rp?in_tree=CN",
		"GET /rp/CN/inventories", "GET /rp/CN/aggregates", "GET /rp/CN/traits",
		"GET /rp/NUMA1/inventories", "GET /rp/NUMA1/aggregates", "GET /rp/NUMA1/traits",
		"GET /rp/NUMA2/inventories", "GET /rp/NUMA2/aggregates", "GET /rp/NUMA2/traits",
		"GET /rp?member_of=in:AGG&required=MISC_SHARES_VIA_AGGREGATE",
		"GET /rp/SSP/inventories", "GET /rp/SSP/aggregates", "GET /rp/SSP/traits",
		"GET /rp/CN/allocations", "GET /rp/NUMA1/allocations", "GET /rp/NUMA2/allocations",
		"GET /allocations/A", "GET /allocations/B",
		"POST /rp", "POST /rp",
		"POST /reshaper",
		"GET /rp/CN/inventories", "GET /rp/GPU0/inventories", "GET /rp/GPU1/inventories",
	)
	if err := pass(t.Context(), c.client, splitGPUs); err != nil {
		t.Fatal(err)
	}
	wantRequests(t, c, "a pass over an unchanged host")
}

// prepared is a cloud whose host has been loaded and asked, up to the writing.
func prepared(t testing.TB, options ...Option) (*cloud, *ProviderTree, Allocations) {
	t.Helper()
	return prepare(t, newCloud(t, options...))
}

func prepare(t testing.TB, c *cloud) (*cloud, *ProviderTree, Allocations) {
	t.Helper()
	tree := c.load(t)
	allocations := must(c.client.GetAllocationsForProviderTree(t.Context(), "cn"))(t)
	if err := splitGPUs(tree, allocations); err != nil {
		t.Fatal(err)
	}
	c.requests()
	return c, tree, allocations
}

// wantSplit looks whether the GPUs are children with their consumers.
func wantSplit(t testing.TB, c *cloud) {
	t.Helper()
	for provider, want := range map[uuid.UUID]map[uuid.UUID]Resources{
		cn: {}, gpu0: {instanceA: {"VGPU": 1}}, gpu1: {instanceB: {"VGPU": 1}},
		storage: {instanceA: {"DISK_GB": 10}, instanceB: {"DISK_GB": 10}},
	} {
		used, _, err := c.operator.ProviderAllocationList(t.Context(), provider)
		if err != nil {
			t.Fatal(err)
		}
		delete(used, id(103)) // a bystander of some tests
		if !reflect.DeepEqual(used, want) {
			t.Errorf("of %s is used %v, want %v", provider, used, want)
		}
	}
}

// reshapeBody is what the client sent.
func reshapeBody(t testing.TB, c *cloud) (body struct {
	Inventories map[uuid.UUID]json.RawMessage `json:"inventories"`
	Allocations map[uuid.UUID]struct {
		Allocations map[uuid.UUID]json.RawMessage `json:"allocations"`
	} `json:"allocations"`
}) {
	t.Helper()
	bodies, requests := c.wire.Bodies(), c.requests()
	at := slices.Index(requests, "POST /reshaper")
	if at < 0 {
		t.Fatalf("there is no reshape in %q", requests)
	}
	if err := json.Unmarshal([]byte(bodies[at]), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestClient_Reshape_ChangesOnlyMovedRows(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c, tree, allocations := prepare(t, cloudOf().build(t))
		before := dbtest.Snapshot(t, c.db)
		c.update(t, tree, allocations)
		wantSplit(t, c)
		for _, line := range before.Diff(dbtest.Snapshot(t, c.db)) {
			// Allocations are rows of whole consumers; what they say is compared above.
			if !slices.ContainsFunc([]string{"provider_generations", "allocations{", "consumers{", "inventories{provider_id: 1,",
				"inventories{provider_id: 5,", "inventories{provider_id: 6,", "resource_providers{id: 5,", "resource_providers{id: 6,"},
				func(part string) bool { return strings.Contains(line, part) }) {
				t.Errorf("the reshape also does: %s", line)
			}
		}
	})
}

// TestClient_ClaimOnSharingProvider_ReshapeWithoutConflict, of which every host of the
// cloud has many.
func TestClient_ClaimOnSharingProvider_ReshapeWithoutConflict(t *testing.T) {
	t.Parallel()
	c, tree, allocations := prepared(t)
	c.claim(t, id(103), map[uuid.UUID]Resources{storage: {"DISK_GB": 1}})
	c.update(t, tree, allocations)
	wantSplit(t, c)
	body := reshapeBody(t, c)
	for _, provider := range []uuid.UUID{storage, numa1, numa2} {
		if _, sent := body.Inventories[provider]; sent {
			t.Errorf("%s takes part in the reshape, though it is only looked at", provider)
		}
	}
}

func TestClient_ReshapeUneditedConsumers_NotSent(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.claim(t, id(103), map[uuid.UUID]Resources{numa1: {"VCPU": 1}})
	if err := pass(t.Context(), c.client, func(tree *ProviderTree, allocations Allocations) error {
		if allocations != nil && len(allocations) != 3 {
			t.Errorf("the driver is given %d consumers", len(allocations))
		}
		if allocations != nil {
			// Another client claims for a consumer that is not sent, on another provider.
			c.claim(t, id(103), map[uuid.UUID]Resources{numa1: {"VCPU": 2}})
		}
		return splitGPUs(tree, allocations)
	}); err != nil {
		t.Fatal(err)
	}
	if body := reshapeBody(t, c); len(body.Allocations) != 2 {
		t.Errorf("the consumers sent are %v", body.Allocations)
	}
	wantSplit(t, c)
}

// TestClient_ReshapeOmitsConsumer_ReturnsErrInventoryInUse: it still has what goes away.
func TestClient_ReshapeOmitsConsumer_ReturnsErrInventoryInUse(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c, tree, allocations := prepare(t, cloudOf().build(t))
		delete(allocations, instanceB)
		err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations)
		if !errors.Is(err, ErrReshapeFailed) || !errors.Is(err, ErrInventoryInUse) {
			t.Errorf("%v, want ErrReshapeFailed with ErrInventoryInUse", err)
		}
		for _, provider := range []uuid.UUID{gpu0, gpu1} {
			if there, _, err := c.operator.InventoryList(t.Context(), provider); err != nil || len(there) != 0 {
				t.Errorf("after the refusal %s has %v, %v", provider, there, err)
			}
		}
		// What is left over does not matter to the next attempt.
		if err := pass(t.Context(), c.client, splitGPUs); err != nil {
			t.Fatal(err)
		}
		wantSplit(t, c)
	})
}

// TestClient_ReshapeWithForeignRecords_SentComplete because it cannot be known what
// was edited in them.
func TestClient_ReshapeWithForeignRecords_SentComplete(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree, allocations := c.load(t), Allocations{}
	for _, consumer := range ids(101, 102) {
		allocations[consumer] = must(c.operator.AllocationList(t.Context(), consumer))(t)
	}
	if err := splitGPUs(tree, allocations); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, allocations)
	body := reshapeBody(t, c)
	if _, sent := body.Inventories[storage]; sent || len(body.Allocations) != 2 {
		t.Errorf("sent are %v", body)
	}
	wantSplit(t, c)
	c.update(t, tree, nil)
	wantRequests(t, c, "the same tree again")
}

func TestClient_ReshapeWithEmptyAllocations_OmitsThem(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if err := pass(t.Context(), c.client, func(tree *ProviderTree, allocations Allocations) error {
		err := splitGPUs(tree, allocations)
		if allocations != nil {
			allocations[instanceA].Allocations[numa2] = Resources{"VCPU": 0}
			allocations[instanceA].Allocations[storage]["VCPU"] = 0
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	sent := reshapeBody(t, c).Allocations[instanceA].Allocations
	if _, host := sent[cn]; host || len(sent) != 3 {
		t.Errorf("sent is %v, want numa1, gpu0 and the storage", sent)
	}
	wantSplit(t, c)
}

func TestClient_ReshapeEmptiesConsumer_ConsumerDeleted(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		if err := pass(t.Context(), c.client, func(tree *ProviderTree, allocations Allocations) error {
			err := splitGPUs(tree, allocations)
			if allocations != nil {
				clear(allocations[instanceB].Allocations)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if record := must(c.operator.AllocationList(t.Context(), instanceB))(t); len(record.Allocations) != 0 || record.Generation != nil {
			t.Errorf("the consumer has %+v", record)
		}
	})
}

// TestClient_ReshapeWithAllocationsOnOtherHost_KeepsThem: an instance that is being evacuated is on two.
func TestClient_ReshapeWithAllocationsOnOtherHost_KeepsThem(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "other", id(50), uuid.Nil))(t)
		c.have(t, id(50), Inventories{"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}})
		whole := map[uuid.UUID]Resources{cn: {"VGPU": 1}, numa1: {"VCPU": 2}, id(50): {"VCPU": 3, "MEMORY_MB": 17}}
		c.claim(t, instanceA, whole)
		if err := pass(t.Context(), c.client, splitGPUs); err != nil {
			t.Fatal(err)
		}
		delete(whole, cn)
		whole[gpu0] = Resources{"VGPU": 1}
		if record := must(c.operator.AllocationList(t.Context(), instanceA))(t); !reflect.DeepEqual(record.Allocations, whole) {
			t.Errorf("the consumer has %v, want %v", record.Allocations, whole)
		}
	})
}

// mergeNUMA is a driver that moves all of numa1 to numa2 and gives it up.
func mergeNUMA(tree *ProviderTree, allocations Allocations) error {
	if !tree.Exists("numa1") {
		return nil
	}
	if allocations == nil {
		return ErrReshapeNeeded
	}
	for _, record := range allocations {
		if record.Allocations[numa1] != nil {
			record.Allocations[numa2] = record.Allocations[numa1]
			delete(record.Allocations, numa1)
		}
	}
	_, err := tree.UpdateInventory("numa2", Inventories{"VCPU": {Total: 16}, "MEMORY_MB": {Total: 8192}}, nil)
	return errors.Join(err, tree.Remove("numa1"))
}

func TestClient_ReshapeRemovesProvider_DeletedAfterReshape(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.load(t)
	c.requests()
	if err := pass(t.Context(), c.client, mergeNUMA); err != nil {
		t.Fatal(err)
	}
	wantRequests(t, c, "the pass", "GET /rp/CN/allocations", "GET /rp/NUMA1/allocations", "GET /rp/NUMA2/allocations",
		"GET /allocations/A", "GET /allocations/B", "POST /reshaper",
		"GET /rp/NUMA2/inventories", "DELETE /rp/NUMA1")
	c.client.ClearCache()
	wantOutline(t, c.load(t), "cn<", "numa2<cn", "ssp<")
}

func TestReshape_InventoryInUse_NothingChanged(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	before := dbtest.Snapshot(t, c.db)
	err := pass(t.Context(), c.client, func(tree *ProviderTree, allocations Allocations) error {
		err := mergeNUMA(tree, allocations)
		delete(allocations, instanceA)
		return err
	})
	if !errors.Is(err, ErrReshapeFailed) || !errors.Is(err, ErrInventoryInUse) {
		t.Errorf("%v, want ErrReshapeFailed with ErrInventoryInUse", err)
	}
	if changes := before.Diff(dbtest.Snapshot(t, c.db)); len(changes) > 0 {
		t.Errorf("the database has changed by %q", changes)
	}
}

func TestClient_ReshapeInPlace_RenamesClass(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		drive := func(tree *ProviderTree, allocations Allocations) error {
			if node, err := tree.Provider("numa1"); err != nil || node.Inventories["PCPU"].Total > 0 {
				return err
			}
			if allocations == nil {
				return ErrReshapeNeeded
			}
			resources := allocations[instanceA].Allocations[numa1]
			resources["PCPU"] = resources["VCPU"]
			delete(resources, "VCPU")
			_, err := tree.UpdateInventory("numa1", Inventories{"PCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}}, nil)
			return err
		}
		for range 2 {
			if err := pass(t.Context(), c.client, drive); err != nil {
				t.Fatal(err)
			}
		}
		used, _, err := c.operator.ProviderUsageList(t.Context(), numa1)
		if err != nil || !reflect.DeepEqual(used, Resources{"PCPU": 2, "MEMORY_MB": 512}) {
			t.Errorf("of numa1 is used %v, %v", used, err)
		}
	})
}
