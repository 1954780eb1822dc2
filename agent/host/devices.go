package host

import (
	"fmt"
	"slices"

	"github.com/berthd/berth/client"
)

// deviceInventory is what a device adds to the provider of its address, or, if it is a virtual
// function, to that of its physical function.
type deviceInventory struct {
	class  string
	amount int64
	traits []string
}

// devices adds the places of the PCI devices that are offered.
func (s *desiredTree) devices() error {
	totals := map[string]map[string]int64{}
	for _, device := range s.machine.Devices {
		made, err := s.deviceInventory(device)
		if err != nil {
			return err
		}
		if made.amount == 0 {
			continue
		}
		holder := device
		if physical, known := s.machine.device(device.PhysicalFunction); known {
			holder = physical
		}
		at := s.devicePlace(holder)
		at.traits = append(at.traits, made.traits...)
		if totals[at.name] == nil {
			totals[at.name] = map[string]int64{}
		}
		totals[at.name][made.class] += made.amount
	}
	for _, at := range s.places {
		for class, total := range totals[at.name] {
			at.inventories[class] = record(total, 0, 1)
		}
	}
	return nil
}

// devicePlace finds or makes the place of a device: below its NUMA node if that
// has one, below the root otherwise.
func (s *desiredTree) devicePlace(device Device) *place {
	name := deviceName(s.node, device.Address)
	if at := s.find(name); at != nil {
		return at
	}
	at := &place{kind: kindDevice, name: name, parent: s.node, inventories: client.Inventories{}}
	if near := s.find(nodeName(s.node, device.Node)); device.Node >= 0 && near != nil {
		at.parent = near.name
	}
	if device.Network() && device.TotalVFs > 0 {
		at.traits = append(at.traits, traitSRIOV)
	}
	s.places = append(s.places, at)
	return at
}

// deviceInventory decides by the rules, and by the device's kind where there are none.
func (s *desiredTree) deviceInventory(device Device) (deviceInventory, error) {
	rule, told := s.rule(device)
	physical, isVirtual := s.machine.device(device.PhysicalFunction)
	if isVirtual {
		whole, toldWhole := s.rule(physical)
		switch {
		case toldWhole && !told:
			return deviceInventory{}, nil // the rule for the card speaks for its functions, too
		case toldWhole && !whole.Ignore && !rule.Ignore:
			return deviceInventory{}, fmt.Errorf("devices: %s and its virtual function %s are both offered, but they are one device; add a rule with ignore: true for one of them",
				physical.Address, device.Address)
		}
	}
	switch {
	case told && rule.Ignore:
		return deviceInventory{}, nil
	case told:
		return s.chosen(device, rule)
	case s.config.DefaultDevices != nil && !*s.config.DefaultDevices:
		return deviceInventory{}, nil
	case device.Display() && !device.BootVGA && len(device.VirtualFunctions) == 0:
		return s.display(device, "")
	case isVirtual && device.Network():
		return deviceInventory{class: classVF, amount: 1}, nil
	}
	return deviceInventory{}, nil
}

// rule is the first that the device meets.
func (s *desiredTree) rule(device Device) (Rule, bool) {
	at := slices.IndexFunc(s.config.Devices, func(rule Rule) bool { return rule.meets(device) })
	if at < 0 {
		return Rule{}, false
	}
	return s.config.Devices[at], true
}

// chosen is what a rule makes of a device.
func (s *desiredTree) chosen(device Device, rule Rule) (deviceInventory, error) {
	made := deviceInventory{class: pciClass(device), amount: 1}
	var err error
	switch {
	case device.Display():
		made, err = s.display(device, rule.MediatedType)
	case rule.MediatedType != "":
		err = fmt.Errorf("devices: mediated_type is for graphics cards, and %s is none", device.Address)
	case device.PhysicalFunction != "" && device.Network():
		made.class = classVF
	}
	if rule.ResourceClass != "" {
		made.class = rule.ResourceClass
	}
	made.traits = append(made.traits, rule.Traits...)
	return made, err
}

// display offers a graphics card as a whole, or divided if it can be and it is
// known how.
func (s *desiredTree) display(device Device, wanted string) (deviceInventory, error) {
	types := device.MediatedTypes
	at := slices.IndexFunc(types, func(one MediatedType) bool { return one.ID == wanted })
	switch {
	case wanted == "" && len(types) == 0:
		return deviceInventory{class: classPGPU, amount: 1}, nil
	case wanted == "" && len(types) == 1:
		at = 0
	case wanted == "":
		// As long as its driver divides it, it cannot be given away as a whole.
		s.note("a graphics card is not offered, since it can be divided in several ways: choose one with mediated_type in a rule, or ignore it",
			"device", device.Address, "types", len(types))
		return deviceInventory{}, nil
	case at < 0:
		var known []string
		for _, one := range types {
			known = append(known, one.ID)
		}
		return deviceInventory{}, fmt.Errorf("devices: the graphics card %s cannot be divided into %s; it knows %q", device.Address, wanted, known)
	}
	chosen := types[at]
	return deviceInventory{class: classVGPU, amount: chosen.Available + chosen.Existing, traits: displayTraits(chosen.Description)}, nil
}
