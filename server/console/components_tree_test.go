package console

import (
	"github.com/berthd/berth/internal/draw"
)

func usedBy(capacity, reserved float64, amounts ...float64) Bar {
	b := Bar{Capacity: capacity, Reserved: reserved}
	for _, amount := range amounts {
		kind := draw.Used
		if amount < 0 {
			kind, amount = draw.Marked, -amount
		}
		b.Pieces = append(b.Pieces, draw.Piece{Amount: amount, Kind: kind})
	}
	return b
}

type sampleRow struct {
	name, sub string
	depth     int
	mode      string
	bars      map[string]Bar
}

func treeOf(classes []string, rows []sampleRow) Tree {
	tree := Tree{Caption: "Providers and their usage by resource class", Classes: classes}
	depths := make([]int, len(rows))
	for i, row := range rows {
		depths[i] = row.depth
	}
	lines := treeLines(depths)
	for i, row := range rows {
		r := TreeRow{Link: Link{Text: row.name, Href: "?at=" + row.name}, Sub: row.sub, Mode: row.mode, Lines: lines[i]}
		for _, class := range classes {
			amount := Amount{Class: class}
			if b, ok := row.bars[class]; ok {
				amount = amountOf(class, b)
			}
			r.Amounts = append(r.Amounts, amount)
		}
		tree.Rows = append(tree.Rows, r)
	}
	return tree
}

func sampleTree() Frame {
	type bars = map[string]Bar
	const gib = 1024
	tree := treeOf([]string{"VCPU", "MEMORY_MB", "DISK_GB", "VGPU", "SRIOV_NET_VF"}, []sampleRow{
		{"gpu-07", "HW_CPU_X86_AVX512F COMPUTE_NODE +61", 0, "", bars{"DISK_GB": usedBy(3600, 50, 160, 160, -480, 320, 260, 260, 280)}},
		{"gpu-07_NUMA0", "HW_NUMA_ROOT", 1, "", bars{"VCPU": usedBy(60, 4, 4, -16, 8, 8, 8), "MEMORY_MB": usedBy(248*gib, 8*gib, 16*gib, -64*gib, 32*gib, 48*gib, 32*gib)}},
		{"gpu-07_3b:00.0", "CUSTOM_A100 HW_GPU_API_VULKAN +2", 2, "at", bars{"VGPU": usedBy(4, 0, -2, 1)}},
		{"gpu-07_5e:00.0", "CUSTOM_A100 HW_GPU_API_VULKAN +2", 2, "", bars{"VGPU": usedBy(4, 0, 1, 1, 2)}},
		{"gpu-07_ens1f0", "CUSTOM_PHYSNET_LAN HW_NIC_SRIOV", 2, "", bars{"SRIOV_NET_VF": usedBy(16, 0, 1, -2, 1, 1, 1)}},
		{"gpu-07_NUMA1", "HW_NUMA_ROOT", 1, "", bars{"VCPU": usedBy(60, 4, 8, 12), "MEMORY_MB": usedBy(248*gib, 8*gib, 32*gib, 48*gib)}},
		{"gpu-07_86:00.0", "CUSTOM_A100 HW_GPU_API_VULKAN +2", 2, "", bars{"VGPU": usedBy(4, 0, 1)}},
		{"gpu-07_af:00.0", "CUSTOM_A40 HW_GPU_API_VULKAN +2", 2, "", bars{"VGPU": usedBy(3, 0, 2, 2)}},
		{"gpu-07_ens2f0", "CUSTOM_PHYSNET_STORAGE HW_NIC_SRIOV", 2, "", bars{"SRIOV_NET_VF": usedBy(16, 0, 1, 1)}},
		{"ceph-ssd", "shares with aggregate 2c9d7f10… and 7 others", 0, "shared", bars{"DISK_GB": usedBy(1351680, 0, 1130496)}},
	})
	type holder struct {
		ID    string
		Mark  bool
		Cells []Cell
	}
	cells := func(project, vgpu, since string) []Cell {
		return []Cell{{Link: Link{Text: project}}, {Link: Link{Text: vgpu}, Number: true, Strong: true}, {Link: Link{Text: since}, Number: true}}
	}
	field := func(name, value string) Field { return Field{Name: name, Values: []Link{{Text: value}}} }
	return Frame{
		Title: "gpu-07", Nav: "providers", Crumbs: []Link{{Text: "Providers", Href: "/console/providers"}, {Text: "gpu-07"}},
		Facts:   append([]Fact{{Link: Link{Text: "2c9d7f10-4f7a-4a43-9a55-8a1f0e7c1d07"}, Copy: true}}, text("9 providers", "generation 41")...),
		Actions: []Link{{Text: "Find candidates here", Href: "#"}, {Text: "Compare…", Href: "#"}, {Text: "Export", Href: "#"}},
		Body: map[string]any{
			"Tabs":   []Link{{Text: "Tree", Href: "#", Current: true}, {Text: "Consumers", Href: "#", Count: "14"}, {Text: "Traits", Href: "#", Count: "66"}, {Text: "API", Href: "#"}},
			"Chosen": Link{Text: "9f3c61de", Href: "#", Kind: "a"}, "Tree": tree,
			"Legend":      []Swatch{{swatch("cut"), "used, one piece for each consumer"}, {swatch("mark"), "the highlighted consumer"}, {swatch("held"), "reserved"}},
			"Inventory":   []Field{field("total", "4"), field("reserved", "0"), field("allocation_ratio", "1.0"), field("min_unit, max_unit", "1, 4"), field("step_size", "1"), {"capacity", []Link{{Text: "4, of which"}}, "1 is free"}},
			"HolderHeads": []Cell{{Link: Link{Text: "Consumer"}}, {Link: Link{Text: "Project"}}, {Link: Link{Text: "VGPU"}, Number: true}, {Link: Link{Text: "Since"}, Number: true}},
			"Holders": []holder{
				{"9f3c61de-0a52-4e86-b4f5-1e1a6fb61de0", true, cells("render", "2", "12 days")}, {"04b7aa12-0a52-4e86-b4f5-1e1a6fb61de0", false, cells("lab", "1", "3 h")},
			},
			"Traits": []Link{{Text: "CUSTOM_A100"}, {Text: "HW_GPU_API_VULKAN"}, {Text: "HW_GPU_RESOLUTION_W2560H1600"}, {Text: "OWNER_NOVA"}},
			"Place":  []Field{{Name: "parent", Values: []Link{{Text: "gpu-07_NUMA0", Href: "#"}}}, field("aggregates", "none of its own"), field("generation", "17")},
			"Foot":   []Link{{Text: "Candidates that use it", Href: "#"}, {Text: "JSON", Href: "#"}},
		},
	}
}

func sampleCandidates() Frame {
	type group struct {
		Kind      string
		Chip      Link
		Resources []Input
		Fields    []Input
	}
	resource := func(class, value string) Input { return Input{Name: "resources", Class: class, Value: value} }
	rows := []struct {
		label, sub string
		count      float64
	}{
		{"Trees", "", 412}, {"have 100 DISK_GB free", "", 398}, {"have a provider for _GPU", "with CUSTOM_A100", 64}, {"where 1 VGPU is free", "", 23},
		{"have a provider for _CPU", "12 VCPU and 48 GiB free", 19}, {"same_subtree _CPU, _GPU", "", 2},
	}
	funnel := Hist{Funnel: true, Label: "Trees that are left after each step: 412, 398, 64, 23, 19, 2"}
	previous := 412.0
	for i, row := range rows {
		kind := draw.Used
		if i == len(rows)-1 {
			kind = draw.Amber
		}
		funnel.Rows = append(funnel.Rows, HistRow{Text: row.label, Sub: row.sub, Count: number(int64(row.count)), Bar: histBar(448, 10, row.count, previous, 412, kind)})
		previous = row.count
	}
	tree := treeOf([]string{"VCPU", "MEMORY_MB", "DISK_GB", "VGPU"}, []sampleRow{{name: "gpu-07"}, {name: "gpu-07_NUMA1", depth: 1}, {name: "gpu-07_86:00.0", depth: 2}})
	tree.Head = "Provider and group"
	for i, chip := range []Link{{Text: "no group", Kind: "g"}, {Text: "_CPU", Kind: "v"}, {Text: "_GPU", Kind: "a"}} {
		tree.Rows[i].Chips = []Link{chip}
	}
	wide := func(b Bar) Bar { b.Width, b.Height = 132, 8; return b }
	tree.Rows[0].Amounts[2] = takenOf("DISK_GB", wide(usedBy(3600, 0, 1920)), 100, "g")
	tree.Rows[1].Amounts[0] = takenOf("VCPU", wide(usedBy(60, 0, 20)), 12, "v")
	tree.Rows[1].Amounts[1] = takenOf("MEMORY_MB", wide(usedBy(253952, 0, 81920)), 49152, "v")
	tree.Rows[2].Amounts[3] = takenOf("VGPU", wide(usedBy(4, 0, 1)), 1, "a")
	type other struct {
		Badge Badge
		Name  Link
		Where string
		Chips []Link
	}
	return Frame{
		Title: "Candidates", Nav: "candidates", Facts: text("Where would this fit, and if nowhere, why?"),
		Body: map[string]any{
			"From": Input{ID: "from", Name: "from", Kind: "small", Options: options("from a flavor, a consumer…")},
			"Groups": []group{
				{"", Link{}, []Input{resource("DISK_GB", "100")}, nil},
				{"v", Link{Text: "_CPU", Kind: "v"}, []Input{resource("VCPU", "12"), resource("MEMORY_MB", "49152")}, nil},
				{"a", Link{Text: "_GPU", Kind: "a"}, []Input{resource("VGPU", "1")}, []Input{{ID: "required", Label: "required", Name: "required", Tokens: []Token{{"required", "CUSTOM_A100", ""}}}}},
			},
			"Subtree":  Input{ID: "subtree", Label: "same_subtree", Name: "same_subtree", Tokens: []Token{{"same_subtree", "_CPU", "v"}, {"same_subtree", "_GPU", "a"}}},
			"Together": []Input{{ID: "policy", Label: "group_policy", Name: "group_policy", Options: options("none: may share a provider", "isolate")}, {ID: "limit", Label: "limit", Name: "limit", Value: "20"}},
			"Links":    []Link{{Text: "Link", Href: "#", Kind: "small"}, {Text: "curl", Href: "#", Kind: "small"}},
			"Query": []QueryPart{
				{"", "GET /allocation_candidates?"}, {"resources", "DISK_GB:100&"}, {"resources_CPU", "VCPU:12,MEMORY_MB:49152&"}, {"resources_GPU", "VGPU:1&"},
				{"required_GPU", "CUSTOM_A100&"}, {"same_subtree", "_CPU,_GPU&"}, {"group_policy", "none&"}, {"limit", "20"},
			},
			"Funnel": funnel,
			"Lost": Notice{Title: "17 trees are lost at same_subtree.", Text: "They have a free card and free processors, but not below one NUMA node.",
				Links: []Link{{Text: "Without it", Href: "#"}, {Text: "there are 19 trees;"}, {Text: "with 8 VCPU", Href: "#"}, {Text: "in the place of 12 there are 7."}}},
			"Order": Input{ID: "order", Name: "order", Label: "order", Kind: "small", Options: options("as answered")},
			"First": Badge{"1", true}, "Tree": tree,
			"Others": []other{
				{Badge{"2", false}, Link{Text: "gpu-07"}, "NUMA0, 3b:00.0", []Link{{Text: "uses up 3b:00.0"}}},
				{Badge{"3", false}, Link{Text: "gpu-11"}, "NUMA1, af:00.0", nil},
				{Badge{"+3", false}, Link{Text: "the same, with DISK_GB from ceph-ssd", Href: "#"}, "", nil},
			},
			"Legend": []Swatch{{swatch("used2"), "used now"}, {swatch("g") + swatch("v") + swatch("a"), "taken by this candidate, by group"}},
		},
	}
}
