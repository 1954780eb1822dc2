package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// The resources that examples name.
const (
	exampleProvider = "c0ffee00-5ca1-4b1e-8000-000000000001"
	exampleChild    = "c0ffee00-5ca1-4b1e-8000-000000000002"
	exampleConsumer = "1d5ecafe-0000-4000-8000-000000000001"
	exampleTrait    = "CUSTOM_GOLD"
	exampleClass    = "CUSTOM_BAREMETAL_GOLD"
)

// absent lists, for an operation, the parts of the cloud without which its example is sent: what it creates, and what
// keeps it from deleting something.
var absent = map[string][]string{
	"provider-create":         {"provider"},
	"provider-delete":         {"child", "consumer"},
	"tree-replace":            {"child"},
	"inventory-create":        {"inventories", "consumer"},
	"inventory-clear":         {"consumer"},
	"inventory-delete":        {"consumer"},
	"inventory-replace":       {"consumer"},
	"allocation-replace":      {"consumer"},
	"allocation-replace-many": {"consumer"},
	"claim-create":            {"consumer"},
	"resource-class-create":   {"class"},
	"trait-delete":            {"traits"},

	"node-allocation-create": {"allocation"},
	"node-delete":            {"allocation"},
	"node-provision":         {"allocation"},
	"port-create":            {"port"},
}

// fill creates what the examples name: a provider of generation 4, a child, a consumer of generation 1, a node with a
// port and an allocation, and a conductor.
func (c *exampleCloud) fill(operation string) {
	c.t.Helper()
	has := func(part string) bool { return !slices.Contains(absent[operation], part) }
	c.must("PUT", "/traits/"+exampleTrait, "")
	if has("class") {
		c.must("PUT", "/resource_classes/"+exampleClass, "")
	}
	if has("provider") {
		c.fillPlacement(operation, has)
	}
	c.fillBaremetal(operation, has)
}

func (c *exampleCloud) fillPlacement(operation string, has func(part string) bool) {
	c.t.Helper()
	const path = "/resource_providers/" + exampleProvider
	c.must("POST", "/resource_providers", `{"name": "compute-17", "uuid": "`+exampleProvider+`"}`)
	generation := 0
	if has("inventories") {
		c.must("PUT", path+"/inventories", `{"resource_provider_generation": 0, "inventories": {
			"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}, "SRIOV_NET_VF": {"total": 8}}}`)
		generation++
	}
	if has("traits") {
		c.must("PUT", path+"/traits", fmt.Sprintf(`{"resource_provider_generation": %d, "traits": ["CUSTOM_GOLD", "HW_CPU_X86_VMX"]}`, generation))
		generation++
	}
	if has("child") {
		c.must("POST", "/resource_providers", `{"name": "compute-17-numa-0", "uuid": "`+exampleChild+`", "parent_provider_uuid": "`+exampleProvider+`"}`)
	}
	if has("consumer") {
		consumerGeneration := "null"
		writes := 1
		if operation == "allocation-delete" {
			writes = 4 // of the parameter consumer_generation
		}
		for written := 1; written <= writes; written++ {
			c.must("PUT", "/allocations/"+exampleConsumer, `{"allocations": {"`+exampleProvider+`": {"resources": {"VCPU": 2, "MEMORY_MB": 2048}}},
				"consumer_generation": `+consumerGeneration+`, "consumer_type": "INSTANCE",
				"project_id": "7c5b1b2e0d0e4a7d8a5b0f3f2f7f5a11", "user_id": "0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22"}`)
			consumerGeneration = fmt.Sprint(written)
			generation++
		}
	}
	for ; generation < 4; generation++ {
		c.must("PUT", path+"/aggregates", fmt.Sprintf(`{"resource_provider_generation": %d, "aggregates": ["a99e0000-0000-4000-8000-000000000001"]}`, generation))
	}
}

func (c *exampleCloud) fillBaremetal(operation string, has func(part string) bool) {
	c.t.Helper()
	if !strings.HasPrefix(c.document, "baremetal") {
		return
	}
	c.StartConductorAs(c.t, "berth-1")
	allocate := func() {
		c.must("POST", "/v1/allocations", `{"uuid": "`+exampleProvider+`", "name": "web-1", "resource_class": "gold", "traits": ["CUSTOM_FAST_DISK"], "wait": 30}`)
	}
	if operation == "node-allocation-retry" {
		allocate() // fails without a node
	}
	node, err := c.Store.NodeCreate(c.t.Context(), store.Node{
		UUID: uuid.MustParse(exampleProvider), Name: new("rack-7"), Driver: "fake-hardware", ResourceClass: new("gold"),
		ProvisionState: "available", PowerState: new("power off"),
		Details: map[string]json.RawMessage{"description": json.RawMessage(`"the one at the window"`)},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Store.NodeTraitReplace(c.t.Context(), node.UUID.String(), []string{"CUSTOM_FAST_DISK", exampleTrait}); err != nil {
		c.t.Fatal(err)
	}
	if has("port") {
		c.must("POST", "/v1/ports", `{"uuid": "c0ffee00-5ca1-4b1e-8000-000000000011", "address": "52:54:00:0a:1b:2c", "node_uuid": "`+exampleProvider+`"}`)
	}
	if has("allocation") && operation != "node-allocation-retry" {
		allocate()
	}
}
