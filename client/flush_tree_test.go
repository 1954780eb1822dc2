package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// extendedCloud is newCloud with a client that uses all extensions.
func extendedCloud(t *testing.T, options ...Option) *cloud {
	t.Helper()
	c := newCloud(t, options...)
	c.wire.Extended = true
	return c
}

func TestClient_TreeWithNewNames_WrittenInOneRequest(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	tree := c.load(t)
	c.requests()
	if _, err := tree.NewChild("gpu0", "numa1", gpu0); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.UpdateInventory("gpu0", Inventories{"VGPU": {Total: 1}, "CUSTOM_GPU": {Total: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tree.AddTraits("gpu0", "CUSTOM_A", "CUSTOM_B"), tree.AddAggregates("gpu0", aggregate), tree.Rename("numa2", "two"),
		tree.AddTraits("ssp", "CUSTOM_SHARED")); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	wantRequests(t, c, "two trees", "PUT /rp/CN/tree", "PUT /rp/SSP/tree")
	c.update(t, tree, nil)
	wantRequests(t, c, "the same again")
	other := must(newClientOf(t, c.server).GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil))(t)
	if difference := compareTrees(tree, other); difference != nil {
		t.Error(difference)
	}
	for _, node := range tree.Nodes() {
		present := must(other.Provider(node.UUID.String()))(t)
		if node.Generation == nil || *node.Generation != *present.Generation {
			t.Errorf("%s has the generation %v, want %d", node.Name, node.Generation, *present.Generation)
		}
	}
	dbtest.Audit(t, c.db)
}

func TestClient_ReshapeOfOneTree_WrittenInOneRequest(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	_, tree, allocations := prepare(t, c)
	c.update(t, tree, allocations)
	wantRequests(t, c, "a reshape", "PUT /rp/CN/tree")
	wantSplit(t, c)
	c.update(t, tree, nil)
	wantRequests(t, c, "the next pass")
}

// TestClient_TreeResponseLost_Repeated: a tree that is as wanted is accepted again.
func TestClient_TreeResponseLost_Repeated(t *testing.T) {
	t.Parallel()
	for what, wire := range map[string]*faultyTransport{
		"the response": losing("PUT", "/resource_providers/", 2), "the request": failing("PUT", "/resource_providers/", 2, cut),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := extendedCloud(t)
			_, tree, allocations := prepare(t, c)
			c.wire.Before, c.wire.After = wire.Before, wire.After
			c.update(t, tree, allocations)
			wantRequests(t, c, "a reshape", "PUT /rp/CN/tree", "PUT /rp/CN/tree", "PUT /rp/CN/tree")
			wantSplit(t, c)
			if err := tree.AddTraits("gpu0", "CUSTOM_X"); err != nil {
				t.Fatal(err)
			}
			c.update(t, tree, nil)
		})
	}
}

// TestClient_TreeNeverAnswered_LoadedAgain: what the server did is found at the next pass.
func TestClient_TreeNeverAnswered_LoadedAgain(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		c := extendedCloud(t)
		_, tree, allocations := prepare(t, c)
		lose := func(request *http.Request) bool { return request.Method == http.MethodPut }
		c.wire.Before = func(request *http.Request) (*http.Response, error) {
			if lose(request) && !after {
				return nil, errCut
			}
			return nil, nil
		}
		c.wire.After = func(request *http.Request, answered *http.Response) (*http.Response, error) {
			if lose(request) {
				return nil, errCut
			}
			return answered, nil
		}
		err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations)
		wantErrors(t, err, ErrUnavailable, ErrOutcomeUnknown)
		c.wire.Before, c.wire.After = nil, nil
		if err := pass(t.Context(), c.client, splitGPUs); err != nil {
			t.Fatal(err)
		}
		wantSplit(t, c)
	}
}

// TestClient_TreeDeniedByPolicy_WrittenStepByStep, as by a service whose operator permits only the single writes.
func TestClient_TreeDeniedByPolicy_WrittenStepByStep(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	_, tree, allocations := prepare(t, c)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, "/tree") {
			return answer(request, 403, "", "OpenStack-API-Version: placement 1.39", "OpenStack-API-Version: berth 1.3"), nil
		}
		return nil, nil
	}
	c.update(t, tree, allocations)
	wantSplit(t, c)
	if sent := c.requests(); !slices.Contains(sent, "POST /reshaper") {
		t.Errorf("sent %q", sent)
	}
}

// TestClient_ProviderMovedToOtherTree_WrittenStepByStep, since a request is for one tree.
func TestClient_ProviderMovedToOtherTree_WrittenStepByStep(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "rack", id(10), uuid.Nil))(t)
		c.load(t)
		tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), id(10), "rack", uuid.Nil))(t)
		if err := errors.Join(tree.Move("numa2", "rack"), tree.AddTraits("numa2", "CUSTOM_MOVED")); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		if present := must(c.operator.ProviderShow(t.Context(), numa2))(t); present.RootProviderUUID != id(10) {
			t.Errorf("numa2 is in the tree of %s", present.RootProviderUUID)
		}
	})
}

func TestClient_StaleTree_ConfirmedOrRead(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t, WithMemberRefresh(time.Hour))
	now := time.Now()
	c.client.now = func() time.Time { return now }
	c.load(t)
	c.requests()
	refreshed := func() *ProviderTree { now = now.Add(301 * time.Second); return c.load(t) }
	before := dbtest.Snapshot(t, c.db)
	refreshed()
	wantRequests(t, c, "an unchanged tree", "PUT /rp/CN/tree")
	if changes := before.Diff(dbtest.Snapshot(t, c.db)); len(changes) > 0 {
		t.Errorf("the database changed: %q", changes)
	}
	// Generations that only claims changed are taken over.
	c.claim(t, id(110), map[uuid.UUID]Resources{numa1: {"VCPU": 1}})
	tree := refreshed()
	wantRequests(t, c, "a tree with a new claim", "PUT /rp/CN/tree")
	if err := tree.AddTraits("numa1", "CUSTOM_X"); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	c.requests()
	// Any other change is not: the tree is read, and nothing is written.
	for _, change := range []struct {
		what string
		do   func()
	}{
		{"traits", func() { c.mark(t, numa1, "HW_NUMA_ROOT") }},
		{"inventories", func() { c.have(t, numa2, Inventories{"VCPU": {Total: 9}, "MEMORY_MB": {Total: 4096}}) }},
		{"aggregates", func() { c.join(t, numa2, aggregate) }},
		{"a name", func() { must(c.operator.ProviderUpdate(t.Context(), numa2, "two", cn))(t) }},
		{"a parent", func() { must(c.operator.ProviderUpdate(t.Context(), numa2, "two", numa1))(t) }},
		{"a deletion", func() {
			must(c.operator.Release(t.Context(), instanceB, true))(t)
			if err := c.operator.ProviderDelete(t.Context(), numa2); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		change.do()
		before := dbtest.Snapshot(t, c.db)
		tree := refreshed()
		wantRequests(t, c, change.what, "PUT /rp/CN/tree", getTree)
		if changes := before.Diff(dbtest.Snapshot(t, c.db)); len(changes) > 0 {
			t.Errorf("%s: the database changed: %q", change.what, changes)
		}
		other := must(newClientOf(t, c.server).GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil))(t)
		if difference := compareTrees(other, tree); difference != nil {
			t.Errorf("%s: %v", change.what, difference)
		}
	}
}

func TestClient_StaleMemberList_ReadAgain(t *testing.T) {
	t.Parallel()
	for newest, want := range map[string][]string{
		"1.3": {"GET /rp?in_tree=CN", "PUT /rp/CN/tree"},
		"1.4": {getTree},
	} {
		t.Run(newest, func(t *testing.T) {
			t.Parallel()
			c := extendedCloud(t)
			c.wire.Newest = newest
			now := time.Now()
			c.client.now = func() time.Time { return now }
			c.load(t)
			c.join(t, cn)
			c.load(t)
			now = now.Add(301 * time.Second)
			c.load(t)
			c.requests()
			now = now.Add(301 * time.Second)
			c.load(t)
			wantRequests(t, c, "an unchanged tree", want...)
			must(c.operator.ProviderCreate(t.Context(), "nic0", id(40), cn))(t)
			now = now.Add(301 * time.Second)
			wantOutline(t, c.load(t), "cn<", "nic0<cn", "numa1<cn", "numa2<cn")
		})
	}
}

// getTree is the request that loads the tree of the host from a service with berth 1.4.
const getTree = "GET /rp/CN/tree?include=inventories,traits,aggregates,sharing"

// TestClient_ParentRemovedAndChildMoved_DescendantsKept: the cache must not lose what moved away with its descendants.
func TestClient_ParentRemovedAndChildMoved_DescendantsKept(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "bus", id(40), cn))(t)
		must(c.operator.ProviderCreate(t.Context(), "card", id(41), id(40)))(t)
		must(c.operator.ProviderCreate(t.Context(), "port", id(42), id(41)))(t)
		tree := c.load(t)
		if err := errors.Join(tree.Move("card", "cn"), tree.Remove("bus")); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		wantOutline(t, c.load(t), "cn<", "card<cn", "port<card", "numa1<cn", "numa2<cn", "ssp<")
	})
}
