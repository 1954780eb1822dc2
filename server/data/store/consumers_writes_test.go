package store_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/store"
)

// consumerCrowd writes consumers while a test pages through them.
type consumerCrowd struct {
	b    *bundle
	host uuid.UUID
	// lasting exist all the time; passing are created and deleted meanwhile.
	lasting, passing []uuid.UUID
}

// claim writes the allocation of a consumer.
func (c *consumerCrowd) claim(t *rapid.T, id uuid.UUID, generation *int64, amount int64) {
	err := c.b.AllocationReplace(context.Background(), []store.Claim{{
		Consumer: id, ProjectID: "p", UserID: "u", Type: "T", Generation: generation,
		Allocations: []store.Allocation{{Provider: c.host, Class: "VCPU", Amount: amount}},
	}}, true)
	if err != nil {
		t.Fatal(err)
	}
}

// create creates a consumer.
func (c *consumerCrowd) create(t *rapid.T) uuid.UUID {
	id := uuid.New()
	c.claim(t, id, nil, 1)
	return id
}

// remove deletes consumers.
func (c *consumerCrowd) remove(t *rapid.T, ids []uuid.UUID) {
	for _, id := range ids {
		if _, err := c.b.AllocationDelete(context.Background(), id, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// write makes a random write: it creates or deletes a passing consumer, or changes a lasting one.
func (c *consumerCrowd) write(t *rapid.T) {
	switch rapid.IntRange(0, 2).Draw(t, "write") {
	case 0:
		c.passing = append(c.passing, c.create(t))
	case 1:
		first := c.passing[:min(1, len(c.passing))]
		c.remove(t, first)
		c.passing = c.passing[len(first):]
	default:
		if len(c.lasting) == 0 {
			return
		}
		id := rapid.SampledFrom(c.lasting).Draw(t, "consumer")
		found, err := c.b.ConsumerShow(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		c.claim(t, id, &found.Generation, 2)
	}
}

// TestUsage_ConsumerPagesWithWrites_ListLastingOnesOnce creates, changes and deletes random consumers between pages: a
// consumer that exists and passes all the time comes exactly once, in every order, with each filter and with a search.
func TestUsage_ConsumerPagesWithWrites_ListLastingOnesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("host", nil, map[string]int32{"VCPU": 100_000})
	filters := map[string]store.ConsumerFilter{
		"none": {}, "project": {ProjectID: new("p")}, "user": {UserID: new("u")}, "type": {Type: new("T")},
		"provider": {Providers: []uuid.UUID{host}}, "tree": {InTree: &host}, "class": {Classes: []string{"VCPU"}},
		"search": {Search: &store.UUIDRange{Low: uuid.Nil, High: uuid.Max}},
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(filters))).Draw(t, "filter")
		filter := filters[name]
		crowd := &consumerCrowd{b: b, host: host}
		for range rapid.IntRange(1, 12).Draw(t, "consumers") {
			group := &crowd.passing
			if rapid.Bool().Draw(t, "lasting") {
				group = &crowd.lasting
			}
			*group = append(*group, crowd.create(t))
		}
		page := store.ConsumerPage{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), Descending: rapid.Bool().Draw(t, "descending")}
		writes := 0
		got, err := allPages(context.Background(), b.Store, &filter, page, func() {
			if writes++; writes <= 20 { // new consumers must not keep the list from ending
				crowd.write(t)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		counted := map[uuid.UUID]int{}
		for _, id := range got {
			if counted[id]++; counted[id] > 1 {
				t.Fatalf("%s: consumer %s came twice", name, id)
			}
		}
		for _, id := range crowd.lasting {
			if counted[id] != 1 {
				t.Fatalf("%s: the lasting consumer %s did not come", name, id)
			}
		}
		crowd.remove(t, slices.Concat(crowd.lasting, crowd.passing))
	})
}
