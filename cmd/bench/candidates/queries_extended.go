package candidates

import "strings"

// extendedQueries are those of berth 1.1: one for each of its features.
func extendedQueries() []query {
	flat := flatText + "&member_of=" + inAll() + "&required=" + traitOfAll
	nested := nestedText + "&required=" + traitOfAll + "&required_COMPUTE=" + traitOfNUMA
	apart := strings.Replace(nicText, "&same_subtree=_NIC,_NET1,_NET2&group_policy=none", "&same_subtree=_NIC,_NET1,!_NET2", 1)
	queries := []query{
		{name: "root-member", shape: "flat", text: flatText + "&root_member_of=" + inAll(), limits: []int{many}, found: perTree(1)},
		{name: "order-id", shape: "flat", text: flat + "&order=id", limits: []int{many}, found: perTree(1)},
		{name: "order-random", shape: "flat", text: flat + "&order=random", limits: []int{many}, found: perTree(1)},
		{name: "order-pack", shape: "flat", text: flat + "&order=pack:VCPU", limits: []int{many}, found: perTree(1)},
		{name: "order-spread", shape: "flat", text: flat + "&order=spread:VCPU", limits: []int{many}, found: perTree(1)},
		{name: "order-pack-needle", shape: "flat", text: flatText + "&required=" + needle + "&order=pack:VCPU", found: always(1)},
		{name: "one-per-tree", shape: "nested", text: nested + "&limit_per_tree=1", limits: []int{many}, found: perTree(1)},
		{name: "condition", shape: "nested", text: "resources=DISK_GB:10&required_NODE=" + traitOfNUMA, limits: []int{many}, found: perTree(1)},
		{name: "split", shape: "nested", text: "resources=VCPU:40,MEMORY_MB:256&can_split=VCPU", limits: []int{many}, found: perTree(2)},
		{name: "split-whole", shape: "nested", text: "resources=VCPU:4,MEMORY_MB:256&can_split=VCPU", limits: []int{many}, found: perTree(4)},
		{name: "outside", shape: "nic", text: apart, limits: []int{many}, found: perTree(2)},
		{name: "isolate", shape: "pci", text: strings.Replace(devices(4), "&group_policy=isolate", "&isolate=1,2&isolate=3,4", 1),
			limits: []int{many}, found: perTree(arrangements(4, 8))},
	}
	for i := range queries {
		queries[i].limit, queries[i].extended = few, true
	}
	return queries
}
