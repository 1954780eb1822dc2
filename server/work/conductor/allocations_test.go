package conductor

import (
	"maps"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
)

// counted returns the values of a counter with one label.
func counted(t *testing.T, collectors []prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		values[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return values
}

func TestMetrics_NodeAllocationsWithoutNode_CountedByReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	working := b.conductor("me")
	want := map[string]float64{"class": 0, "busy": 0, "owner": 0, "candidate_nodes": 0, "traits": 0, "claimed": 0}
	if got := counted(t, working.Collectors()); !maps.Equal(got, want) {
		t.Errorf("at the start: %v", got)
	}
	b.run(working)
	node := uuid.New()
	if _, err := b.NodeCreate(t.Context(), store.Node{
		UUID: node, Name: new("rack-1"), Driver: "none", ResourceClass: new("gold"), ProvisionState: "available", PowerState: new("power off"),
	}); err != nil {
		t.Fatal(err)
	}
	for _, request := range []store.NodeAllocationRequest{
		{ResourceClass: "lead"}, {ResourceClass: "gold", Traits: []string{"CUSTOM_A"}}, {ResourceClass: "gold"}, {ResourceClass: "gold"},
	} {
		made, err := b.NodeAllocationCreate(t.Context(), request, "me")
		if err != nil {
			t.Fatal(err)
		}
		b.eventually("the decision", func() bool {
			shown, err := b.NodeAllocationShow(t.Context(), made.UUID.String())
			return err == nil && shown.State != "allocating"
		})
	}
	want["class"], want["traits"], want["busy"] = 1, 1, 1
	// The counter follows the commit.
	b.eventually("the counts", func() bool { return maps.Equal(counted(t, working.Collectors()), want) })
}
