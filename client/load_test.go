package client

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestClient_MissingHost_Created(t *testing.T) {
	t.Parallel()
	c := emptyCloud(t)
	wantOutline(t, c.load(t), "cn<")
	wantRequests(t, c, "the first load", "GET /rp?in_tree=CN", "POST /rp")
	wantOutline(t, c.load(t), "cn<")
	wantRequests(t, c, "the second load")

	tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), numa1, "numa1", cn))(t)
	wantOutline(t, tree, "cn<", "numa1<cn")
	wantRequests(t, c, "a child of a known parent", "GET /rp?in_tree=NUMA1", "POST /rp")
}

func TestClient_EnsureChildOfUnknownParent_LoadsParentTree(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), gpu0, "gpu0", numa1))(t)
	wantOutline(t, tree, "cn<", "numa1<cn", "gpu0<numa1", "numa2<cn", "ssp<")
}

func TestClient_LoadByAnyMember_LoadsWholeTree(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), numa2, "numa2", cn))(t)
	wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "ssp<")
	c.requests()
	c.load(t)
	wantRequests(t, c, "loading the same tree by its root")
}

func TestClient_LoadTree_IncludesSharingProvidersAndGenerations(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := c.load(t)
	ssp, err := tree.Provider("ssp")
	if err != nil || !slices.Equal(ssp.Traits, []string{sharingTrait}) || !slices.Equal(ssp.Aggregates, ids(201)) ||
		ssp.Inventories["DISK_GB"].Total != 1000 || *ssp.Inventories["DISK_GB"].MinUnit != 1 {
		t.Errorf("the sharing provider is %+v, %v", ssp, err)
	}
	if !tree.HasSharingProvider("DISK_GB") {
		t.Error("the shared disk is not seen")
	}
	for _, node := range tree.Nodes() {
		present := must(c.operator.ProviderShow(t.Context(), node.UUID))(t)
		if node.Generation == nil || *node.Generation != present.Generation {
			t.Errorf("%s has the generation %v, want %d", node.Name, node.Generation, present.Generation)
		}
	}
}

func TestClient_SharingProviderAggregates_NotFollowed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	// A second storage is in another aggregate of the first one, and in none of the host's.
	if _, err := c.operator.ProviderCreate(t.Context(), "far", id(10), uuid.Nil); err != nil {
		t.Fatal(err)
	}
	c.join(t, storage, aggregate, id(202))
	c.join(t, id(10), id(202))
	c.mark(t, id(10), sharingTrait)
	wantOutline(t, c.load(t), "cn<", "numa1<cn", "numa2<cn", "ssp<")
}

func TestClient_SharingProviderWithParent_ShownAsRoot(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		if _, err := c.operator.ProviderCreate(t.Context(), "rack", id(10), uuid.Nil); err != nil {
			t.Fatal(err)
		}
		must(c.operator.ProviderUpdate(t.Context(), storage, "ssp", id(10)))(t)
		tree := c.load(t)
		wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "ssp<")
		if err := tree.Rename("ssp", "disk"); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		present := must(c.operator.ProviderShow(t.Context(), storage))(t)
		if present.Name != "disk" || parentOf(present) != id(10) {
			t.Errorf("the renamed provider is %q below %s, want disk below its own parent", present.Name, parentOf(present))
		}
		// When its own tree is asked for, it takes its place there.
		tree = must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), id(10), "rack", uuid.Nil))(t)
		wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "rack<", "disk<rack")
	})
}

func TestClient_SharingProviderLeavesAggregate_DroppedFromTree(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		now := time.Now()
		c.client.now = func() time.Time { return now }
		c.load(t)
		c.join(t, cn)
		now = now.Add(301 * time.Second)
		wantOutline(t, c.load(t), "cn<", "numa1<cn", "numa2<cn")
	})
}

func TestClient_Refresh_RereadsOnlyStaleProviders(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	now := time.Now()
	c.client.now = func() time.Time { return now }
	tree := c.load(t)
	now = now.Add(200 * time.Second)
	if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	now = now.Add(101 * time.Second) // 301 for all but the GPU
	c.mark(t, numa1, "HW_NUMA_ROOT")
	c.requests()
	tree = c.load(t)
	if has, err := tree.HasTraits("numa1", "HW_NUMA_ROOT"); err != nil || !has {
		t.Errorf("the new trait is seen: %t, %v", has, err)
	}
	for _, line := range c.requests() {
		if strings.Contains(line, "GPU0") {
			t.Errorf("%s, though it is fresh", line)
		}
	}
	now = now.Add(299 * time.Second)
	c.load(t)
	for _, line := range c.requests() {
		if strings.Contains(line, "/NUMA1") {
			t.Errorf("%s, though it is fresh", line)
		}
	}
}

func TestClient_RefreshZero_ReadsOnce(t *testing.T) {
	t.Parallel()
	c := newCloud(t, WithRefresh(0))
	now := time.Now()
	c.client.now = func() time.Time { return now }
	c.load(t)
	c.requests()
	now = now.Add(1e6 * time.Second)
	c.load(t)
	wantRequests(t, c, "a load much later")
	c.client.ClearCache()
	c.load(t)
	if len(c.requests()) == 0 {
		t.Error("a load of a cleared cache sends nothing")
	}
}

// TestClient_WriteDuringRead_ReadsOneGeneration has another client write between the three reads.
func TestClient_WriteDuringRead_ReadsOneGeneration(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	written := false
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, cn.String()+"/traits") && !written {
			written = true
			c.have(t, cn, Inventories{"VGPU": {Total: 9}})
		}
		return nil, nil
	}
	node := must(c.load(t).Provider("cn"))(t)
	present := must(c.operator.ProviderShow(t.Context(), cn))(t)
	if node.Inventories["VGPU"].Total != 9 || *node.Generation != present.Generation {
		t.Errorf("total %d at generation %d, want 9 at %d", node.Inventories["VGPU"].Total, *node.Generation, present.Generation)
	}
}

// TestClient_ConstantWrites_KeepOlderGeneration writes before every read.
func TestClient_ConstantWrites_KeepOlderGeneration(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	writes := int32(0)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.URL.Path, cn.String()+"/") && request.Method == http.MethodGet {
			writes++
			c.have(t, cn, Inventories{"VGPU": {Total: 10 + writes}})
		}
		return nil, nil
	}
	tree := c.load(t)
	if writes > 10 {
		t.Errorf("it was read %d times", writes)
	}
	if err := tree.AddTraits("cn", "HW_NUMA_ROOT"); err != nil {
		t.Fatal(err)
	}
	if err := c.client.UpdateFromProviderTree(t.Context(), tree, nil); !errors.Is(err, ErrUpdateConflict) {
		t.Errorf("a write over what was not read: %v, want ErrUpdateConflict", err)
	}
}

func TestClient_NewGenerationListed_RereadsData(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		now := time.Now()
		c.client.now = func() time.Time { return now }
		tree := c.load(t)
		now = now.Add(200 * time.Second)
		if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		c.have(t, gpu0, Inventories{"VGPU": {Total: 3}})
		now = now.Add(101 * time.Second) // the GPU is fresh, but listed with another generation
		node := must(c.load(t).Provider("gpu0"))(t)
		if node.Inventories["VGPU"].Total != 3 {
			t.Errorf("the GPU has %v at generation %d", node.Inventories, *node.Generation)
		}
	})
}

func TestClient_ProviderCreatedConcurrently_UsesExisting(t *testing.T) {
	t.Parallel()
	c := emptyCloud(t)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPost {
			if _, err := c.operator.ProviderCreate(t.Context(), "cn", cn, uuid.Nil); err != nil {
				return nil, err
			}
			c.mark(t, cn, "HW_NUMA_ROOT")
		}
		return nil, nil
	}
	tree := c.load(t)
	if has, err := tree.HasTraits("cn", "HW_NUMA_ROOT"); err != nil || !has {
		t.Errorf("the traits of the other one's provider are seen: %t, %v", has, err)
	}
}

func TestClient_ConcurrentEnsure_AllSucceed(t *testing.T) {
	t.Parallel()
	c := emptyCloud(t)
	var group sync.WaitGroup
	for range 8 {
		agent := newClientOf(t, c.server)
		group.Go(func() {
			tree, err := agent.GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil)
			if err != nil || !tree.Exists("cn") {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestClient_EnsureWithUsedName_ReportsBothProviders(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	_, err := c.client.GetProviderTreeAndEnsureRoot(t.Context(), id(55), "cn", uuid.Nil)
	if !errors.Is(err, ErrDuplicateName) || !strings.Contains(err.Error(), id(55).String()) || !strings.Contains(err.Error(), cn.String()) {
		t.Errorf("%v, want an ErrDuplicateName that names both", err)
	}
}

func TestClient_ServerNameDiffers_UsedAndLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newCloud(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), numa1, "socket", id(77)))(t)
	if node := must(tree.Provider(numa1.String()))(t); node.Name != "numa1" || node.Parent != cn {
		t.Errorf("the provider is %+v", node)
	}
	if !strings.Contains(log.String(), "asked_name=socket") || !strings.Contains(log.String(), "name=numa1") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestClient_ProvidersDeletedAndRenamed_TreeUpdated(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		now := time.Now()
		c.client.now = func() time.Time { return now }
		c.load(t)
		c.claim(t, instanceA, map[uuid.UUID]Resources{})
		if err := c.operator.ProviderDelete(t.Context(), numa1); err != nil {
			t.Fatal(err)
		}
		must(c.operator.ProviderUpdate(t.Context(), numa2, "numa1", cn))(t)
		must(c.operator.ProviderCreate(t.Context(), "numa2", id(33), numa2))(t)
		now = now.Add(301 * time.Second)
		tree := c.load(t)
		wantOutline(t, tree, "cn<", "numa1<cn", "numa2<numa1", "ssp<")
	})
}

func TestClient_NameReusedByNewTree_CacheUpdated(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		c.load(t)
		must(c.operator.ProviderUpdate(t.Context(), cn, "cn-old", uuid.Nil))(t)
		must(c.operator.ProviderCreate(t.Context(), "cn", id(55), uuid.Nil))(t)
		tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), id(55), "cn", uuid.Nil))(t)
		if node := must(tree.Provider("cn"))(t); node.UUID != id(55) {
			t.Errorf("cn is %s", node.UUID)
		}
		wantOutline(t, c.load(t), "cn<", "cn-old<", "numa1<cn-old", "numa2<cn-old", "ssp<")
	})
}

func TestClient_ProviderDeletedDuringLoad_Omitted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.claim(t, instanceA, map[uuid.UUID]Resources{})
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, numa1.String()+"/traits") {
			return nil, c.operator.ProviderDelete(t.Context(), numa1)
		}
		return nil, nil
	}
	wantOutline(t, c.load(t), "cn<", "numa2<cn", "ssp<")
}

func TestClient_ConsumerDeletedDuringRead_Omitted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.load(t)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, instanceA.String()) {
			return nil, c.operator.AllocationDelete(t.Context(), instanceA)
		}
		return nil, nil
	}
	allocations := must(c.client.GetAllocationsForProviderTree(t.Context(), "cn"))(t)
	if got := allocations.Consumers(); !slices.Equal(got, ids(102)) {
		t.Errorf("the consumers are %v", got)
	}
}

func TestClient_SubtreeAllocations_ReadCompleteForEveryConsumer(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.load(t)
	c.requests()
	allocations := must(c.client.GetAllocationsForProviderTree(t.Context(), "numa1"))(t)
	wantRequests(t, c, "reading", "GET /rp/NUMA1/allocations", "GET /allocations/A")
	record := allocations[instanceA]
	if len(allocations) != 1 || record.Allocations[storage]["DISK_GB"] != 10 || record.Allocations[cn]["VGPU"] != 1 {
		t.Errorf("the allocations are %+v", allocations)
	}
	if _, err := c.client.GetAllocationsForProviderTree(t.Context(), "missing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown name: %v, want ErrNotFound", err)
	}
}

// TestClient_PartiallyReadTree_NotCached: what was not read would be taken for empty.
func TestClient_PartiallyReadTree_NotCached(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"GET /rp/NUMA2/aggregates", "GET /rp", "GET /rp/SSP/inventories"} {
		c := newCloud(t)
		now := time.Now()
		c.client.now = func() time.Time { return now }
		for _, already := range []bool{false, true} {
			seen := 0
			c.wire.Before = func(request *http.Request) (*http.Response, error) {
				line := named([]string{request.Method + " " + request.URL.Path})[0]
				if line == cut && !request.URL.Query().Has("in_tree") {
					seen++
					return nil, errCut
				}
				return nil, nil
			}
			if _, err := c.client.GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil); !errors.Is(err, errCut) || seen == 0 {
				t.Errorf("%s is cut, loaded before %t: %v", cut, already, err)
			}
			c.wire.Before = nil
			tree := c.load(t)
			wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "ssp<")
			for _, name := range []string{"cn", "numa2", "ssp"} {
				if has, err := tree.HasInventory(name); err != nil || !has {
					t.Errorf("%s was cut, then %s has inventory: %t, %v", cut, name, has, err)
				}
			}
			now = now.Add(301 * time.Second)
		}
	}
}

// TestClient_ManyAggregates_QueriedInBatches, because a query string cannot be long.
func TestClient_ManyAggregates_QueriedInBatches(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	many := []uuid.UUID{aggregate}
	for number := range 149 {
		many = append(many, id(5000+number))
	}
	c.join(t, cn, many...)
	must(c.operator.ProviderCreate(t.Context(), "far", id(10), uuid.Nil))(t)
	c.join(t, id(10), many[149])
	c.mark(t, id(10), sharingTrait)
	wantOutline(t, c.load(t), "cn<", "numa1<cn", "numa2<cn", "far<", "ssp<")
	questions := 0
	for _, line := range c.requests() {
		if strings.Contains(line, "member_of") {
			questions++
		}
	}
	if questions != 2 {
		t.Errorf("there were %d questions for those who share", questions)
	}
}
