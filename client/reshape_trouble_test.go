package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestClient_ClaimDuringReshape_ReturnsConflictAndKeepsClaim: the generations in the tree are older than
// the allocations.
func TestClient_ClaimDuringReshape_ReturnsConflictAndKeepsClaim(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		for _, when := range []string{"before the allocations are read", "after the allocations are read", "by a consumer that is moved"} {
			t.Run(when, func(t *testing.T) {
				t.Parallel()
				c := cloudOf().build(t)
				tries := 0
				drive := func(tree *ProviderTree, allocations Allocations) error {
					switch {
					case tries > 0:
					case when == "by a consumer that is moved":
						if allocations != nil {
							c.claim(t, instanceA, map[uuid.UUID]Resources{cn: {"VGPU": 1}, numa1: {"VCPU": 2}})
						}
					case (allocations != nil) == (when == "after the allocations are read"):
						c.claim(t, id(103), map[uuid.UUID]Resources{cn: {"VGPU": 1}})
					}
					if record := allocations[id(103)]; record != nil {
						record.Allocations = map[uuid.UUID]Resources{gpu0: {"VGPU": 1}}
					}
					return splitGPUs(tree, allocations)
				}
				if err := pass(t.Context(), c.client, drive); !errors.Is(err, ErrReshapeConflict) {
					t.Fatalf("%v, want ErrReshapeConflict", err)
				}
				tries++
				c.requests()
				if err := pass(t.Context(), c.client, drive); err != nil {
					t.Fatal(err)
				}
				if sent := c.requests(); !slices.Contains(sent, "GET /rp/SSP/inventories") && !slices.Contains(sent, getTree) {
					t.Error("the whole cache was not dropped")
				}
				used, _, err := c.operator.ProviderAllocationList(t.Context(), gpu0)
				if err != nil || used[instanceA]["VGPU"] != 1 || when != "by a consumer that is moved" && used[id(103)]["VGPU"] != 1 {
					t.Errorf("of gpu0 is used %v, %v", used, err)
				}
			})
		}
	})
}

func TestClient_ReshapeResponseLost_DetectedAsApplied(t *testing.T) {
	t.Parallel()
	c, tree, allocations := prepared(t)
	c.wire.After = func(request *http.Request, answer *http.Response) (*http.Response, error) {
		if request.URL.Path == "/reshaper" {
			return nil, errCut
		}
		return answer, nil
	}
	c.update(t, tree, allocations)
	wantSplit(t, c)
	c.requests()
	if err := pass(t.Context(), c.client, splitGPUs); err != nil {
		t.Fatal(err)
	}
	wantRequests(t, c, "the next pass")
}

func TestClient_ReshapeRequestLost_ReturnsConflict(t *testing.T) {
	t.Parallel()
	c, tree, allocations := prepared(t)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if request.URL.Path == "/reshaper" {
			return nil, errCut
		}
		return nil, nil
	}
	err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations)
	if !errors.Is(err, ErrReshapeConflict) || !errors.Is(err, errCut) {
		t.Errorf("%v, want ErrReshapeConflict", err)
	}
	c.wire.Before = nil
	if err := pass(t.Context(), c.client, splitGPUs); err != nil {
		t.Fatal(err)
	}
	wantSplit(t, c)
}

func TestClient_ReshapeOutcomeUnreadable_ReturnsErrUnavailable(t *testing.T) {
	t.Parallel()
	c, tree, allocations := prepared(t)
	down := false
	c.wire.After = func(request *http.Request, answer *http.Response) (*http.Response, error) {
		if down = down || request.URL.Path == "/reshaper"; down {
			return nil, errCut
		}
		return answer, nil
	}
	err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations)
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrReshapeFailed) || errors.Is(err, ErrReshapeConflict) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	c.wire.After = nil
	if err := pass(t.Context(), c.client, splitGPUs); err != nil {
		t.Fatal(err)
	}
	wantSplit(t, c)
}

// TestClient_HostsWithSharedStorage_ReshapeConcurrently, as they do when all are upgraded.
func TestClient_HostsWithSharedStorage_ReshapeConcurrently(t *testing.T) {
	t.Parallel()
	c := emptyCloud(t)
	must(c.operator.ProviderCreate(t.Context(), "ssp", storage, uuid.Nil))(t)
	c.have(t, storage, Inventories{"DISK_GB": {Total: 1000}})
	c.join(t, storage, aggregate)
	c.mark(t, storage, sharingTrait)
	const hosts = 5
	for i := range hosts {
		host := id(1000 + i)
		must(c.operator.ProviderCreate(t.Context(), fmt.Sprintf("host%d", i), host, uuid.Nil))(t)
		c.have(t, host, Inventories{"VGPU": {Total: 4}})
		c.join(t, host, aggregate)
		c.claim(t, id(2000+i), map[uuid.UUID]Resources{host: {"VGPU": 1}, storage: {"DISK_GB": 1}})
	}
	var start sync.WaitGroup
	var group sync.WaitGroup
	start.Add(hosts)
	for i := range hosts {
		agent := newClientOf(t, c.server)
		group.Go(func() {
			name := fmt.Sprintf("host%d", i)
			tree, err := agent.GetProviderTreeAndEnsureRoot(t.Context(), id(1000+i), name, uuid.Nil)
			var allocations Allocations
			if err == nil {
				allocations, err = agent.GetAllocationsForProviderTree(t.Context(), name)
			}
			start.Done()
			start.Wait()
			if err == nil {
				record := allocations[id(2000+i)]
				record.Allocations[id(3000+i)] = record.Allocations[id(1000+i)]
				delete(record.Allocations, id(1000+i))
				_, err = tree.NewChild(name+"_gpu", name, id(3000+i))
			}
			if err == nil {
				_, err = tree.UpdateInventory(name+"_gpu", Inventories{"VGPU": {Total: 4}}, nil)
			}
			if err == nil {
				_, err = tree.UpdateInventory(name, nil, nil)
			}
			if err == nil {
				err = agent.UpdateFromProviderTree(t.Context(), tree, allocations)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	group.Wait()
}

// TestClient_Reshape_KeepsConcurrentWritesElsewhere: providers that took no part in it may have changed since they were
// read, and the client has not read them again.
func TestClient_Reshape_KeepsConcurrentWritesElsewhere(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c, tree, allocations := prepare(t, cloudOf().build(t))
		c.have(t, storage, Inventories{"DISK_GB": {Total: 5000}})
		if err := c.operator.TraitEnsure(t.Context(), "CUSTOM_THEIRS"); err != nil {
			t.Fatal(err)
		}
		c.mark(t, numa1, "CUSTOM_THEIRS")
		c.update(t, tree, allocations)
		wantSplit(t, c)
		if there, _, err := c.operator.InventoryList(t.Context(), storage); err != nil || there["DISK_GB"].Total != 5000 {
			t.Errorf("the storage has %v, %v", there, err)
		}
		// Nor afterwards.
		drive := func(tree *ProviderTree, _ Allocations) error { return tree.AddTraits("numa1", "HW_NUMA_ROOT") }
		if err := pass(t.Context(), c.client, drive); !errors.Is(err, ErrUpdateConflict) {
			t.Fatalf("%v, want ErrUpdateConflict", err)
		}
		if err := pass(t.Context(), c.client, drive); err != nil {
			t.Fatal(err)
		}
		traits, _, err := c.operator.ProviderTraitList(t.Context(), numa1)
		if err != nil || !slices.Equal(sortedNames(traits), []string{"CUSTOM_THEIRS", "HW_NUMA_ROOT"}) {
			t.Errorf("the traits are %q, %v", traits, err)
		}
	})
}

// TestClient_ReshapeWithOtherTraits_WritesThemInSameFlush, although a reshape
// moves their generations, too.
func TestClient_ReshapeWithOtherTraits_WritesThemInSameFlush(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c, tree, allocations := prepare(t, cloudOf().build(t))
		if err := errors.Join(tree.AddTraits("numa1", "HW_NUMA_ROOT"), tree.AddTraits("cn", "CUSTOM_A"),
			tree.AddAggregates("numa2", aggregate)); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, allocations)
		wantSplit(t, c)
		for _, provider := range []uuid.UUID{numa1, cn} {
			if traits, _, err := c.operator.ProviderTraitList(t.Context(), provider); err != nil || len(traits) != 1 {
				t.Errorf("the traits of %s are %q, %v", provider, traits, err)
			}
		}
	})
}

func TestClient_NewProviderTraitRejected_NoReshape(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		for name, prevents := range map[string]bool{"gpu0": true, "cn": false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c, tree, allocations := prepare(t, cloudOf().build(t))
				if err := tree.AddTraits(name, "HW_NOT_A_TRAIT"); err != nil {
					t.Fatal(err)
				}
				err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations)
				if !errors.Is(err, ErrSyncFailed) || errors.Is(err, ErrReshapeFailed) != prevents {
					t.Errorf("%v, want ErrSyncFailed, ErrReshapeFailed %t", err, prevents)
				}
				sent := c.requests()
				if slices.Contains(sent, "POST /reshaper") == prevents {
					t.Errorf("the requests are %q", sent)
				}
				if !prevents {
					wantSplit(t, c)
				}
			})
		}
	})
}
