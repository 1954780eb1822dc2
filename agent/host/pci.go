package host

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// devices reads the PCI devices from /sys. ghw cannot replace it: it lists no devices on a host without pci.ids, and
// reads neither virtual functions nor mediated devices.
func (s discoverer) devices() {
	const at = "sys/bus/pci/devices"
	entries, err := os.ReadDir(s.path(at))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.ReadDir(s.path("sys/bus")); err == nil {
			return // no PCI bus, for example in a virtual machine
		}
	}
	if err != nil {
		s.found.miss(PartDevices, "cannot read /%s: %v", at, reason(err))
		return
	}
	for _, entry := range entries {
		directory := s.path(at, entry.Name())
		device := Device{
			Address:          entry.Name(),
			Vendor:           hexadecimal(filepath.Join(directory, "vendor")),
			Product:          hexadecimal(filepath.Join(directory, "device")),
			Class:            hexadecimal(filepath.Join(directory, "class")),
			Driver:           target(filepath.Join(directory, "driver")),
			Node:             int(readNumber(filepath.Join(directory, "numa_node"), -1)),
			BootVGA:          readNumber(filepath.Join(directory, "boot_vga"), 0) == 1,
			TotalVFs:         int(readNumber(filepath.Join(directory, "sriov_totalvfs"), 0)),
			PhysicalFunction: target(filepath.Join(directory, "physfn")),
			MediatedTypes:    mediatedTypes(filepath.Join(directory, "mdev_supported_types")),
		}
		device.VirtualFunctions = virtualFunctions(directory)
		s.found.Devices = append(s.found.Devices, device)
	}
	slices.SortFunc(s.found.Devices, func(a, b Device) int { return cmp.Compare(a.Address, b.Address) })
}

// hexadecimal returns the number in a file without its prefix: "8086" for "0x8086".
func hexadecimal(path string) string {
	return strings.ToLower(strings.TrimPrefix(readLine(path), "0x"))
}

// target returns the base name of the target of a symbolic link; empty if the path is not a link.
func target(link string) string {
	to, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

// virtualFunctions returns the targets of the links virtfn0, virtfn1 and so on.
func virtualFunctions(directory string) []string {
	var all []string
	for number := 0; ; number++ {
		address := target(filepath.Join(directory, "virtfn"+strconv.Itoa(number)))
		if address == "" {
			return all
		}
		all = append(all, address)
	}
}

// mediatedTypes returns the mediated device types in a directory; nil if it does not exist.
func mediatedTypes(directory string) []MediatedType {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	var all []MediatedType
	for _, entry := range entries {
		at := filepath.Join(directory, entry.Name())
		existing, _ := os.ReadDir(filepath.Join(at, "devices")) // none if there is no such directory
		all = append(all, MediatedType{
			ID: entry.Name(), Name: readLine(filepath.Join(at, "name")), Description: readLine(filepath.Join(at, "description")),
			Available: readNumber(filepath.Join(at, "available_instances"), 0), Existing: int64(len(existing)),
		})
	}
	return all
}
