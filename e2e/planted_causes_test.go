package e2e

// plantedCause is a reason why nothing fits, in a cloud that has no other.
type plantedCause struct {
	name string
	// cloud is in the notation of the worked examples of the contract.
	cloud string
	// query is what Nova's scheduler sends: parameters in the order of their names, with limit and root_required.
	query string
	// reason is that of the explanation and of the access log.
	reason string
	// label is that of the metric.
	label string
	// sentence is the first sentence of the summary.
	sentence string
}

// plantedCauses are the causes of docs/why-nothing-fits.md, in the order of the page.
var plantedCauses = []plantedCause{
	{
		name: "class_of_no_provider",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500
`,
		query:    "limit=1000&resources=CUSTOM_FPGA:1,DISK_GB:20,MEMORY_MB:2048,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "amount",
		label:    "typo",
		sentence: "No provider has inventory of CUSTOM_FPGA.",
	},
	{
		name: "misspelled_trait",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500  traits:CUSTOM_DISK_SSD
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500
`,
		query:    "limit=1000&required=CUSTOM_DISK_SDD&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "trait",
		label:    "typo",
		sentence: "No provider has the trait CUSTOM_DISK_SDD. Did you mean CUSTOM_DISK_SSD?",
	},
	{
		name: "trait_of_full_hosts",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500  traits:HW_CPU_X86_AVX512F
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500
host-3  VCPU=16 MEMORY_MB=65536 DISK_GB=500
used: host-1 VCPU:16
`,
		query:    "limit=1000&required=HW_CPU_X86_AVX512F&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "together",
		label:    "full",
		sentence: "2 trees have a provider for each group, but no choice of providers has all required traits together.",
	},
	{
		name: "trait_of_full_devices",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500
  gpu-1  VGPU=4  traits:CUSTOM_A100
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500
  gpu-2  VGPU=4  traits:CUSTOM_A100
host-3  VCPU=16 MEMORY_MB=65536 DISK_GB=500
  gpu-3  VGPU=4
used: gpu-1 VGPU:4
used: gpu-2 VGPU:4
`,
		query: "limit=1000&required_GPU=CUSTOM_A100&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:2&resources_GPU=VGPU:1&" +
			"root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "no_tree",
		label:    "full",
		sentence: "Group _GPU (1 VGPU): of 2 providers that qualify, none has 1 VGPU free.",
	},
	{
		name: "amount_above_max_unit",
		cloud: `
host-1  VCPU=16(max_unit=16,allocation_ratio=4) MEMORY_MB=65536 DISK_GB=500
host-2  VCPU=12(max_unit=12,allocation_ratio=4) MEMORY_MB=65536 DISK_GB=500
`,
		query:    "limit=1000&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:24&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "amount",
		label:    "never",
		sentence: "No provider can ever give 24 VCPU at once: the most that any could give is 16.",
	},
	{
		name: "step_size",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500(step_size=10)
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500(step_size=10)
`,
		query:    "limit=1000&resources=DISK_GB:25,MEMORY_MB:2048,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "no_tree",
		label:    "tree",
		sentence: "25 DISK_GB: of 2 providers that qualify, none allows 25 DISK_GB (min_unit, max_unit or step_size).",
	},
	{
		name: "reserved",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536(reserved=8192) DISK_GB=500
host-2  VCPU=16 MEMORY_MB=65536(reserved=16384) DISK_GB=500
`,
		query:    "limit=1000&resources=DISK_GB:20,MEMORY_MB:61440,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "amount",
		label:    "never",
		sentence: "No provider can ever give 61440 MEMORY_MB at once: the most that any could give is 57344.",
	},
	{
		name: "allocation_ratio",
		cloud: `
host-1  VCPU=16(allocation_ratio=1) MEMORY_MB=65536 DISK_GB=500
host-2  VCPU=16(allocation_ratio=1) MEMORY_MB=65536 DISK_GB=500
used: host-1 VCPU:12
used: host-2 VCPU:14
`,
		query:    "limit=1000&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:8&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "amount",
		label:    "full",
		sentence: "No provider has 8 VCPU free: the most is 4.",
	},
	{
		name: "aggregate_of_full_hosts",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500  aggs:AZ1
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500  aggs:AZ1
host-3  VCPU=16 MEMORY_MB=65536 DISK_GB=500  aggs:AZ2
used: host-1 VCPU:16
used: host-2 VCPU:15
`,
		query:    "limit=1000&member_of={AZ1}&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:2&root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "no_tree",
		label:    "full",
		sentence: "2 VCPU: of 2 providers that qualify, none has 2 VCPU free.",
	},
	{
		name: "same_subtree",
		cloud: `
host-1  DISK_GB=500
  host-1-numa0  VCPU=8 MEMORY_MB=32768
    host-1-gpu0  VGPU=2
  host-1-numa1  VCPU=8 MEMORY_MB=32768
host-2  DISK_GB=500
  host-2-numa0  VCPU=8 MEMORY_MB=32768
    host-2-gpu0  VGPU=2
  host-2-numa1  VCPU=8 MEMORY_MB=32768
used: host-1-numa0 VCPU:8
used: host-2-numa0 VCPU:6
`,
		query: "group_policy=none&limit=1000&resources=DISK_GB:20&resources_CPU=MEMORY_MB:4096,VCPU:4&resources_GPU=VGPU:1&" +
			"root_required=!COMPUTE_STATUS_DISABLED&same_subtree=_CPU,_GPU",
		reason:   "together",
		label:    "full",
		sentence: "2 trees have a provider for each group, but no choice of providers meets every same_subtree.",
	},
	{
		name: "isolate",
		cloud: `
host-1  VCPU=16 MEMORY_MB=65536 DISK_GB=500
  host-1-nic0  CUSTOM_PCI_8086_1563=4
  host-1-nic1  CUSTOM_PCI_8086_1563=4
host-2  VCPU=16 MEMORY_MB=65536 DISK_GB=500
  host-2-nic0  CUSTOM_PCI_8086_1563=4
  host-2-nic1  CUSTOM_PCI_8086_1563=4
`,
		query: "group_policy=isolate&limit=1000&resources=DISK_GB:20,MEMORY_MB:2048,VCPU:2&" +
			"resources_net-0=CUSTOM_PCI_8086_1563:1&resources_net-1=CUSTOM_PCI_8086_1563:1&resources_net-2=CUSTOM_PCI_8086_1563:1&" +
			"root_required=!COMPUTE_STATUS_DISABLED",
		reason:   "together",
		label:    "tree",
		sentence: "2 trees have a provider for each group, but 3 isolated groups need 3 providers and no tree has more than 2.",
	},
}
