package host

import (
	"fmt"
	"slices"

	"github.com/berthd/berth/client"
)

// deviceInventory is the inventory and the traits that a device adds to its provider. The provider of a virtual function
// is that of its physical function.
type deviceInventory struct {
	class  string
	amount int64
	traits []string
}

// devices adds the providers of the reported PCI devices.
func (s *desiredTree) devices() error {
	totals := map[string]map[string]int64{}
	for _, device := range s.machine.Devices {
		inventory, err := s.deviceInventory(device)
		if err != nil {
			return err
		}
		if inventory.amount == 0 {
			continue
		}
		owner := device
		if physical, known := s.machine.device(device.PhysicalFunction); known {
			owner = physical
		}
		at := s.deviceProvider(owner)
		at.traits = append(at.traits, inventory.traits...)
		if totals[at.name] == nil {
			totals[at.name] = map[string]int64{}
		}
		totals[at.name][inventory.class] += inventory.amount
	}
	for _, at := range s.providers {
		for class, total := range totals[at.name] {
			at.inventories[class] = record(total, 0, 1)
		}
	}
	return nil
}

// deviceProvider returns the provider of a device and adds it if it is missing. Its parent is the provider of its NUMA
// node, or else the root.
func (s *desiredTree) deviceProvider(device Device) *desiredProvider {
	name := deviceName(s.node, device.Address)
	if at := s.find(name); at != nil {
		return at
	}
	at := &desiredProvider{kind: kindDevice, name: name, parent: s.node, inventories: client.Inventories{}}
	if near := s.find(nodeName(s.node, device.Node)); device.Node >= 0 && near != nil {
		at.parent = near.name
	}
	if device.Network() && device.TotalVFs > 0 {
		at.traits = append(at.traits, traitSRIOV)
	}
	s.providers = append(s.providers, at)
	return at
}

// deviceInventory returns the inventory of a device by its rule, or else by the type of the device. The amount is 0 for a
// device that is not reported.
func (s *desiredTree) deviceInventory(device Device) (deviceInventory, error) {
	rule, hasRule := s.rule(device)
	physical, isVirtual := s.machine.device(device.PhysicalFunction)
	if isVirtual {
		physicalRule, physicalHasRule := s.rule(physical)
		switch {
		case physicalHasRule && !hasRule:
			return deviceInventory{}, nil // the rule for the physical function applies to its virtual functions, too
		case physicalHasRule && !physicalRule.Ignore && !rule.Ignore:
			return deviceInventory{}, fmt.Errorf("devices: rules report both %s and its virtual function %s, which are one device; add a rule with ignore: true for one of them",
				physical.Address, device.Address)
		}
	}
	switch {
	case hasRule && rule.Ignore:
		return deviceInventory{}, nil
	case hasRule:
		return s.inventoryByRule(device, rule)
	case s.config.DefaultDevices != nil && !*s.config.DefaultDevices:
		return deviceInventory{}, nil
	case device.Display() && !device.BootVGA && len(device.VirtualFunctions) == 0:
		return s.display(device, "")
	case isVirtual && device.Network():
		return deviceInventory{class: classVF, amount: 1}, nil
	}
	return deviceInventory{}, nil
}

// rule returns the first rule that matches the device.
func (s *desiredTree) rule(device Device) (Rule, bool) {
	at := slices.IndexFunc(s.config.Devices, func(rule Rule) bool { return rule.matches(device) })
	if at < 0 {
		return Rule{}, false
	}
	return s.config.Devices[at], true
}

// inventoryByRule returns the inventory of a device with a rule.
func (s *desiredTree) inventoryByRule(device Device, rule Rule) (deviceInventory, error) {
	inventory := deviceInventory{class: pciClass(device), amount: 1}
	var err error
	switch {
	case device.Display():
		inventory, err = s.display(device, rule.MediatedType)
	case rule.MediatedType != "":
		err = fmt.Errorf("devices: mediated_type applies to GPUs only, but %s is not a GPU", device.Address)
	case device.PhysicalFunction != "" && device.Network():
		inventory.class = classVF
	}
	if rule.ResourceClass != "" {
		inventory.class = rule.ResourceClass
	}
	inventory.traits = append(inventory.traits, rule.Traits...)
	return inventory, err
}

// display returns PGPU for a GPU without mediated device types, and otherwise VGPU of the selected type or of the only
// one.
func (s *desiredTree) display(device Device, selected string) (deviceInventory, error) {
	types := device.MediatedTypes
	at := slices.IndexFunc(types, func(kind MediatedType) bool { return kind.ID == selected })
	switch {
	case selected == "" && len(types) == 0:
		return deviceInventory{class: classPGPU, amount: 1}, nil
	case selected == "" && len(types) == 1:
		at = 0
	case selected == "":
		// With a driver for mediated devices, guests cannot use the device as a whole.
		s.note("a GPU is not reported because it has several mediated device types; select one with mediated_type in a rule, or ignore the device",
			"device", device.Address, "types", len(types))
		return deviceInventory{}, nil
	case at < 0:
		var known []string
		for _, kind := range types {
			known = append(known, kind.ID)
		}
		return deviceInventory{}, fmt.Errorf("devices: the GPU %s has no mediated device type %s; choose from %q", device.Address, selected, known)
	}
	chosen := types[at]
	return deviceInventory{class: classVGPU, amount: chosen.Available + chosen.Existing, traits: displayTraits(chosen.Description)}, nil
}
