package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/client"
)

// kind is the kind of hardware that a provider represents.
type kind int

const (
	kindRoot kind = iota
	kindNode
	kindDevice
)

// desiredProvider is a provider of the desired tree.
type desiredProvider struct {
	kind kind
	name string
	// parent is the name of the parent; empty for the root.
	parent string
	// inventories have all fields except the ratio.
	inventories client.Inventories
	traits      []string
}

// desiredTree is the tree that matches the hardware and the configuration, parents before children.
type desiredTree struct {
	node      string
	machine   *Machine
	config    *Config
	providers []*desiredProvider
	// notes is a list of warnings for the log.
	notes []note
}

// note is a log message with its attributes.
type note struct {
	text   string
	values []any
}

func (s *desiredTree) note(text string, values ...any) {
	s.notes = append(s.notes, note{text, values})
}

// newDesiredTree returns the tree for the hardware. It returns an error for settings that do not match the hardware.
func newDesiredTree(machine *Machine, config *Config, layout Layout, node string) (*desiredTree, error) {
	if err := layout.check(); err != nil {
		return nil, err
	}
	s := &desiredTree{node: node, machine: machine, config: config}
	root := &desiredProvider{kind: kindRoot, name: node, inventories: client.Inventories{}, traits: slices.Concat(processorTraits(machine), diskTraits(machine))}
	s.providers = []*desiredProvider{root}
	parts, err := s.parts(layout)
	if err != nil {
		return nil, err
	}
	if layout == NUMA {
		for i := range parts {
			if name := nodeName(node, parts[i].node); len(parts[i].totals) > 0 {
				parts[i].at = &desiredProvider{kind: kindNode, name: name, parent: node, inventories: client.Inventories{}, traits: []string{traitNUMARoot}}
				if parts[i].totals[classVCPU]+parts[i].totals[classPCPU] > 0 {
					parts[i].at.traits = append(parts[i].at.traits, processorTraits(machine)...)
				}
				s.providers = append(s.providers, parts[i].at)
			}
		}
	} else {
		parts[0].at = root
	}
	if err := s.fill(parts); err != nil {
		return nil, err
	}
	if err := s.disk(root); err != nil {
		return nil, err
	}
	return s, s.devices()
}

// part is the CPUs and memory of a NUMA node or of the whole host.
type part struct {
	node   int // -1: the whole host
	totals map[string]int64
	steps  map[string]int64 // step sizes by class; missing: 1
	at     *desiredProvider
}

// parts returns the CPUs, memory and huge pages of the host (flat) or of each NUMA node (numa).
func (s *desiredTree) parts(layout Layout) ([]part, error) {
	shared, dedicated, err := s.processors()
	if err != nil {
		return nil, err
	}
	if layout != NUMA {
		whole := newPart(-1, s.machine.MemoryMB, s.machine.HugePages)
		whole.add(classVCPU, int64(len(shared)))
		whole.add(classPCPU, int64(len(dedicated)))
		return []part{whole}, nil
	}
	if len(s.machine.Nodes) == 0 || !s.machine.Sees(PartNodes) || !s.machine.Sees(PartCPUs) {
		return nil, fmt.Errorf("layout numa: the NUMA nodes of this host are unknown (%s); use layout flat", s.machine.missingReason(PartNodes, PartCPUs))
	}
	var parts []part
	for _, node := range s.machine.Nodes {
		part := newPart(node.ID, node.MemoryMB, node.HugePages)
		part.add(classVCPU, int64(len(intersect(shared, node.CPUs))))
		part.add(classPCPU, int64(len(intersect(dedicated, node.CPUs))))
		parts = append(parts, part)
	}
	return parts, nil
}

// newPart returns a part with memory and huge pages.
func newPart(node int, memoryMB int64, pages []HugePages) part {
	item := part{node: node, totals: map[string]int64{}, steps: map[string]int64{}}
	// MEMORY_MB excludes the memory that is reserved for huge pages.
	item.add(classMemory, memoryMB-hugeMB(pages))
	for _, size := range pages {
		if class, known := hugePagesClass(size.SizeKB); known {
			item.add(class, size.SizeKB*size.Total/1024)
			item.steps[class] = size.SizeKB / 1024
		}
	}
	return item
}

// add sets the total of a class unless it is 0, which the server rejects as invalid.
func (p part) add(class string, total int64) {
	if total > 0 {
		p.totals[class] = total
	}
}

// processors returns the shared and the dedicated CPUs.
func (s *desiredTree) processors() (shared, dedicated []int, err error) {
	if !s.machine.Sees(PartCPUs) {
		return nil, nil, nil
	}
	var online []int
	for _, cpu := range s.machine.CPUs {
		online = append(online, cpu.ID)
	}
	shared, dedicated = s.config.CPUs.Shared, s.config.CPUs.Dedicated
	if shared == nil {
		shared = slices.DeleteFunc(slices.Clone(online), func(cpu int) bool { return slices.Contains(dedicated, cpu) })
	}
	for _, set := range []struct {
		name string
		cpus []int
	}{{"shared", shared}, {"dedicated", dedicated}} {
		absent := slices.DeleteFunc(slices.Clone(set.cpus), func(cpu int) bool { return slices.Contains(online, cpu) })
		if len(absent) > 0 {
			err = errors.Join(err, fmt.Errorf("cpus.%s: CPUs %s do not exist or are offline; online CPUs: %s",
				set.name, formatCPUs(absent), formatCPUs(online)))
		}
	}
	if isolated := intersect(shared, s.machine.Isolated); len(isolated) > 0 {
		s.note("shared CPUs are isolated, so the kernel does not schedule guests on them; make them dedicated, or omit them", "cpus", formatCPUs(isolated))
	}
	return shared, dedicated, err
}

// fill sets the inventories of the providers of the parts.
func (s *desiredTree) fill(parts []part) error {
	var classes []string
	for _, part := range parts {
		for class := range part.totals {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	for _, class := range slices.Compact(classes) {
		all := int64(0)
		for _, part := range parts {
			all += part.totals[class]
		}
		reserved, err := spread(s.config.reserved(class, all), class, parts)
		if err != nil {
			return err
		}
		for i, part := range parts {
			if total := part.totals[class]; total > 0 {
				part.at.inventories[class] = record(total, reserved[i], cmp.Or(part.steps[class], 1))
			}
		}
	}
	return nil
}

// spread divides the reserved amount of a class among the parts: as configured per NUMA node, or else equally. If a part
// has less than its equal share, its total is reserved and the others reserve more.
func spread(reserved Reserved, class string, parts []part) ([]int64, error) {
	amounts := make([]int64, len(parts))
	total, left := int64(0), reserved.sum()
	for _, part := range parts {
		total += part.totals[class]
	}
	if left > total {
		return nil, fmt.Errorf("reserved.%s: %d exceeds the total of %d", class, left, total)
	}
	if reserved.Nodes != nil && parts[0].node >= 0 {
		for node, amount := range reserved.Nodes {
			at := slices.IndexFunc(parts, func(item part) bool { return item.node == node })
			if at < 0 || amount > parts[at].totals[class] {
				return nil, fmt.Errorf("reserved.%s: NUMA node %d has less than %d", class, node, amount)
			}
			amounts[at] = amount
		}
		return amounts, nil
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].totals[class], parts[b].totals[class]) })
	for i, at := range order {
		amounts[at] = min(left/int64(len(order)-i), parts[at].totals[class])
		left -= amounts[at]
	}
	return amounts, nil
}

// record returns an inventory whose max_unit is the total, and whose min_unit and step_size are the step.
func record(total, reserved, step int64) client.InventoryRecord {
	total = min(total, maxTotal)
	return client.InventoryRecord{
		Total: int32(total), Reserved: new(int32(min(reserved, total))), MinUnit: new(int32(step)),
		MaxUnit: new(int32(total)), StepSize: new(int32(step)),
	}
}

// disk adds the inventory of DISK_GB to the root, because a file system belongs to no NUMA node.
func (s *desiredTree) disk(root *desiredProvider) error {
	total := int64(0)
	if configured := s.config.Disk.TotalGB; configured != nil {
		total = *configured
	} else if s.machine.Filesystem != nil {
		total = s.machine.Filesystem.TotalGB
	}
	if total == 0 {
		return nil
	}
	reserved := s.config.reserved(classDisk, total).Amount
	if reserved > total {
		return fmt.Errorf("reserved.DISK_GB: %d exceeds the total of %d", reserved, total)
	}
	root.inventories[classDisk] = record(total, reserved, 1)
	return nil
}

// diskTraits returns the trait for SSD or HDD if all disks have this type. The type of a virtual disk is unknown.
func diskTraits(machine *Machine) []string {
	kinds := map[string]bool{}
	for _, disk := range machine.Disks {
		if disk.Bus == "virtio" {
			return nil
		}
		kinds[disk.Type] = true
	}
	switch {
	case len(kinds) == 1 && kinds["ssd"]:
		return []string{traitSSD}
	case len(kinds) == 1 && kinds["hdd"]:
		return []string{traitHDD}
	}
	return nil
}

// find returns the provider with a name; nil if there is none.
func (s *desiredTree) find(name string) *desiredProvider {
	if at := slices.IndexFunc(s.providers, func(provider *desiredProvider) bool { return provider.name == name }); at >= 0 {
		return s.providers[at]
	}
	return nil
}

// providersOf returns the providers that have inventory of one of the classes.
func (s *desiredTree) providersOf(classes ...string) []*desiredProvider {
	var found []*desiredProvider
	for _, provider := range s.providers {
		if slices.ContainsFunc(classes, func(class string) bool { _, has := provider.inventories[class]; return has }) {
			found = append(found, provider)
		}
	}
	return found
}

// notDiscovered reports whether Discover could not read the hardware of a class. The driver then keeps the inventory in
// the tree.
func (s *desiredTree) notDiscovered(class string) bool {
	switch {
	case class == classVCPU || class == classPCPU:
		return !s.machine.Sees(PartCPUs)
	case class == classMemory:
		return !s.machine.Sees(PartMemory)
	case isHugePages(class):
		return !s.machine.Sees(PartHugePages)
	case class == classDisk:
		return s.config.Disk.TotalGB == nil && !s.machine.Sees(PartFilesystem)
	}
	return !s.machine.Sees(PartDevices)
}

// nodeName returns the name of the provider of a NUMA node.
func nodeName(node string, id int) string { return fmt.Sprintf("%s_NUMA%d", node, id) }

// deviceName returns the name of the provider of a PCI device.
func deviceName(node, address string) string { return node + "_" + address }

// missingReason returns the reasons why Discover could not read the parts.
func (m *Machine) missingReason(parts ...Part) string {
	var reasons []string
	for _, missing := range m.Missing {
		if slices.Contains(parts, missing.Part) {
			reasons = append(reasons, missing.Why)
		}
	}
	return cmp.Or(strings.Join(reasons, "; "), "the kernel lists none")
}

// intersect returns the members of a that b contains.
func intersect(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(item int) bool { return !slices.Contains(b, item) })
}
