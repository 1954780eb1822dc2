package candidates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// query is a request for candidates on the trees of one shape.
type query struct {
	name, shape string
	// text is the query string without a limit.
	text string
	// limit is that of the request, 0 for none; limits are those of further rows.
	limit  int
	limits []int
	// found is how many candidates there are with so many trees free. It keeps a
	// wrong answer from looking fast.
	found func(free int) int
	// random sends it to a server with candidates in random order. clients has it
	// measured with several clients as well, cold on a database without statistics,
	// memory with the peak memory of the server, and unlimited without the limit.
	random, clients, cold, memory, unlimited bool
	// extended selects berth 1.1.
	extended bool
	// memoryOnly measures nothing but the memory.
	memoryOnly bool
	// needsUsage excludes clouds in which nothing is used up.
	needsUsage bool
}

const (
	few     = 10
	hundred = 100
	many    = 1000
	// manyNested are all candidates of 1,000 nested trees.
	manyNested = 3000
)

// perTree is that many candidates of every free tree.
func perTree(count int) func(int) int { return func(free int) int { return free * count } }

// always is that many, however many trees are free: all, but not the last, may be
// used up.
func always(count int) func(int) int { return func(int) int { return count } }

const (
	flatText   = "resources=VCPU:1,DISK_GB:10,MEMORY_MB:256"
	nestedText = "resources=DISK_GB:10&resources_COMPUTE=VCPU:1,MEMORY_MB:256&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_COMPUTE,_FPGA"
	hostText   = "resources=VCPU:1,MEMORY_MB:256"
	nicText    = hostText + "&resources_NET1=SRIOV_NET_VF:1&required_NET1=CUSTOM_PHYSNET1&resources_NET2=SRIOV_NET_VF:1" +
		"&required_NET2=CUSTOM_PHYSNET2&required_NIC=CUSTOM_NIC&same_subtree=_NIC,_NET1,_NET2&group_policy=none"
)

func queries() []query {
	return slices.Concat(flatQueries(), nestedQueries(), sharedQueries(), deviceQueries(), extendedQueries())
}

func flatQueries() []query {
	flat := flatText + "&member_of=" + inAll() + "&required=" + traitOfAll
	return []query{
		{name: "flat", shape: "flat", text: flat, limit: few, limits: []int{hundred, many},
			found: perTree(1), clients: true, cold: true, unlimited: true},
		{name: "flat-random", shape: "flat", text: flat, limit: few, limits: []int{hundred, many}, found: perTree(1), random: true},
		{name: "flat-needle", shape: "flat", text: flatText + "&required=" + needle, limit: few, found: always(1)},
		{name: "flat-nothing", shape: "flat", text: "resources=VCPU:1000,DISK_GB:10,MEMORY_MB:256", limit: few, found: always(0)},
		{name: "flat-full-needle", shape: "flat", text: flatText + "&required=" + usedNeedle, limit: few, found: always(0), needsUsage: true},
		{name: "flat-halves", shape: "flat", text: flatText + "&required=" + lowerHalf + "," + upperHalf, limit: few, found: always(0)},
	}
}

func nestedQueries() []query {
	nested := nestedText + "&required=" + traitOfAll + "&required_COMPUTE=" + traitOfNUMA
	return []query{
		{name: "nested", shape: "nested", text: nested, limit: few, limits: []int{hundred, many, manyNested},
			found: perTree(3), clients: true, cold: true, unlimited: true},
		{name: "nested-random", shape: "nested", text: nested, limit: few, limits: []int{hundred, many}, found: perTree(3), random: true},
		{name: "nested-needle", shape: "nested", text: nestedText + "&required=" + needle, limit: few, found: always(3)},
		{name: "nested-needle-below", shape: "nested", text: nestedText + "&required_COMPUTE=" + needleBelow, limit: few, found: always(2)},
		{name: "nested-nothing", shape: "nested", text: strings.Replace(nestedText, "VCPU:1,", "VCPU:1000,", 1), limit: few, found: always(0)},
		{name: "nested-pair", shape: "nested", text: nestedText + "&required_COMPUTE=" + firstNUMA + "," + secondNUMA, limit: few, found: always(0)},
		{name: "root-dense", shape: "nested", text: nestedText + "&root_required=" + traitOfAll, limit: few, limits: []int{hundred, many}, found: perTree(3)},
		{name: "root-rare", shape: "nested", text: nestedText + "&root_required=" + needle, limit: few, found: always(3)},
		{name: "nested-large", shape: "nested-large", text: nested, found: perTree(3), memoryOnly: true},
	}
}

func sharedQueries() []query {
	return []query{
		{name: "nic", shape: "nic", text: nicText, limit: few, limits: []int{hundred, many}, found: perTree(2)},
		{name: "shared", shape: "shared", text: flatText, limit: few, limits: []int{hundred, many}, found: perTree(1)},
	}
}

func deviceQueries() []query {
	var all []query
	for _, count := range []int{1, 4, 8} {
		all = append(all, query{name: fmt.Sprintf("pci-%d", count), shape: "pci", text: devices(count), limit: few,
			found: perTree(arrangements(count, 8))})
	}
	return append(all,
		query{name: "pci-9-on-8", shape: "pci", text: devices(9), limit: few, found: always(0)},
		query{name: "pci-8-thousand", shape: "pci", text: devices(8), limit: many, found: perTree(arrangements(8, 8)), memory: true},
		query{name: "pci-16-thousand", shape: "wide", text: devices(16), limit: many, found: perTree(arrangements(16, 16)), memory: true},
	)
}

// devices queries for that many devices of a host, each in its own request group.
func devices(count int) string {
	text := hostText
	for group := 1; group <= count; group++ {
		text += fmt.Sprintf("&resources%d=CUSTOM_GPU:1", group)
	}
	return text + "&group_policy=isolate"
}

// arrangements are the ways to give so many groups one of so many devices each.
func arrangements(groups, devices int) int {
	product := 1
	for group := range groups {
		product *= devices - group
	}
	return product
}

// context returns a context whose requests select the versions of the query.
func (q query) context(ctx context.Context) context.Context {
	if q.extended {
		return rig.WithVersions(ctx, "placement 1.39, berth 1.1")
	}
	return ctx
}

// path returns the path and query string of the request.
func (q query) path() string {
	path := "/allocation_candidates?" + q.text
	if q.limit > 0 {
		path += fmt.Sprintf("&limit=%d", q.limit)
	}
	return path
}

// expected is how many candidates the answer has.
func (q query) expected(free int) int {
	if found := q.found(free); q.limit == 0 || found < q.limit {
		return found
	}
	return q.limit
}

// withLimit is the same query with another limit, 0 for none, as a row of its own.
func (q query) withLimit(limit int) query {
	return query{name: q.name, shape: q.shape, text: q.text, limit: limit, found: q.found, random: q.random, extended: q.extended}
}

// rows are the query and itself with its further limits.
func (q query) rows() []query {
	all := []query{q}
	for _, limit := range q.limits {
		all = append(all, q.withLimit(limit))
	}
	return all
}

// chosen reports whether --only selects the query or its shape; an empty list selects all.
func (q query) chosen(only []string) bool {
	for _, word := range only {
		if word == q.name || word == q.shape {
			return true
		}
	}
	return len(only) == 0
}
