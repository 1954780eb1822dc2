package store_test

import (
	"slices"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// TestNodeAllocation_DecidedWithoutNode_ReturnsReasons decides node allocations for each reason, and counts the members of
// batches.
func TestNodeAllocation_DecidedWithoutNode_ReturnsReasons(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("free", "gold", "CUSTOM_A")
		busy := bareNode("busy", "active")
		busy.ResourceClass = new("tin")
		_, err := b.NodeCreate(t.Context(), busy)
		b.must(err)
		for _, test := range []struct {
			request store.NodeAllocationRequest
			want    []string
		}{
			{store.NodeAllocationRequest{ResourceClass: "lead"}, []string{"class"}},
			{store.NodeAllocationRequest{ResourceClass: "tin"}, []string{"busy"}},
			{store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("mine"), CandidateNodes: []string{"busy"}}, []string{"owner"}},
			{store.NodeAllocationRequest{ResourceClass: "gold", CandidateNodes: []string{"busy"}}, []string{"candidate_nodes"}},
			{store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_B"}}, []string{"traits"}},
			{store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_A"}}, nil},
			{store.NodeAllocationRequest{ResourceClass: "gold"}, []string{"busy"}},
		} {
			id := b.asked(test.request).UUID
			failed, err := b.NodeAllocationProcess(t.Context(), id, "me")
			b.must(err)
			if !slices.Equal(failed, test.want) {
				t.Errorf("%+v: failed = %v, want %v", test.request, failed, test.want)
			}
			failed, err = b.NodeAllocationProcess(t.Context(), id, "me")
			b.must(err)
			if len(failed) > 0 {
				t.Errorf("%+v: failed = %v for a decided one", test.request, failed)
			}
		}
	})
}

func TestNodeAllocation_BatchWithoutNodes_ReturnsReasonOfEachMember(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("one", "gold")
		b.free("two", "gold")
		for minimum, want := range map[int][]string{2: {"busy"}, 3: {"busy", "busy", "busy"}} {
			made, err := b.NodeAllocationCreateBatch(t.Context(), store.NodeAllocationRequest{ResourceClass: "gold"}, 3, minimum, "me")
			b.must(err)
			failed, err := b.NodeAllocationProcess(t.Context(), made[1].UUID, "me")
			b.must(err)
			if !slices.Equal(failed, want) {
				t.Errorf("failed = %v, want %v", failed, want)
			}
			for _, one := range made {
				b.must(b.NodeAllocationDelete(t.Context(), one.UUID.String()))
			}
		}
	})
}
