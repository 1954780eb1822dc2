package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/client"
)

// kind is what a provider stands for.
type kind int

const (
	kindRoot kind = iota
	kindNode
	kindDevice
)

// place is a provider as it should be.
type place struct {
	kind kind
	name string
	// parent is a name, empty for the root.
	parent string
	// inventories have all fields but the ratio.
	inventories client.Inventories
	traits      []string
}

// desiredTree is a tree as it should be, parents before their children.
type desiredTree struct {
	node    string
	machine *Machine
	config  *Config
	places  []*place
	// notes are for the log, each with pairs of names and values.
	notes []note
}

type note struct {
	text   string
	values []any
}

func (s *desiredTree) note(text string, values ...any) {
	s.notes = append(s.notes, note{text, values})
}

// newShape computes how the tree of a machine should be. Errors are about settings
// that do not fit the machine.
func newShape(machine *Machine, config *Config, layout Layout, node string) (*desiredTree, error) {
	if err := layout.check(); err != nil {
		return nil, err
	}
	s := &desiredTree{node: node, machine: machine, config: config}
	root := &place{kind: kindRoot, name: node, inventories: client.Inventories{}, traits: slices.Concat(processorTraits(machine), diskTraits(machine))}
	s.places = []*place{root}
	parts, err := s.parts(layout)
	if err != nil {
		return nil, err
	}
	if layout == NUMA {
		for i := range parts {
			if name := nodeName(node, parts[i].node); len(parts[i].totals) > 0 {
				parts[i].at = &place{kind: kindNode, name: name, parent: node, inventories: client.Inventories{}, traits: []string{traitNUMARoot}}
				if parts[i].totals[classVCPU]+parts[i].totals[classPCPU] > 0 {
					parts[i].at.traits = append(parts[i].at.traits, processorTraits(machine)...)
				}
				s.places = append(s.places, parts[i].at)
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

// part is what stands together: a NUMA node's, or the whole machine's.
type part struct {
	node   int // -1 for the machine
	totals map[string]int64
	steps  map[string]int64 // by class, only where it is not 1
	at     *place
}

// parts divides CPUs, memory and huge pages as the layout wants it.
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
		return nil, fmt.Errorf("layout numa: the NUMA nodes of this machine cannot be told (%s); use layout flat", s.machine.why(PartNodes, PartCPUs))
	}
	var parts []part
	for _, node := range s.machine.Nodes {
		one := newPart(node.ID, node.MemoryMB, node.HugePages)
		one.add(classVCPU, int64(len(common(shared, node.CPUs))))
		one.add(classPCPU, int64(len(common(dedicated, node.CPUs))))
		parts = append(parts, one)
	}
	return parts, nil
}

func newPart(node int, memoryMB int64, pages []HugePages) part {
	one := part{node: node, totals: map[string]int64{}, steps: map[string]int64{}}
	// Memory in huge pages can be used as such only.
	one.add(classMemory, memoryMB-hugeMB(pages))
	for _, size := range pages {
		if class, known := hugePagesClass(size.SizeKB); known {
			one.add(class, size.SizeKB*size.Total/1024)
			one.steps[class] = size.SizeKB / 1024
		}
	}
	return one
}

// add leaves out what there is nothing of: the service takes no total of 0.
func (p part) add(class string, total int64) {
	if total > 0 {
		p.totals[class] = total
	}
}

// processors are the shared and the dedicated CPUs.
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
			err = errors.Join(err, fmt.Errorf("cpus.%s: this machine has no CPU %s, or it is offline; it has %s",
				set.name, formatCPUs(absent), formatCPUs(online)))
		}
	}
	if odd := common(shared, s.machine.Isolated); len(odd) > 0 {
		s.note("CPUs are shared although the kernel isolates them, so guests may not get them: make them dedicated, or leave them out", "cpus", formatCPUs(odd))
	}
	return shared, dedicated, err
}

// fill gives the places of the parts their inventories.
func (s *desiredTree) fill(parts []part) error {
	var classes []string
	for _, one := range parts {
		for class := range one.totals {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	for _, class := range slices.Compact(classes) {
		all := int64(0)
		for _, one := range parts {
			all += one.totals[class]
		}
		reserved, err := spread(s.config.reserved(class, all), class, parts)
		if err != nil {
			return err
		}
		for i, one := range parts {
			if total := one.totals[class]; total > 0 {
				one.at.inventories[class] = record(total, reserved[i], cmp.Or(one.steps[class], 1))
			}
		}
	}
	return nil
}

// spread divides what is kept back of a class among the parts: as told for each
// node, or else in equal parts, where a part that has less gives all it has.
func spread(reserved Reserved, class string, parts []part) ([]int64, error) {
	amounts := make([]int64, len(parts))
	total, left := int64(0), reserved.sum()
	for _, one := range parts {
		total += one.totals[class]
	}
	if left > total {
		return nil, fmt.Errorf("reserved.%s: %d is more than the %d that this machine has", class, left, total)
	}
	if reserved.Nodes != nil && parts[0].node >= 0 {
		for node, amount := range reserved.Nodes {
			at := slices.IndexFunc(parts, func(one part) bool { return one.node == node })
			if at < 0 || amount > parts[at].totals[class] {
				return nil, fmt.Errorf("reserved.%s: NUMA node %d does not have %d of it", class, node, amount)
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

// record is an inventory of which everything may be taken at once, in steps.
func record(total, reserved, step int64) client.InventoryRecord {
	total = min(total, maxTotal)
	return client.InventoryRecord{
		Total: int32(total), Reserved: new(int32(min(reserved, total))), MinUnit: new(int32(step)),
		MaxUnit: new(int32(total)), StepSize: new(int32(step)),
	}
}

// disk is always on the root: a file system belongs to no NUMA node.
func (s *desiredTree) disk(root *place) error {
	total := int64(0)
	if told := s.config.Disk.TotalGB; told != nil {
		total = *told
	} else if s.machine.Filesystem != nil {
		total = s.machine.Filesystem.TotalGB
	}
	if total == 0 {
		return nil
	}
	reserved := s.config.reserved(classDisk, total).Amount
	if reserved > total {
		return fmt.Errorf("reserved.DISK_GB: %d is more than the %d that there are", reserved, total)
	}
	root.inventories[classDisk] = record(total, reserved, 1)
	return nil
}

// diskTraits tell of what kind the disks are if all are of one. What a virtual disk
// stands on is not known.
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

// find is a place by its name, nil if there is none.
func (s *desiredTree) find(name string) *place {
	if at := slices.IndexFunc(s.places, func(one *place) bool { return one.name == name }); at >= 0 {
		return s.places[at]
	}
	return nil
}

// providersOf are the places that have inventory of one of the classes.
func (s *desiredTree) providersOf(classes ...string) []*place {
	var found []*place
	for _, one := range s.places {
		if slices.ContainsFunc(classes, func(class string) bool { _, has := one.inventories[class]; return has }) {
			found = append(found, one)
		}
	}
	return found
}

// notDiscovered tells that of a class the survey knows nothing, so that what the tree says
// of it is the best that is known.
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

// nodeName is the name of a NUMA node's provider, deviceName that of a device's.
func nodeName(node string, id int) string { return fmt.Sprintf("%s_NUMA%d", node, id) }

func deviceName(node, address string) string { return node + "_" + address }

// why tells what kept the survey from seeing the parts.
func (m *Machine) why(parts ...Part) string {
	var reasons []string
	for _, missing := range m.Missing {
		if slices.Contains(parts, missing.Part) {
			reasons = append(reasons, missing.Why)
		}
	}
	return cmp.Or(strings.Join(reasons, "; "), "it lists none")
}

func common(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(one int) bool { return !slices.Contains(b, one) })
}
