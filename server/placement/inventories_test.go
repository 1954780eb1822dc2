package placement

import (
	"encoding/json"
	"testing"
)

// TestAGenerationOfZeroIsLeftOut is here and not among the scenarios, because
// writing an inventory raises the generation: none is ever seen with 0.
func TestAGenerationOfZeroIsLeftOut(t *testing.T) {
	t.Parallel()
	record := Inventory{Total: 8, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1}
	for generation, want := range map[int64]string{
		0: `{"total":8,"reserved":0,"min_unit":1,"max_unit":4,"step_size":1,"allocation_ratio":1.0}`,
		1: `{"resource_provider_generation":1,"total":8,"reserved":0,"min_unit":1,"max_unit":4,"step_size":1,"allocation_ratio":1.0}`,
	} {
		got, err := json.Marshal(InventoryWithGeneration{Generation: generation, Inventory: record})
		if err != nil || string(got) != want {
			t.Errorf("generation %d is shown as %s (%v), not %s", generation, got, err, want)
		}
	}
}
