package client

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

// cloud is a host with two NUMA nodes, whose two GPUs are told at the host itself
// as they were before there were trees. Its disk is on a sharing provider. Two
// instances run on it; each has a virtual GPU.
type cloud struct {
	db     *dbtest.DB
	server *httptest.Server
	// wire is what the client, which is the host's agent, has to the server.
	wire   *faultyTransport
	client *Client
	// operator is another client.
	operator *Client
}

// Who is in the cloud. The GPUs come with the reshape.
var (
	cn, numa1, numa2, gpu0, gpu1, storage = id(1), id(2), id(3), id(4), id(5), id(9)
	instanceA, instanceB                  = id(101), id(102)
	aggregate                             = id(201)
	people                                = map[string]uuid.UUID{
		"CN": cn, "NUMA1": numa1, "NUMA2": numa2, "GPU0": gpu0, "GPU1": gpu1, "SSP": storage,
		"A": instanceA, "B": instanceB, "AGG": aggregate,
	}
)

func newCloud(t testing.TB, options ...Option) *cloud {
	t.Helper()
	c := emptyCloud(t, options...)
	c.build(t)
	return c
}

// services are what a client sees: a service without berth 1.3, such as OpenStack Placement,
// to which it writes step by step; and Berth, to which it writes a tree in one request.
var services = map[string]bool{"OpenStack Placement": false, "Berth": true}

// onBothServices runs a test of a result that is the same on both.
func onBothServices(t *testing.T, test func(t *testing.T, cloudOf func(...Option) *cloud)) {
	t.Helper()
	for name, extended := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(options ...Option) *cloud {
				c := emptyCloud(t, options...)
				c.wire.Extended = extended
				return c
			})
		})
	}
}

// emptyCloud is a server without anything.
func emptyCloud(t testing.TB, options ...Option) *cloud {
	t.Helper()
	made := servertest.New(t, servertest.Options{})
	c := &cloud{db: made.DB, wire: &faultyTransport{}, server: made.Listen(t)}
	c.client = newClientOf(t, c.server, append([]Option{WithTransport(c.wire)}, options...)...)
	c.operator = newClientOf(t, c.server)
	return c
}

// build is what was there before the agent came.
func (c *cloud) build(t testing.TB) *cloud {
	t.Helper()
	ctx := t.Context()
	for _, made := range []struct {
		name       string
		id, parent uuid.UUID
	}{{"cn", cn, uuid.Nil}, {"numa1", numa1, cn}, {"numa2", numa2, cn}, {"ssp", storage, uuid.Nil}} {
		if _, err := c.operator.ProviderCreate(ctx, made.name, made.id, made.parent); err != nil {
			t.Fatal(err)
		}
	}
	c.have(t, cn, Inventories{"VGPU": {Total: 4}})
	c.have(t, numa1, Inventories{"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}})
	c.have(t, numa2, Inventories{"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}})
	c.have(t, storage, Inventories{"DISK_GB": {Total: 1000}})
	c.join(t, cn, aggregate)
	c.join(t, storage, aggregate)
	c.mark(t, storage, sharingTrait)
	c.claim(t, instanceA, map[uuid.UUID]Resources{cn: {"VGPU": 1}, numa1: {"VCPU": 2, "MEMORY_MB": 512}, storage: {"DISK_GB": 10}})
	c.claim(t, instanceB, map[uuid.UUID]Resources{cn: {"VGPU": 1}, numa2: {"VCPU": 2, "MEMORY_MB": 512}, storage: {"DISK_GB": 10}})
	return c
}

// have, join, mark and claim are the operator's writes, with the generation that
// is right just now.
func (c *cloud) have(t testing.TB, provider uuid.UUID, inventories Inventories) {
	t.Helper()
	_, generation, err := c.operator.InventoryList(t.Context(), provider)
	if err == nil {
		_, _, err = c.operator.InventoryReplace(t.Context(), provider, generation, inventories)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) join(t testing.TB, provider uuid.UUID, aggregates ...uuid.UUID) {
	t.Helper()
	_, generation, err := c.operator.ProviderAggregateList(t.Context(), provider)
	if err == nil {
		_, _, err = c.operator.ProviderAggregateReplace(t.Context(), provider, generation, aggregates)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) mark(t testing.TB, provider uuid.UUID, traits ...string) {
	t.Helper()
	_, generation, err := c.operator.ProviderTraitList(t.Context(), provider)
	if err == nil {
		_, _, err = c.operator.ProviderTraitReplace(t.Context(), provider, generation, traits)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) claim(t testing.TB, consumer uuid.UUID, allocations map[uuid.UUID]Resources) {
	t.Helper()
	record, err := c.operator.AllocationList(t.Context(), consumer)
	if err == nil {
		record.Allocations, record.ProjectID, record.UserID, record.Type = allocations, "project", "user", "INSTANCE"
		err = c.operator.AllocationReplace(t.Context(), consumer, record, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// load loads the host's tree.
func (c *cloud) load(t testing.TB) *ProviderTree {
	t.Helper()
	return must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil))(t)
}

// update flushes a tree, which should work.
func (c *cloud) update(t testing.TB, tree *ProviderTree, allocations Allocations) {
	t.Helper()
	if err := c.client.UpdateFromProviderTree(t.Context(), tree, allocations); err != nil {
		t.Fatal(err)
	}
}

// requests are what the client has sent since the last call, with names for uuids.
func (c *cloud) requests() []string {
	return named(c.wire.Requests())
}

func named(lines []string) []string {
	var pairs []string
	for name, id := range people {
		pairs = append(pairs, id.String(), name)
	}
	names := strings.NewReplacer(append(pairs, "/resource_providers", "/rp", "%3A", ":", "%2C", ",")...)
	replaced := make([]string, len(lines))
	for i, line := range lines {
		replaced[i] = names.Replace(line)
	}
	return replaced
}

func wantRequests(t testing.TB, c *cloud, what string, want ...string) {
	t.Helper()
	if got := c.requests(); !slices.Equal(got, want) {
		t.Errorf("%s sends\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// splitGPUs is a driver: the host's GPUs become children of it, each with its own
// share of the inventory.
func splitGPUs(tree *ProviderTree, allocations Allocations) error {
	for name, id := range map[string]uuid.UUID{"gpu0": gpu0, "gpu1": gpu1} {
		if !tree.Exists(name) {
			if _, err := tree.NewChild(name, "cn", id); err != nil {
				return err
			}
		}
		if _, err := tree.UpdateInventory(name, Inventories{"VGPU": {Total: 2}}, nil); err != nil {
			return err
		}
	}
	root, err := tree.Provider("cn")
	if _, has := root.Inventories["VGPU"]; err != nil || !has {
		return err
	}
	if allocations == nil {
		return ErrReshapeNeeded
	}
	for consumer, gpu := range map[uuid.UUID]uuid.UUID{instanceA: gpu0, instanceB: gpu1} {
		if record := allocations[consumer]; record != nil {
			record.Allocations[gpu] = Resources{"VGPU": record.Allocations[cn]["VGPU"]}
			delete(record.Allocations[cn], "VGPU")
		}
	}
	delete(root.Inventories, "VGPU")
	_, err = tree.UpdateInventory("cn", root.Inventories, nil)
	return err
}

type driver func(*ProviderTree, Allocations) error

// pass is one pass of an agent, with a client: load, ask the driver, write.
func pass(ctx context.Context, agent *Client, drive driver) error {
	tree, err := agent.GetProviderTreeAndEnsureRoot(ctx, cn, "cn", uuid.Nil)
	if err != nil {
		return err
	}
	var allocations Allocations
	err = drive(tree, nil)
	if errors.Is(err, ErrReshapeNeeded) {
		if allocations, err = agent.GetAllocationsForProviderTree(ctx, "cn"); err == nil {
			err = drive(tree, allocations)
		}
	}
	if err != nil {
		return err
	}
	return agent.UpdateFromProviderTree(ctx, tree, allocations)
}
