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

// SurveyOptions are the paths that Discover reads; the zero value is this machine.
type SurveyOptions struct {
	// Root is the mount point of the root file system of the machine, "/" if empty. In a container it may be /host, in
	// a test a recorded machine.
	Root string
	// DiskPath is a path on the file system with the disks of guests, below Root; "/" if empty.
	DiskPath string
}

// Discover returns the hardware of the machine. Parts that it cannot read are in Machine.Missing and are no error. It
// returns only the error of the context.
func Discover(ctx context.Context, options SurveyOptions) (*Machine, error) {
	look := discoverer{root: cmp.Or(options.Root, "/"), found: &Machine{}}
	for _, part := range []func(){
		look.processors, look.memory, look.nodes,
		func() { look.filesystem(cmp.Or(options.DiskPath, "/")) },
		look.disks, look.devices, look.cards,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part()
	}
	return look.found, nil
}

// discoverer fills in a Machine.
type discoverer struct {
	root  string
	found *Machine
}

// ghw are the options for ghw: the same root, no programs, no complaints on
// standard error.
func (s discoverer) ghw() []any {
	return []any{ghw.WithChroot(s.root), ghw.WithDisableTools(), ghw.WithDisableWarnings(), ghw.WithDisableTopology()}
}

// path is where something of the machine is.
func (s discoverer) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

// processors takes sockets, cores and threads from ghw, which needs /sys, and the
// bare count from /proc/cpuinfo where that is all there is.
func (s discoverer) processors() {
	listed := readCPUInfo(s.path("proc/cpuinfo"))
	s.found.Architecture, s.found.Flags, s.found.Vendor = listed.architecture(), listed.flags, listed.vendor
	info, err := ghw.CPU(s.ghw()...)
	if err != nil || len(info.Processors) == 0 || info.TotalHardwareThreads == 0 {
		if len(listed.ids) == 0 {
			s.found.miss(PartCPUs, "neither /sys/devices/system/cpu nor /proc/cpuinfo lists processors")
			return
		}
		s.found.miss(PartTopology, "/sys/devices/system/cpu cannot be read, so cores and threads cannot be told apart; the processors are those of /proc/cpuinfo")
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

// memory takes the sum from ghw.
func (s discoverer) memory() {
	info, err := ghw.Memory(s.ghw()...)
	if err != nil {
		s.found.miss(PartMemory, "/proc/meminfo cannot be read: %v", err)
		return
	}
	s.found.MemoryMB = info.TotalUsableBytes >> 20
}

func (s discoverer) disks() {
	if _, err := os.ReadDir(s.path("sys/block")); err != nil {
		s.found.miss(PartDisks, "/sys/block cannot be read: %v", reason(err))
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

func (s discoverer) cards() {
	if _, err := os.ReadDir(s.path("sys/class/net")); err != nil {
		s.found.miss(PartNICs, "/sys/class/net cannot be read: %v", reason(err))
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
