package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// traffic is one of many clients: it chooses its operations at random, from its own seed, so that a run is repeatable
// as far as the scheduler permits.
type traffic struct {
	*bundle
	dice *rand.Rand
}

// All clients use the same data: trees of three, and some consumers.
const trees, consumers = 6, 20

func (c *traffic) tree() string     { return fmt.Sprintf("a tree %d", c.dice.IntN(trees)) }
func (c *traffic) consumer() string { return fmt.Sprintf("%x server", c.dice.IntN(consumers)) }

// place is a provider of any tree.
func (c *traffic) place() string {
	return c.tree() + []string{"", " left", " right"}[c.dice.IntN(3)]
}

// wanted is a claim of one or two providers' VCPU and memory, or of nothing.
func (c *traffic) wanted(consumer string) store.Claim {
	made := claim(consumer, nil, uuid.Nil, 0)
	made.ProjectID, made.UserID = fmt.Sprintf("project %d", c.dice.IntN(3)), fmt.Sprintf("user %d", c.dice.IntN(3))
	places := map[string]bool{}
	for range c.dice.IntN(3) {
		places[c.place()] = true
	}
	for place := range places {
		made.Allocations = append(made.Allocations,
			store.Allocation{Provider: named(place), Class: "VCPU", Amount: 1 + c.dice.Int64N(4)},
			store.Allocation{Provider: named(place), Class: "MEMORY_MB", Amount: 1 + c.dice.Int64N(4)})
	}
	return made
}

// records are new inventories, which may be too small or lack a class in use.
func (c *traffic) records() []store.Inventory {
	totals := map[string]int32{"VCPU": 1 + c.dice.Int32N(20)}
	if c.dice.IntN(4) > 0 {
		totals["MEMORY_MB"] = 1 + c.dice.Int32N(20)
	}
	if c.dice.IntN(4) == 0 {
		totals["DISK_GB"] = 5
	}
	return inventories(totals)
}

// known is a provider's generation, which may be outdated when it is used.
func (c *traffic) known(ctx context.Context, place string) int64 {
	shown, err := c.ProviderShow(ctx, named(place))
	if err != nil {
		return 0
	}
	return shown.Generation
}

// act is one operation of a client.
type act func(ctx context.Context, c *traffic) error

func claimOne(ctx context.Context, c *traffic) error {
	return c.AllocationReplace(ctx, []store.Claim{c.wanted(c.consumer())}, false)
}

func claimOneKnown(ctx context.Context, c *traffic) error {
	one := c.wanted(c.consumer())
	found, err := c.AllocationList(ctx, one.Consumer)
	if err != nil {
		return err
	}
	if len(found.Rows) > 0 {
		one.Generation = &found.Generation
	}
	return c.AllocationReplace(ctx, []store.Claim{one}, true)
}

func claimTwo(ctx context.Context, c *traffic) error {
	one, two := c.consumer(), c.consumer()
	if one == two {
		return nil
	}
	return c.AllocationReplace(ctx, []store.Claim{c.wanted(one), c.wanted(two)}, false)
}

func dropConsumer(ctx context.Context, c *traffic) error {
	_, err := c.AllocationDelete(ctx, named(c.consumer()), nil)
	return err
}

func writeInventories(ctx context.Context, c *traffic) error {
	place := c.place()
	_, err := c.InventoryReplace(ctx, named(place), c.known(ctx, place), c.records(), 1)
	return err
}

func writeTraits(ctx context.Context, c *traffic) error {
	place := c.place()
	traits := []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}[:c.dice.IntN(4)]
	_, _, err := c.ProviderTraitReplace(ctx, named(place), c.known(ctx, place), traits)
	return err
}

func writeAggregates(ctx context.Context, c *traffic) error {
	place := c.place()
	racks := []uuid.UUID{named(fmt.Sprintf("%x rack", c.dice.IntN(16))), named("f last rack")}
	_, err := c.ProviderAggregateReplace(ctx, named(place), at(c.known(ctx, place)), racks)
	return err
}

func reshapeTree(ctx context.Context, c *traffic) error {
	root := c.tree()
	shapes := []store.ReshapedProvider{
		{Provider: named(root), Generation: c.known(ctx, root), Records: c.records()},
		{Provider: named(root + " left"), Generation: c.known(ctx, root+" left"), Records: c.records()},
	}
	one := c.wanted(c.consumer())
	found, err := c.AllocationList(ctx, one.Consumer)
	if err != nil {
		return err
	}
	if len(found.Rows) > 0 {
		one.Generation = &found.Generation
	}
	return c.Reshape(ctx, shapes, []store.Claim{one})
}

func rename(ctx context.Context, c *traffic) error {
	place := c.place()
	_, err := c.ProviderUpdate(ctx, named(place), store.ProviderChange{Name: place})
	return err
}

func look(ctx context.Context, c *traffic) error {
	if _, _, err := c.ProviderAllocationList(ctx, named(c.place())); outcome(err) != store.ProviderNotFound && err != nil {
		return err
	}
	rows, err := c.ProviderList(ctx, store.ProviderFilter{Resources: []store.Amount{{Class: "VCPU", Amount: 2}}})
	if err != nil {
		return err
	}
	for range rows.All() { // to the end
	}
	return rows.Close()
}

// The following operations change the topology: they create, delete and re-parent providers, and create and delete
// names.

func moveChild(ctx context.Context, c *traffic) error {
	place := c.place()
	parent := named(c.place())
	_, err := c.ProviderUpdate(ctx, named(place), store.ProviderChange{
		Name: place, SetParent: true, Parent: &parent, MayReparent: true,
	})
	return err
}

func makeRoot(ctx context.Context, c *traffic) error {
	place := c.place()
	_, err := c.ProviderUpdate(ctx, named(place), store.ProviderChange{Name: place, SetParent: true, MayReparent: true})
	return err
}

func dropProvider(ctx context.Context, c *traffic) error {
	return c.ProviderDelete(ctx, named(c.place()), nil)
}

func addProvider(ctx context.Context, c *traffic) error {
	place, parent := c.place(), named(c.place())
	if _, err := c.ProviderCreate(ctx, named(place), place, &parent); err != nil {
		return err
	}
	_, err := c.InventoryReplace(ctx, named(place), 0, c.records(), 1)
	return err
}

func comeAndGo(ctx context.Context, c *traffic) error {
	name, place := fmt.Sprintf("CUSTOM_%d", c.dice.IntN(3)), c.place()
	switch c.dice.IntN(6) {
	case 0:
		_, _, err := c.TraitEnsure(ctx, name)
		return err
	case 1:
		return c.TraitDelete(ctx, name)
	case 2:
		_, _, err := c.ProviderTraitReplace(ctx, named(place), c.known(ctx, place), []string{name})
		return err
	case 3:
		_, err := c.ResourceClassCreate(ctx, name)
		return err
	case 4:
		return c.ResourceClassDelete(ctx, name)
	}
	_, err := c.InventoryCreate(ctx, named(place), nil, inventory(name, 5), 1)
	return err
}

// steadyLoad is the operations of normal service.
var steadyLoad = []act{
	claimOne, claimOne, claimOneKnown, claimOneKnown, claimTwo, claimTwo, dropConsumer,
	writeInventories, writeTraits, writeAggregates, reshapeTree, rename, look,
}

// topologyLoad changes providers and names under them.
var topologyLoad = []act{moveChild, makeRoot, dropProvider, addProvider, addProvider, comeAndGo, comeAndGo}

// run lets 16 clients act and fails for every error that is neither a rule violation nor a request to retry. It returns
// how many writes were accepted.
func (b *bundle) run(acts []act) (accepted int) {
	const clients, each = 16, 100
	for i := range trees {
		root := b.provider(fmt.Sprintf("a tree %d", i), nil, map[string]int32{"VCPU": 20, "MEMORY_MB": 20})
		for _, side := range []string{" left", " right"} {
			b.provider(fmt.Sprintf("a tree %d", i)+side, &root, map[string]int32{"VCPU": 20, "MEMORY_MB": 20})
		}
	}
	counts := make([]int, clients)
	var operations []func(context.Context) error
	for i := range clients {
		client := &traffic{bundle: b, dice: rand.New(rand.NewPCG(uint64(i), 1))}
		operations = append(operations, func(ctx context.Context) error {
			for range each {
				err := acts[client.dice.IntN(len(acts))](ctx, client)
				switch {
				case err == nil:
					counts[i]++
				case store.AsRuleViolation(err) == nil && fault.As(err) == nil:
					b.t.Errorf("client %d: %v", i, err)
				}
			}
			return nil
		})
	}
	b.together(operations...)
	for _, count := range counts {
		accepted += count
	}
	return accepted
}

// deadlocks returns the counter of the database. A session reports its counters when it ends, so this closes the store
// and waits until only the test's own sessions remain.
func (b *bundle) deadlocks() (count int64) {
	b.t.Helper()
	b.Close()
	awaitSessions(b.t, b.db)
	b.must(b.db.Pool.QueryRow(b.t.Context(),
		"SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&count))
	return count
}

// awaitSessions waits until a database has no sessions except those of the test's own pool.
func awaitSessions(t testing.TB, db *dbtest.DB) {
	t.Helper()
	for sessions := int32(-1); sessions != db.Pool.Stat().TotalConns(); {
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend'`).Scan(&sessions); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLocks_SteadyLoad_NoWriteRetries(t *testing.T) {
	t.Parallel()
	b := setup(t, 16)
	accepted := b.run(steadyLoad)
	if b.Pool().Retries() > 0 {
		t.Errorf("retries = %d, want 0", b.Pool().Retries())
	}
	if accepted < 400 {
		t.Errorf("accepted operations = %d: too few for this test", accepted)
	}
}

func TestLocks_TopologyChanges_NoDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t, 16)
	accepted := b.run(append(topologyLoad, steadyLoad...))
	if found := b.deadlocks(); found > 0 {
		t.Errorf("deadlocks = %d, want 0", found)
	}
	if accepted < 400 {
		t.Errorf("accepted operations = %d: too few for this test", accepted)
	}
}
