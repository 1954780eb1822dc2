package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PCI vendors of GPUs.
const (
	VendorNVIDIA = "10de"
	VendorAMD    = "1002"
)

// GPU is a graphics card of this host, as the runtimes of its vendor count it.
type GPU struct {
	// Address is the PCI address.
	Address string
	// Vendor has four hexadecimal digits.
	Vendor string
	// Index is the position among the GPUs of the vendor: in the order of the kernel's KFD topology for AMD if /sys has
	// one, else in the order of the PCI addresses.
	Index int
	// UUID is that of NVIDIA's driver, such as GPU-5f0d2a1e-…; empty if the driver does not show it.
	UUID string
}

// GPUs returns the graphics cards of a host whose file system is mounted at root. It is not for virtual functions, which
// guests use.
func GPUs(root string) []GPU {
	d := discoverer{root: cmp.Or(root, "/"), found: &Machine{}}
	d.devices()
	count := map[string]int{}
	var all []GPU
	for _, device := range d.found.Devices {
		if !device.Display() || device.PhysicalFunction != "" {
			continue
		}
		gpu := GPU{Address: device.Address, Vendor: device.Vendor, Index: count[device.Vendor]}
		count[device.Vendor]++
		if device.Vendor == VendorNVIDIA {
			gpu.UUID = d.uuidNVIDIA(device.Address)
		}
		all = append(all, gpu)
	}
	d.orderAMD(all)
	return all
}

// DeviceAddress returns the PCI address of the device for which `berth agent` reports a provider, by the name of the
// provider and that of its host.
func DeviceAddress(node, provider string) (address string, known bool) {
	return strings.CutPrefix(provider, deviceName(node, ""))
}

// uuidNVIDIA returns the UUID of a GPU in the file of NVIDIA's driver. The driver writes question marks until a program has
// used the GPU.
func (s discoverer) uuidNVIDIA(address string) string {
	content, err := os.ReadFile(s.path("proc/driver/nvidia/gpus", strings.ToLower(address), "information"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); strings.TrimSpace(name) == "GPU UUID" && !strings.Contains(value, "?") {
			return value
		}
	}
	return ""
}

// orderAMD sets the indexes of AMD's GPUs to those of the KFD topology, if it has all of them.
func (s discoverer) orderAMD(all []GPU) {
	const at = "sys/class/kfd/kfd/topology/nodes"
	entries, err := os.ReadDir(s.path(at))
	if err != nil {
		return
	}
	var numbers []int
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	indexes := map[string]int{}
	for _, number := range numbers {
		if address, isGPU := addressKFD(s.path(at, strconv.Itoa(number), "properties")); isGPU {
			indexes[address] = len(indexes)
		}
	}
	for _, gpu := range all {
		if _, known := indexes[gpu.Address]; gpu.Vendor == VendorAMD && !known {
			return
		}
	}
	for i := range all {
		if all[i].Vendor == VendorAMD {
			all[i].Index = indexes[all[i].Address]
		}
	}
}

// addressKFD returns the PCI address of a node of the KFD topology. Nodes without SIMD units are CPUs.
func addressKFD(path string) (address string, isGPU bool) {
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", false
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			values[fields[0]], _ = strconv.ParseInt(fields[1], 10, 64) // 0: not a number that matters here
		}
	}
	location := values["location_id"]
	return fmt.Sprintf("%04x:%02x:%02x.%x", values["domain"], location>>8&0xff, location>>3&0x1f, location&7), values["simd_count"] > 0
}
