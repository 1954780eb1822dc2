package placement

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

var (
	changedHost, changedNode = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"), uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000012")
	changedConsumer          = uuid.MustParse("1d5ecafe-0000-4000-8000-0000000000a3")
	whole                    = store.InventoryState{Total: 16, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1, AllocationRatio: 2}
)

// reshaped returns a state with one class of inventory on a provider and a consumer with an amount of it.
func reshaped(generation int64, class string, record store.InventoryState, amount int64) store.State {
	instance := "INSTANCE"
	state := store.State{Providers: map[uuid.UUID]store.ProviderState{changedNode: {
		Name: "compute-2-numa-0", Parent: &changedHost, Generation: generation, Traits: []string{"A"},
		Inventories: map[string]store.InventoryState{class: record}, Usages: map[string]int64{class: amount},
	}}}
	if amount > 0 {
		state.Consumers = map[uuid.UUID]store.ConsumerState{changedConsumer: {
			Generation: generation - 2, ProjectID: "p", UserID: "u", Type: &instance,
			Allocations: map[uuid.UUID]map[string]int64{changedNode: {class: amount}},
		}}
	}
	return state
}

// wantJSON compares the JSON form of a value.
func wantJSON(t *testing.T, name string, value any, want string) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s: got %s, want %s", name, encoded, want)
	}
}

func TestReshape_ChangeOfStates_HasOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	other := whole
	other.Total, other.AllocationRatio = 32, 1
	const none = `"consumers": {}, "resource_classes": {}, "traits": {}`
	moved := reshaped(3, "VCPU", whole, 0)
	provider := moved.Providers[changedNode]
	provider.Parent, provider.Traits, provider.Aggregates = nil, []string{"B"}, []uuid.UUID{changedHost}
	moved.Providers = map[uuid.UUID]store.ProviderState{changedNode: provider}
	for name, test := range map[string]struct {
		before, after store.State
		want          string
	}{
		"nothing":          {store.State{}, store.State{}, `{"resource_providers": {}, ` + none + `}`},
		"equal states":     {reshaped(3, "VCPU", whole, 16), reshaped(3, "VCPU", whole, 16), `{"resource_providers": {}, ` + none + `}`},
		"names":            {store.State{Classes: []string{"A", "B"}}, store.State{Classes: []string{"B", "C"}, Traits: []string{"T"}}, `{"resource_providers": {}, "consumers": {}, "resource_classes": {"A": {"before": {}, "after": null}, "C": {"before": null, "after": {}}}, "traits": {"T": {"before": null, "after": {}}}}`},
		"a class":          {reshaped(3, "VCPU", whole, 16), reshaped(4, "PCPU", other, 16), `{"resource_providers": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"before": {"generation": 3, "inventories": {"VCPU": {"total": 16, "reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 2.0}}, "usages": {"VCPU": 16}}, "after": {"generation": 4, "inventories": {"PCPU": {"total": 32, "reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 1.0}}, "usages": {"PCPU": 16}}}}, "consumers": {"1d5ecafe-0000-4000-8000-0000000000a3": {"before": {"consumer_generation": 1, "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resources": {"VCPU": 16}}}}, "after": {"consumer_generation": 2, "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resources": {"PCPU": 16}}}}}}, "resource_classes": {}, "traits": {}}`},
		"parent and lists": {reshaped(3, "VCPU", whole, 0), moved, `{"resource_providers": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"before": {"parent_provider_uuid": "c0ffee00-5ca1-4b1e-8000-000000000001", "traits": ["A"]}, "after": {"parent_provider_uuid": null, "traits": ["B"], "aggregates": ["c0ffee00-5ca1-4b1e-8000-000000000001"]}}}, ` + none + `}`},
	} {
		wantJSON(t, name, stateChange(test.before, test.after), test.want)
	}
}

func TestReshape_Inverse_LeadsBackOrHasReason(t *testing.T) {
	t.Parallel()
	other, full, reserved, units := whole, whole, whole, whole
	other.Total, other.AllocationRatio = 32, 1
	full.Total, full.AllocationRatio = 8, 1
	reserved.Reserved = 17
	units.StepSize = 5
	untyped := reshaped(3, "VCPU", whole, 16)
	consumer := untyped.Consumers[changedConsumer]
	consumer.Type = nil
	untyped.Consumers[changedConsumer] = consumer
	for name, test := range map[string]struct {
		before, after store.State
		want, reason  string
	}{
		"nothing":               {reshaped(3, "VCPU", whole, 16), reshaped(3, "VCPU", whole, 16), `null`, ""},
		"a class":               {reshaped(3, "VCPU", whole, 16), reshaped(4, "PCPU", other, 16), `{"inventories": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resource_provider_generation": 4, "inventories": {"PCPU": null, "VCPU": {"total": 16, "reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 2.0}}}}, "allocations": {"1d5ecafe-0000-4000-8000-0000000000a3": {"consumer_generation": 2, "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resources": {"PCPU": null, "VCPU": 16}}}}}}`, ""},
		"a deleted consumer":    {reshaped(3, "VCPU", whole, 16), reshaped(4, "VCPU", whole, 0), `{"inventories": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resource_provider_generation": 4, "inventories": {}}}, "allocations": {"1d5ecafe-0000-4000-8000-0000000000a3": {"consumer_generation": null, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE", "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resources": {"VCPU": 16}}}}}}`, ""},
		"a new consumer":        {reshaped(3, "VCPU", whole, 0), reshaped(4, "VCPU", whole, 16), `{"inventories": {"c0ffee00-5ca1-4b1e-8000-000000000012": {"resource_provider_generation": 4, "inventories": {}}}, "allocations": {"1d5ecafe-0000-4000-8000-0000000000a3": {"consumer_generation": 2, "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000012": null}}}}`, ""},
		"over capacity":         {reshaped(3, "VCPU", full, 16), reshaped(4, "VCPU", whole, 4), `null`, "compute-2-numa-0 was over its capacity before: 16 VCPU used of 8. What is taken away from it now does not fit again."},
		"over capacity, kept":   {reshaped(3, "VCPU", full, 16), reshaped(3, "VCPU", full, 16), `null`, ""},
		"reserved":              {reshaped(3, "VCPU", reserved, 0), reshaped(4, "VCPU", whole, 0), `null`, "compute-2-numa-0 had more reserved than its total before: 17 VCPU of 16."},
		"amount outside units":  {reshaped(3, "VCPU", units, 16), reshaped(4, "VCPU", units, 15), `null`, "Consumer 1d5ecafe-0000-4000-8000-0000000000a3 had 16 VCPU on compute-2-numa-0 before, which its inventory did not allow."},
		"consumer without type": {untyped, reshaped(4, "VCPU", whole, 16), `null`, "Consumer 1d5ecafe-0000-4000-8000-0000000000a3 had no type before, and no request can remove its type."},
	} {
		body, reason := reshapeInverse(test.before, test.after)
		wantJSON(t, name, body, test.want)
		if reason != test.reason {
			t.Errorf("%s: reason = %q, want %q", name, reason, test.reason)
		}
	}
}
