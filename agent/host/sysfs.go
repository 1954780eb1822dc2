package host

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readLine returns the content of a one-line file; empty if it cannot read it. Devices and their files in /sys may
// disappear at any time; the caller validates the content.
func readLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// readNumber returns the number in a one-line file, or a fallback.
func readNumber(path string, fallback int64) int64 {
	number, err := strconv.ParseInt(readLine(path), 10, 64)
	if err != nil {
		return fallback
	}
	return number
}

// reason returns the error without its path, which begins with the root of Discover.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// cpuInfo is the content of /proc/cpuinfo.
type cpuInfo struct {
	ids    []int
	vendor string
	// flags lists the flags that all CPUs have, sorted.
	flags []string
	// features is set if the file names them "Features", as on ARM.
	features bool
}

// readCPUInfo reads a file; the result is empty if it cannot.
func readCPUInfo(path string) cpuInfo {
	var info cpuInfo
	content, err := os.ReadFile(path)
	if err != nil {
		return info
	}
	lists := 0
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			if id, err := strconv.Atoi(value); err == nil {
				info.ids = append(info.ids, id)
			}
		case "vendor_id":
			info.vendor = value
		case "flags", "Features":
			flags := slices.Compact(slices.Sorted(strings.FieldsSeq(value)))
			if lists++; lists > 1 {
				flags = slices.DeleteFunc(flags, func(flag string) bool { return !slices.Contains(info.flags, flag) })
			}
			info.flags, info.features = flags, strings.HasPrefix(name, "Features")
		}
	}
	return info
}

// architecture returns the architecture by a flag that only one has: lm (long mode) or asimd.
func (i cpuInfo) architecture() string {
	switch {
	case i.features && slices.Contains(i.flags, "asimd"):
		return "aarch64"
	case !i.features && slices.Contains(i.flags, "lm"):
		return "x86_64"
	}
	return ""
}

var nodeDirectory = regexp.MustCompile(`^node(\d+)$`)

// nodes reads the NUMA nodes from /sys. ghw cannot replace it: it returns no node if a file of one node is missing.
func (s discoverer) nodes() {
	const at = "sys/devices/system/node"
	s.found.HugePages = readHugePages(s.path("sys/kernel/mm/hugepages"))
	entries, err := os.ReadDir(s.path(at))
	if err != nil {
		s.found.miss(PartNodes, "cannot read /%s: %v", at, reason(err))
	}
	for _, entry := range entries {
		match := nodeDirectory.FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		id, _ := strconv.Atoi(match[1]) // the pattern has digits only
		directory := s.path(at, entry.Name())
		memory, known := nodeMemoryMB(filepath.Join(directory, "meminfo"))
		cpus, err := ParseCPUs(readLine(filepath.Join(directory, "cpulist")))
		if !known || err != nil {
			s.found.miss(PartNodes, "/%s/%s has no memory size or no CPU list", at, entry.Name())
			continue
		}
		node := Node{ID: id, MemoryMB: memory, HugePages: readHugePages(filepath.Join(directory, "hugepages"))}
		node.CPUs = s.assign(cpus, id)
		s.found.Nodes = append(s.found.Nodes, node)
	}
	slices.SortFunc(s.found.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	s.balance()
	if _, err := os.ReadDir(s.path("sys/kernel/mm/hugepages")); err != nil {
		s.found.miss(PartHugePages, "cannot read /sys/kernel/mm/hugepages: %v", reason(err))
	}
}

// balance corrects the memory of the nodes if its sum differs from the total. It always differs with a kernel that
// initializes memory gradually: the nodes report only initialized memory, which grows. balance then divides the total in
// proportion to the online memory blocks, whose number does not change.
func (s discoverer) balance() {
	const tolerance = 50 // a fiftieth of the total; rounding errors are far smaller
	sum, blocks := int64(0), make([]int64, len(s.found.Nodes))
	all := int64(0)
	for i, node := range s.found.Nodes {
		sum += node.MemoryMB
		states, _ := filepath.Glob(s.path("sys/devices/system/node", "node"+strconv.Itoa(node.ID), "memory[0-9]*/state")) // the pattern is right
		for _, state := range states {
			if readLine(state) == "online" {
				blocks[i]++
			}
		}
		all += blocks[i]
	}
	off := max(sum-s.found.MemoryMB, s.found.MemoryMB-sum)
	if !s.found.Sees(PartMemory) || off <= s.found.MemoryMB/tolerance {
		return
	}
	for i := range s.found.Nodes {
		if node := &s.found.Nodes[i]; all > 0 {
			node.MemoryMB = s.found.MemoryMB * blocks[i] / all
		} else if sum > 0 {
			node.MemoryMB = s.found.MemoryMB * node.MemoryMB / sum
		}
	}
}

// assign sets the node of each CPU and returns the online CPUs of the list.
func (s discoverer) assign(cpus []int, node int) []int {
	var online []int
	for i := range s.found.CPUs {
		if cpu := &s.found.CPUs[i]; slices.Contains(cpus, cpu.ID) {
			cpu.Node = node
			online = append(online, cpu.ID)
		}
	}
	return online
}

// nodeMemoryMB returns the memory of a NUMA node in MiB, from a line such as "Node 0 MemTotal: 24684084 kB".
func nodeMemoryMB(path string) (int64, bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		if !strings.HasSuffix(name, "MemTotal") {
			continue
		}
		amount, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		return amount / 1024, err == nil
	}
	return 0, false
}

var pagesDirectory = regexp.MustCompile(`^hugepages-(\d+)kB$`)

// readHugePages returns the sizes that have at least one page.
func readHugePages(directory string) []HugePages {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	var all []HugePages
	for _, entry := range entries {
		match := pagesDirectory.FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		size, err := strconv.ParseInt(match[1], 10, 64)
		total := readNumber(filepath.Join(directory, entry.Name(), "nr_hugepages"), 0)
		if err == nil && total > 0 {
			all = append(all, HugePages{SizeKB: size, Total: total})
		}
	}
	slices.SortFunc(all, func(a, b HugePages) int { return cmp.Compare(a.SizeKB, b.SizeKB) })
	return all
}
