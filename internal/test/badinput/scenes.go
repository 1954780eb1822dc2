package badinput

import (
	"fmt"
	"slices"
	"strings"
)

// scenes are the steps that create the resources in the example of an operation. They are for
// operations whose example contains a generation, which random requests rarely match, or several,
// which they never match. The examples contain the first ID of each type. Each sender creates the
// scene with its own IDs, so that requests of other senders do not change it.
var scenes = map[string][]step{
	"PUT /resource_providers/{uuid}/inventories":                  slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/inventories/{resource_class}": slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/traits":                       slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/aggregates":                   slices.Concat(cleared, host, another),
	"POST /allocations":                                           slices.Concat(cleared, host),
	"PUT /allocations/{consumer_uuid}":                            slices.Concat(cleared, host),
	"POST /reshaper":                                              slices.Concat(cleared, host, instance),
}

var (
	cleared = []step{
		{"DELETE", "/allocations/" + consumers[0], ""},
		{"DELETE", "/resource_providers/" + providers[1], ""},
		{"DELETE", "/resource_providers/" + providers[0], ""},
	}
	// host creates a provider with the generation 3, and a child with the generation 0.
	host = []step{
		{"POST", "/resource_providers", fmt.Sprintf(`{"name": "host %s", "uuid": %[1]q}`, providers[0])},
		{"POST", "/resource_providers", fmt.Sprintf(`{"name": "node %s", "uuid": %[1]q, "parent_provider_uuid": %q}`, providers[1], providers[0])},
		{"PUT", "/resource_providers/" + providers[0] + "/inventories",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}}}`},
		{"PUT", "/resource_providers/" + providers[0] + "/aggregates",
			fmt.Sprintf(`{"resource_provider_generation": 1, "aggregates": [%q]}`, aggregates[0])},
		{"PUT", "/resource_providers/" + providers[0] + "/traits", `{"resource_provider_generation": 2, "traits": ["HW_CPU_X86_VMX"]}`},
	}
	// another write sets the host to the generation of the examples, 4.
	another = []step{
		{"PUT", "/resource_providers/" + providers[0] + "/traits", `{"resource_provider_generation": 3, "traits": ["HW_CPU_X86_AVX2"]}`},
	}
	// instance does the same, and creates a consumer with the generation 1.
	instance = []step{
		{"PUT", "/allocations/" + consumers[0], fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 2, "MEMORY_MB": 2048}}},
			"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`, providers[0])},
	}
)

// ownIDs replaces the IDs of a scene, and of its request, by those of a sender.
func ownIDs(sender int) *strings.Replacer {
	return strings.NewReplacer("c0ffee00-5ca1-", fmt.Sprintf("c0ffee00-%04d-", sender), "1d5ecafe-0000-", fmt.Sprintf("1d5ecafe-%04d-", 1+sender))
}
