package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jaypipes/ghw"
)

// SurveyOptions is the set of paths for Discover; the zero value selects this host.
type SurveyOptions struct {
	// Root is the mount point of the root file system of the host; empty: "/". In a container it may be /host, in a test
	// a directory with recorded hardware.
	Root string
	// DiskPath is a path below Root on the file system with the disks of guests; empty: "/".
	DiskPath string
}

// Discover returns the hardware of the host. It lists parts that it cannot read in Machine.Missing, and returns an error
// only if the context ends.
func Discover(ctx context.Context, options SurveyOptions) (*Machine, error) {
	d := discoverer{root: cmp.Or(options.Root, "/"), found: &Machine{}}
	for _, part := range []func(){
		d.processors, d.memory, d.nodes,
		func() { d.filesystem(cmp.Or(options.DiskPath, "/")) },
		d.disks, d.devices, d.cards,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part()
	}
	return d.found, nil
}

// discoverer is one run of Discover, which fills in a Machine.
type discoverer struct {
	root  string
	found *Machine
}

// ghw returns the options for ghw: the same root, no external programs, no warnings on standard error.
func (s discoverer) ghw() []any {
	return []any{ghw.WithChroot(s.root), ghw.WithDisableTools(), ghw.WithDisableWarnings(), ghw.WithDisableTopology()}
}

// path returns a path below the root.
func (s discoverer) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

// processors reads sockets, cores and threads with ghw, which needs /sys. Without /sys it reads the list of processors
// from /proc/cpuinfo.
func (s discoverer) processors() {
	listed := readCPUInfo(s.path("proc/cpuinfo"))
	s.found.Architecture, s.found.Flags, s.found.Vendor = listed.architecture(), listed.flags, listed.vendor
	info, err := ghw.CPU(s.ghw()...)
	if err != nil || len(info.Processors) == 0 || info.TotalHardwareThreads == 0 {
		if len(listed.ids) == 0 {
			s.found.miss(PartCPUs, "neither /sys/devices/system/cpu nor /proc/cpuinfo lists CPUs")
			return
		}
		s.found.miss(PartTopology, "cannot read /sys/devices/system/cpu, so the cores of threads are unknown; the CPUs are those of /proc/cpuinfo")
		for _, id := range listed.ids {
			s.found.CPUs = append(s.found.CPUs, CPU{ID: id, Socket: -1, Core: -1, Node: -1})
		}
		return
	}
	for _, processor := range info.Processors {
		s.found.Sockets = append(s.found.Sockets, Socket{
			ID: processor.ID, Vendor: processor.Vendor, Model: processor.Model,
			Cores: int(processor.TotalCores), Threads: int(processor.TotalHardwareThreads),
		})
		for _, core := range processor.Cores {
			for _, id := range core.LogicalProcessors {
				s.found.CPUs = append(s.found.CPUs, CPU{
					ID: id, Socket: processor.ID, Core: core.ID, Node: -1, Siblings: core.LogicalProcessors,
				})
			}
		}
	}
	slices.SortFunc(s.found.CPUs, func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	if isolated, err := ParseCPUs(readLine(s.path("sys/devices/system/cpu/isolated"))); err == nil {
		s.found.Isolated = isolated
	}
}

// memory reads the total memory with ghw.
func (s discoverer) memory() {
	info, err := ghw.Memory(s.ghw()...)
	if err != nil {
		s.found.miss(PartMemory, "cannot read /proc/meminfo: %v", err)
		return
	}
	s.found.MemoryMB = info.TotalUsableBytes >> 20
}

// disks reads the block devices with ghw, without removable, empty and virtual ones.
func (s discoverer) disks() {
	if _, err := os.ReadDir(s.path("sys/block")); err != nil {
		s.found.miss(PartDisks, "cannot read /sys/block: %v", reason(err))
		return
	}
	info, err := ghw.Block(s.ghw()...)
	if err != nil {
		s.found.miss(PartDisks, "%v", err)
		return
	}
	for _, disk := range info.Disks {
		kind := strings.ToLower(disk.DriveType.String())
		if disk.SizeBytes == 0 || disk.IsRemovable || kind == "virtual" || kind == "unknown" {
			continue
		}
		s.found.Disks = append(s.found.Disks, Disk{
			Name: disk.Name, SizeGB: int64(disk.SizeBytes >> 30), Type: kind,
			Bus: strings.ToLower(disk.StorageController.String()),
		})
	}
}

// cards reads the network interfaces with ghw.
func (s discoverer) cards() {
	if _, err := os.ReadDir(s.path("sys/class/net")); err != nil {
		s.found.miss(PartNICs, "cannot read /sys/class/net: %v", reason(err))
		return
	}
	info, err := ghw.Network(s.ghw()...)
	if err != nil {
		s.found.miss(PartNICs, "%v", err)
		return
	}
	for _, nic := range info.NICs {
		found := NIC{Name: nic.Name, MAC: nic.MACAddress, Virtual: nic.IsVirtual}
		if nic.PCIAddress != nil {
			found.Address = *nic.PCIAddress
		}
		s.found.NICs = append(s.found.NICs, found)
	}
}
