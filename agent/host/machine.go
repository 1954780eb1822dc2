package host

import (
	"fmt"
	"slices"
)

// Machine is the result of Discover. Lists are sorted. A list is empty if there is nothing or if Discover could not
// read it; Missing names the second case.
type Machine struct {
	// Architecture is x86_64, aarch64, or empty if the kernel's list of
	// processors does not show it.
	Architecture string   `json:"architecture,omitempty"`
	Sockets      []Socket `json:"sockets,omitempty"`
	// CPUs are the logical processors that are online.
	CPUs []CPU `json:"cpus,omitempty"`
	// Isolated are the CPUs that the scheduler of the kernel does not use.
	Isolated CPUSet `json:"isolated,omitempty"`
	// Flags are the CPU flags that all processors have, with the names of the kernel.
	Flags []string `json:"flags,omitempty"`
	// Vendor is a name such as GenuineIntel.
	Vendor string `json:"vendor,omitempty"`
	// MemoryMB is the memory of the kernel in MiB, huge pages included.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	// HugePages are those of the whole machine.
	HugePages []HugePages `json:"huge_pages,omitempty"`
	Nodes     []Node      `json:"numa_nodes,omitempty"`
	// Filesystem is the file system with the disks of guests.
	Filesystem *Filesystem `json:"filesystem,omitempty"`
	Disks      []Disk      `json:"disks,omitempty"`
	NICs       []NIC       `json:"network_cards,omitempty"`
	// Devices are the PCI devices, by address.
	Devices []Device `json:"pci_devices,omitempty"`
	// Missing are the parts that Discover could not read.
	Missing []Missing `json:"missing,omitempty"`
}

// Socket is a processor package.
type Socket struct {
	ID      int    `json:"id"`
	Vendor  string `json:"vendor,omitempty"`
	Model   string `json:"model,omitempty"`
	Cores   int    `json:"cores"`
	Threads int    `json:"threads"`
}

// CPU is a logical processor, a thread of a core.
type CPU struct {
	ID int `json:"id"`
	// Socket, Core and Node are -1 where unknown. A core's number is unique in
	// its socket only.
	Socket int `json:"socket"`
	Core   int `json:"core"`
	Node   int `json:"numa_node"`
	// Siblings are all threads of the core, this one included.
	Siblings CPUSet `json:"siblings,omitempty"`
}

// Node is a NUMA node.
type Node struct {
	ID        int         `json:"id"`
	CPUs      CPUSet      `json:"cpus,omitempty"`
	MemoryMB  int64       `json:"memory_mb"`
	HugePages []HugePages `json:"huge_pages,omitempty"`
}

// HugePages are the pages of one size that were set aside, in use or not.
type HugePages struct {
	SizeKB int64 `json:"size_kb"`
	Total  int64 `json:"total"`
}

// Filesystem is the size of a file system, in GiB, rounded down.
type Filesystem struct {
	Path    string `json:"path"`
	TotalGB int64  `json:"total_gb"`
}

// Disk is a block device; virtual and empty ones are left out.
type Disk struct {
	Name   string `json:"name"`
	SizeGB int64  `json:"size_gb"`
	// Type is ssd, hdd, or something else that does not matter here.
	Type string `json:"type"`
	// Bus is such as nvme, scsi or virtio.
	Bus string `json:"bus"`
}

// NIC is a network interface; Address is that of its PCI device, if it has one.
type NIC struct {
	Name    string `json:"name"`
	MAC     string `json:"mac,omitempty"`
	Address string `json:"pci_address,omitempty"`
	Virtual bool   `json:"virtual,omitempty"`
}

// Device is a PCI device or a function of one.
type Device struct {
	// Address is such as 0000:3b:00.0.
	Address string `json:"address"`
	// Vendor and Product have four hexadecimal digits, Class has six: the class,
	// the subclass and the programming interface.
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Class   string `json:"class"`
	Driver  string `json:"driver,omitempty"`
	// Node is the NUMA node that it is near to, -1 if none.
	Node int `json:"numa_node"`
	// BootVGA is the display that the machine started with, usually the one of
	// its management controller.
	BootVGA bool `json:"boot_vga,omitempty"`
	// TotalVFs is how many virtual functions the device can have, 0 if it knows
	// none; VirtualFunctions are the addresses of those that exist.
	TotalVFs         int      `json:"total_vfs,omitempty"`
	VirtualFunctions []string `json:"virtual_functions,omitempty"`
	// PhysicalFunction is the address of the device whose virtual function this is.
	PhysicalFunction string `json:"physical_function,omitempty"`
	// MediatedTypes are the kinds of virtual devices that it can be divided into.
	MediatedTypes []MediatedType `json:"mediated_types,omitempty"`
}

// MediatedType is one way of dividing a device.
type MediatedType struct {
	// ID is the kernel's name, such as nvidia-63; Name is the vendor's.
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Available is how many more there can be, Existing how many there are.
	Available int64 `json:"available"`
	Existing  int64 `json:"existing"`
}

// Display reports whether the device is a graphics card or another display controller.
func (d Device) Display() bool { return len(d.Class) >= 2 && d.Class[:2] == "03" }

// Network reports whether the device is a network controller.
func (d Device) Network() bool { return len(d.Class) >= 2 && d.Class[:2] == "02" }

// Part is a part of a machine that Discover may be unable to read.
type Part string

// The parts of a machine that can be missing.
const (
	PartCPUs       Part = "cpus"
	PartTopology   Part = "topology"
	PartMemory     Part = "memory"
	PartNodes      Part = "numa nodes"
	PartHugePages  Part = "huge pages"
	PartFilesystem Part = "file system"
	PartDisks      Part = "disks"
	PartDevices    Part = "pci devices"
	PartNICs       Part = "network cards"
)

// Missing is a part that Discover could not read.
type Missing struct {
	Part Part `json:"part"`
	// Why is the reason, for the operator.
	Why string `json:"why"`
}

func (m Missing) String() string { return fmt.Sprintf("%s: %s", m.Part, m.Why) }

// Sees reports whether Discover could read the part. A Driver does not change the tree for a part that it could not
// read.
func (m *Machine) Sees(part Part) bool {
	return !slices.ContainsFunc(m.Missing, func(missing Missing) bool { return missing.Part == part })
}

// miss notes that a part cannot be seen.
func (m *Machine) miss(part Part, why string, values ...any) {
	m.Missing = append(m.Missing, Missing{Part: part, Why: fmt.Sprintf(why, values...)})
}

// hyperthreading tells whether some core has several threads.
func (m *Machine) hyperthreading() bool {
	return slices.ContainsFunc(m.CPUs, func(cpu CPU) bool { return len(cpu.Siblings) > 1 })
}

// device finds a device by its address.
func (m *Machine) device(address string) (Device, bool) {
	at := slices.IndexFunc(m.Devices, func(device Device) bool { return device.Address == address })
	if at < 0 {
		return Device{}, false
	}
	return m.Devices[at], true
}

// hugeMB is the memory, in MiB, that pages hold, of any size.
func hugeMB(all []HugePages) int64 {
	sum := int64(0)
	for _, pages := range all {
		sum += pages.SizeKB * pages.Total
	}
	return sum / 1024
}
