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

// topology is the processors of each NUMA node.
type topology map[int]map[int]bool

func sortedInts[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

func readTopology(root string) (topology, error) {
	const place = "sys/devices/system/node"
	lists, err := filepath.Glob(filepath.Join(root, place, "node[0-9]*/cpulist"))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("there are no NUMA nodes in %s: the kernel was built without them", filepath.Join(root, place))
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

// parseList reads the kernel's form of sets, such as 0-3,8.
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

// evidence is what speaks for each NUMA node. Processes end and files are
// forbidden while they are read: what cannot be read is no evidence.
type evidence struct {
	root  string
	nodes topology
	// cpus are threads, each divided over the nodes where it may run; allowed
	// are processes divided over the nodes where they may have memory.
	cpus, allowed map[int]float64
	// pages are kB of memory in use.
	pages map[int]float64
}

// addProcess reads the affinity of all threads, and the memory.
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

// addGroups reads the limits of control groups, for those without a process
// that can be seen.
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

func field(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			return string(rest)
		}
	}
	return ""
}

// addCPUs counts a thread, unless it may run anywhere: that says nothing.
func (e *evidence) addCPUs(list string) {
	allowed, err := parseList(list)
	if err != nil {
		return
	}
	counts, free, total := map[int]float64{}, true, 0.0
	for node, cpus := range e.nodes {
		for cpu := range cpus {
			if allowed[cpu] {
				counts[node]++
				total++
			} else {
				free = false
			}
		}
	}
	if free || total == 0 {
		return
	}
	if e.cpus == nil {
		e.cpus = map[int]float64{}
	}
	for node, count := range counts {
		e.cpus[node] += count / total
	}
}

// addAllowed counts a thread, unless it may have memory anywhere.
func (e *evidence) addAllowed(list string) {
	allowed, err := parseList(list)
	if err != nil {
		return
	}
	// What this machine does not have is allowed, too: the kernel shows the
	// nodes that might be added.
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

// addPages reads lines such as
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

// weights are what processors and memory are divided by; both are empty where
// the processes may be, and are, anywhere. Memory that may be anywhere but is
// somewhere counts as being there.
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

// proportion divides an amount by weights into whole parts whose sum it is. The
// largest remainders are rounded up.
func proportion(amount int64, weights map[int]float64) map[int]int64 {
	total := 0.0
	for _, weight := range weights {
		total += weight
	}
	if total == 0 {
		return nil
	}
	// Remainders are in millionths: sums of fractions differ in their last digits
	// by the order of summing, and equal ones must stay equal.
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
