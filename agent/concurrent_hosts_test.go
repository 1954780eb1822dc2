package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
)

// TestAgent_ConcurrentHostsWithSharedDisk_ReshapeWithoutConflict: the consumers of each host also have allocations on a
// disk that all hosts share, and other clients claim and release it all the time. No reshape may conflict with that.
func TestAgent_ConcurrentHostsWithSharedDisk_ReshapeWithoutConflict(t *testing.T) {
	t.Parallel()
	const hosts = 5
	h := newHost(t)
	disk, aggregate := uuid.New(), uuid.New()
	h.provider("disk", disk, client.Inventories{"DISK_GB": {Total: 100000}})
	h.join(disk, aggregate, "MISC_SHARES_VIA_AGGREGATE")
	trackers := make([]*agent.Tracker, hosts)
	drivers := make([]*simulated, hosts)
	consumers := make([]uuid.UUID, hosts)
	conflicts := make([]int, hosts)
	for at := range hosts {
		node := agent.Node{Name: fmt.Sprint("crowd", at), UUID: uuid.New()}
		consumers[at] = uuid.New()
		h.provider(node.Name, node.UUID, client.Inventories{"VCPU": {Total: 16}, vgpu: {Total: 8}})
		h.join(node.UUID, aggregate)
		h.claim(consumers[at], map[uuid.UUID]client.Resources{node.UUID: {vgpu: 2}, disk: {"DISK_GB": 10}})
		drivers[at] = &simulated{gpus: map[string]int64{"gpu0": 8}, where: map[uuid.UUID]map[string]int64{consumers[at]: {"gpu0": 2}}}
		trackers[at] = agent.NewTracker(newClient(t, h.url), drivers[at], node, agent.Options{Observe: func(pass agent.Reconciliation) { conflicts[at] = pass.Conflicts }})
	}
	busy, stop := context.WithCancel(t.Context())
	var taking, reshaping sync.WaitGroup
	taking.Go(func() {
		for busy.Err() == nil {
			consumer := uuid.New()
			err := h.tryClaim(consumer, map[uuid.UUID]client.Resources{disk: {"DISK_GB": 1}})
			if err == nil {
				err = h.setup.AllocationDelete(t.Context(), consumer)
			}
			if err != nil && !errors.Is(err, client.ErrConcurrentUpdate) {
				t.Error(err)
				return
			}
		}
	})
	for at := range hosts {
		reshaping.Go(func() {
			if err := trackers[at].Update(t.Context(), true); err != nil {
				t.Errorf("host %d: %v", at, err)
			}
		})
	}
	reshaping.Wait()
	stop()
	taking.Wait()
	for at := range hosts {
		record, err := h.setup.AllocationList(t.Context(), consumers[at])
		h.must(err)
		if record.Allocations[disk]["DISK_GB"] != 10 || len(record.Allocations) != 2 {
			t.Errorf("host %d: its consumer has %v", at, record.Allocations)
		}
		if conflicts[at] != 0 || drivers[at].reshapes != 1 {
			t.Errorf("host %d met %d conflicts and moved %d times", at, conflicts[at], drivers[at].reshapes)
		}
	}
}

// join puts a provider into an aggregate and gives it traits.
func (h *host) join(id, aggregate uuid.UUID, traits ...string) {
	h.t.Helper()
	_, generation, err := h.setup.ProviderAggregateList(h.t.Context(), id)
	h.must(err)
	_, generation, err = h.setup.ProviderAggregateReplace(h.t.Context(), id, generation, []uuid.UUID{aggregate})
	h.must(err)
	_, _, err = h.setup.ProviderTraitReplace(h.t.Context(), id, generation, traits)
	h.must(err)
}
