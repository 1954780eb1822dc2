package host

import (
	"fmt"
	"slices"
)

// Machine is the hardware of a host. Lists are sorted. An empty list means that the host has no such part, or that
// Discover could not read it and lists it in Missing.
type Machine struct {
	// Architecture is x86_64 or aarch64; empty if /proc/cpuinfo does not show it.
	Architecture string   `json:"architecture,omitempty"`
	Sockets      []Socket `json:"sockets,omitempty"`
	// CPUs lists the online logical CPUs.
	CPUs []CPU `json:"cpus,omitempty"`
	// Isolated lists the CPUs that the kernel's scheduler does not use (isolcpus).
	Isolated CPUSet `json:"isolated,omitempty"`
	// Flags lists the CPU flags that all CPUs have, by the kernel's names.
	Flags []string `json:"flags,omitempty"`
	// Vendor is the CPU vendor, for example GenuineIntel.
	Vendor string `json:"vendor,omitempty"`
	// MemoryMB is the total memory in MiB, including huge pages.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	// HugePages lists the huge pages of the whole host.
	HugePages []HugePages `json:"huge_pages,omitempty"`
	Nodes     []Node      `json:"numa_nodes,omitempty"`
	// Filesystem is the file system with the disks of guests.
	Filesystem *Filesystem `json:"filesystem,omitempty"`
	Disks      []Disk      `json:"disks,omitempty"`
	NICs       []NIC       `json:"network_cards,omitempty"`
	// Devices lists the PCI devices by address.
	Devices []Device `json:"pci_devices,omitempty"`
	// Missing lists the parts that Discover could not read.
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

// CPU is a logical CPU: a thread of a core.
type CPU struct {
	ID int `json:"id"`
	// Socket, Core and Node are -1 if unknown. The number of a core is unique in
	// its socket only.
	Socket int `json:"socket"`
	Core   int `json:"core"`
	Node   int `json:"numa_node"`
	// Siblings lists all threads of the core, including this one.
	Siblings CPUSet `json:"siblings,omitempty"`
}

// Node is a NUMA node.
type Node struct {
	ID        int         `json:"id"`
	CPUs      CPUSet      `json:"cpus,omitempty"`
	MemoryMB  int64       `json:"memory_mb"`
	HugePages []HugePages `json:"huge_pages,omitempty"`
}

// HugePages is the number of huge pages of one size, whether in use or not.
type HugePages struct {
	SizeKB int64 `json:"size_kb"`
	Total  int64 `json:"total"`
}

// Filesystem is the size of a file system in GiB, rounded down.
type Filesystem struct {
	Path    string `json:"path"`
	TotalGB int64  `json:"total_gb"`
}

// Disk is a block device. Discover omits virtual and empty ones.
type Disk struct {
	Name   string `json:"name"`
	SizeGB int64  `json:"size_gb"`
	// Type is ssd, hdd or another type of ghw, which the driver ignores.
	Type string `json:"type"`
	// Bus is for example nvme, scsi or virtio.
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
	// Address is the PCI address, for example 0000:3b:00.0.
	Address string `json:"address"`
	// Vendor and Product have four hexadecimal digits, Class has six: the class,
	// the subclass and the programming interface.
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Class   string `json:"class"`
	Driver  string `json:"driver,omitempty"`
	// Node is the NUMA node of the device; -1: none.
	Node int `json:"numa_node"`
	// BootVGA is true for the display of the firmware, usually that of the
	// management controller.
	BootVGA bool `json:"boot_vga,omitempty"`
	// TotalVFs is the maximum number of virtual functions; 0 without SR-IOV.
	// VirtualFunctions lists the addresses of the existing ones.
	TotalVFs         int      `json:"total_vfs,omitempty"`
	VirtualFunctions []string `json:"virtual_functions,omitempty"`
	// PhysicalFunction is the address of the physical function, if this is a virtual function.
	PhysicalFunction string `json:"physical_function,omitempty"`
	// MediatedTypes lists the mediated device types (mdev) of the device.
	MediatedTypes []MediatedType `json:"mediated_types,omitempty"`
}

// MediatedType is a mediated device type of a device.
type MediatedType struct {
	// ID is the kernel's name, for example nvidia-63; Name is the vendor's.
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Available is the number of instances that can be created, Existing that of existing ones.
	Available int64 `json:"available"`
	Existing  int64 `json:"existing"`
}

// Display reports whether the device is a graphics card or another display controller.
func (d Device) Display() bool { return len(d.Class) >= 2 && d.Class[:2] == "03" }

// Network reports whether the device is a network controller.
func (d Device) Network() bool { return len(d.Class) >= 2 && d.Class[:2] == "02" }

// Part is a part of a machine that Discover may be unable to read.
type Part string

// Parts of a machine that can be missing.
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

// Sees reports whether Discover could read the part. For other parts, a Driver leaves the tree unchanged.
func (m *Machine) Sees(part Part) bool {
	return !slices.ContainsFunc(m.Missing, func(missing Missing) bool { return missing.Part == part })
}

// miss adds a part that Discover could not read.
func (m *Machine) miss(part Part, why string, values ...any) {
	m.Missing = append(m.Missing, Missing{Part: part, Why: fmt.Sprintf(why, values...)})
}

// hyperthreading reports whether a core has several threads.
func (m *Machine) hyperthreading() bool {
	return slices.ContainsFunc(m.CPUs, func(cpu CPU) bool { return len(cpu.Siblings) > 1 })
}

// device returns the device with an address.
func (m *Machine) device(address string) (Device, bool) {
	at := slices.IndexFunc(m.Devices, func(device Device) bool { return device.Address == address })
	if at < 0 {
		return Device{}, false
	}
	return m.Devices[at], true
}

// hugeMB returns the memory of huge pages of all sizes in MiB.
func hugeMB(all []HugePages) int64 {
	sum := int64(0)
	for _, pages := range all {
		sum += pages.SizeKB * pages.Total
	}
	return sum / 1024
}
