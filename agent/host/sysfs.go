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

// readLine is the content of a one-line file, empty if it cannot be read. Files of
// /sys come and go with the devices; what matters is checked by the caller.
func readLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// readNumber is the number in a one-line file, or what it is to be if there is none.
func readNumber(path string, otherwise int64) int64 {
	number, err := strconv.ParseInt(readLine(path), 10, 64)
	if err != nil {
		return otherwise
	}
	return number
}

// reason is the cause without the path, which is below the survey's root.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// cpuInfo is what /proc/cpuinfo tells.
type cpuInfo struct {
	ids    []int
	vendor string
	// flags are those that all processors have, sorted.
	flags []string
	// features tells that they were called so, as on ARM.
	features bool
}

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

// architecture goes by what only one architecture has: long mode, or ARM's names.
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

// nodes reads /sys itself: ghw gives up on all nodes when it misses one file of
// one of them.
func (s discoverer) nodes() {
	const at = "sys/devices/system/node"
	s.found.HugePages = readHugePages(s.path("sys/kernel/mm/hugepages"))
	entries, err := os.ReadDir(s.path(at))
	if err != nil {
		s.found.miss(PartNodes, "/%s cannot be read: %v", at, reason(err))
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
			s.found.miss(PartNodes, "/%s/%s tells no memory or no CPUs", at, entry.Name())
			continue
		}
		node := Node{ID: id, MemoryMB: memory, HugePages: readHugePages(filepath.Join(directory, "hugepages"))}
		node.CPUs = s.assign(cpus, id)
		s.found.Nodes = append(s.found.Nodes, node)
	}
	slices.SortFunc(s.found.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	s.balance()
	if _, err := os.ReadDir(s.path("sys/kernel/mm/hugepages")); err != nil {
		s.found.miss(PartHugePages, "/sys/kernel/mm/hugepages cannot be read: %v", reason(err))
	}
}

// balance corrects the nodes' memory where its sum is not the machine's. It is always
// so with a kernel that takes memory into use bit by bit: its nodes tell what
// they have of that, which grows. Then each gets its part by the blocks of memory
// that it has, which are there from the beginning.
func (s discoverer) balance() {
	const tolerance = 50 // parts of the whole; roundings are far less
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

// assign notes the node of each CPU and returns those of the list that are online.
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

// nodeMemoryMB reads a line such as "Node 0 MemTotal: 24684084 kB".
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

// readHugePages lists the sizes of which there are pages.
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
