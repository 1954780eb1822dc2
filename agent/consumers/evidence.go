package consumers

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// topology is the set of CPUs of each NUMA node.
type topology map[int]map[int]bool

func sortedInts[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// readTopology reads the NUMA nodes from /sys.
func readTopology(root string) (topology, error) {
	const directory = "sys/devices/system/node"
	lists, err := filepath.Glob(filepath.Join(root, directory, "node[0-9]*/cpulist"))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("no NUMA nodes in %s: the kernel was built without CONFIG_NUMA", filepath.Join(root, directory))
	}
	nodes := topology{}
	for _, path := range lists {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "node"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if nodes[number], err = parseList(string(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return nodes, nil
}

// parseList parses a set in the kernel's list format, for example 0-3,8.
func parseList(text string) (map[int]bool, error) {
	set := map[int]bool{}
	text = strings.TrimSpace(text)
	if text == "" {
		return set, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of numbers", text)
		}
		to := from
		if isRange {
			if to, err = strconv.Atoi(last); err != nil || to < from || to-from > 1<<20 {
				return nil, fmt.Errorf("%q is not a list of numbers", text)
			}
		}
		for number := from; number <= to; number++ {
			set[number] = true
		}
	}
	return set, nil
}

// evidence is the use of each NUMA node by the processes of a consumer. It ignores files that it cannot read, because
// processes end meanwhile and some files need privileges.
type evidence struct {
	root  string
	nodes topology
	// cpus is the number of threads by node, divided among the nodes of their CPU affinity; allowed is the same for the
	// nodes from which they may allocate memory.
	cpus, allowed map[int]float64
	// pages is the memory in use by node in kB.
	pages map[int]float64
}

// addProcess adds the CPU affinity of all threads and the memory of a process.
func (e *evidence) addProcess(pid int) {
	directory := filepath.Join(e.root, "proc", strconv.Itoa(pid))
	statuses, _ := filepath.Glob(filepath.Join(directory, "task/*/status"))
	for _, path := range append(statuses, filepath.Join(directory, "status")) {
		status, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		e.addCPUs(field(status, "Cpus_allowed_list:"))
		e.addAllowed(field(status, "Mems_allowed_list:"))
	}
	if maps, err := os.ReadFile(filepath.Join(directory, "numa_maps")); err == nil {
		e.addPages(maps)
	}
}

// addGroups adds the limits of control groups, for consumers without visible processes.
func (e *evidence) addGroups(groups []string) {
	read := func(group string, names ...string) string {
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(group, name))
			if text := strings.TrimSpace(string(content)); err == nil && text != "" {
				return text
			}
		}
		return ""
	}
	for _, group := range groups {
		e.addCPUs(read(group, "cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"))
		e.addAllowed(read(group, "cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"))
	}
}

// field returns the rest of the line that begins with a name; empty if there is none.
func field(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			return string(rest)
		}
	}
	return ""
}

// addCPUs adds a thread by its CPU affinity. It ignores a thread that may run on all CPUs.
func (e *evidence) addCPUs(list string) {
	allowed, err := parseList(list)
	if err != nil {
		return
	}
	counts, unlimited, total := map[int]float64{}, true, 0.0
	for node, cpus := range e.nodes {
		for cpu := range cpus {
			if allowed[cpu] {
				counts[node]++
				total++
			} else {
				unlimited = false
			}
		}
	}
	if unlimited || total == 0 {
		return
	}
	if e.cpus == nil {
		e.cpus = map[int]float64{}
	}
	for node, count := range counts {
		e.cpus[node] += count / total
	}
}

// addAllowed adds a thread by its allowed memory nodes. It ignores a thread that may use all nodes.
func (e *evidence) addAllowed(list string) {
	allowed, err := parseList(list)
	if err != nil {
		return
	}
	// The kernel's list also has nodes that do not exist, for memory hotplug.
	maps.DeleteFunc(allowed, func(node int, _ bool) bool { return e.nodes[node] == nil })
	if len(allowed) == 0 || len(allowed) == len(e.nodes) {
		return
	}
	if e.allowed == nil {
		e.allowed = map[int]float64{}
	}
	for node := range allowed {
		e.allowed[node] += 1 / float64(len(allowed))
	}
}

// addPages adds the pages of a process. It parses lines of numa_maps such as
//
//	7f4c00000000 bind:1 anon=512 dirty=512 N0=12 N1=500 kernelpagesize_kB=4
func (e *evidence) addPages(lines []byte) {
	if e.pages == nil {
		e.pages = map[int]float64{}
	}
	for line := range bytes.Lines(lines) {
		size := 4.0
		pages := map[int]float64{}
		for word := range strings.FieldsSeq(string(line)) {
			name, value, _ := strings.Cut(word, "=")
			count, err := strconv.ParseFloat(value, 64)
			if err != nil {
				continue
			}
			if name == "kernelpagesize_kB" {
				size = count
			}
			if node, err := strconv.Atoi(strings.TrimPrefix(name, "N")); err == nil && e.nodes[node] != nil && strings.HasPrefix(name, "N") {
				pages[node] += count
			}
		}
		for node, count := range pages {
			e.pages[node] += count * size
		}
	}
}

// weights returns the weights of the nodes for CPUs and for memory. Pages in use take precedence over allowed nodes. Both
// weights are empty without limits and without pages.
func (e *evidence) weights() (cpus, memory map[int]float64) {
	if len(e.nodes) == 1 {
		for node := range e.nodes {
			only := map[int]float64{node: 1}
			return only, only
		}
	}
	memory = e.pages
	if len(memory) == 0 {
		memory = e.allowed
	}
	cpus = e.cpus
	if len(cpus) == 0 {
		cpus = memory
	}
	if len(memory) == 0 {
		memory = cpus
	}
	return cpus, memory
}

// proportion divides an amount by weights into integers with the same sum (largest remainder method).
func proportion(amount int64, weights map[int]float64) map[int]int64 {
	total := 0.0
	for _, weight := range weights {
		total += weight
	}
	if total == 0 {
		return nil
	}
	// Remainders are integers in millionths: the last digits of floating-point sums depend on the order of addition, but
	// equal remainders must compare equal.
	parts, remainders := map[int]int64{}, map[int]int64{}
	left := amount
	for node, weight := range weights {
		exact := float64(amount) * weight / total
		parts[node] = int64(exact + 1e-7)
		remainders[node] = int64(math.Round((exact - float64(parts[node])) * 1e6))
		left -= parts[node]
	}
	order := slices.SortedFunc(maps.Keys(weights), func(x, y int) int {
		return cmp.Or(cmp.Compare(remainders[y], remainders[x]), cmp.Compare(x, y))
	})
	for at := 0; left > 0; at, left = at+1, left-1 {
		parts[order[at%len(order)]]++
	}
	return parts
}
