package placement

import (
	"encoding/json"
	"testing"
)

// TestInventory_GenerationZero_Omitted is not a scenario, because a write of an inventory increments the generation: no
// response has 0.
func TestInventory_GenerationZero_Omitted(t *testing.T) {
	t.Parallel()
	record := Inventory{Total: 8, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1}
	for generation, want := range map[int64]string{
		0: `{"total":8,"reserved":0,"min_unit":1,"max_unit":4,"step_size":1,"allocation_ratio":1.0}`,
		1: `{"resource_provider_generation":1,"total":8,"reserved":0,"min_unit":1,"max_unit":4,"step_size":1,"allocation_ratio":1.0}`,
	} {
		got, err := json.Marshal(InventoryWithGeneration{Generation: generation, Inventory: record})
		if err != nil || string(got) != want {
			t.Errorf("generation %d: %s (%v), want %s", generation, got, err, want)
		}
	}
}
