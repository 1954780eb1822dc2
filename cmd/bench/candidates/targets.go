package candidates

import "slices"

// target is the required value of a figure, at one size and at every utilization.
type target struct {
	name string
	of   kind
	// queries have this target, each alone; none: all that have such results.
	queries []string
	// limit is that of the requests; anyLimit for all.
	limit int
	// used is the utilization; empty: all.
	used string
	// trees is the size of the cloud; 0: the largest that was measured.
	trees int
	// figure is what is judged. With besideQuery or besideUsed, it is divided by the
	// figure of that query or at that utilization; the rest of both is the same.
	figure                  func(result) float64
	besideQuery, besideUsed string
	// value is the maximum.
	value float64
	// atLeast makes the value a minimum instead of a maximum.
	atLeast bool
}

const anyLimit = -1

// targets were set before the measurements of the search that they are for.
var targets = slices.Concat(latencyTargets, cpuTargets, otherTargets)

var latencyTargets = []target{
	{name: "does not grow with the trees (exponent)", of: growth, limit: few, figure: ratioOf, value: 0.05},
	{name: "nothing used up, in F", of: latency, queries: []string{"flat"}, limit: few, used: "0 %", figure: ratioOf, value: 5},
	{name: "nothing used up, in F", of: latency, queries: []string{"nested"}, limit: few, used: "0 %", figure: ratioOf, value: 8},
	{name: "99 % used up, in queries at 0 %", of: latency, queries: []string{"flat", "nested"}, limit: few, used: "99 %",
		figure: ratioOf, besideUsed: "0 %", value: 1.5},
	{name: "in plain nested queries", of: latency, queries: besideNested, limit: few, figure: ratioOf, besideQuery: "nested", value: 1.5},
	{name: "in plain nested queries", of: latency, queries: besideNested, limit: many, figure: ratioOf, besideQuery: "nested", value: 1.5},
	{name: "in plain flat queries", of: latency, queries: []string{"flat-random"}, limit: few, figure: ratioOf, besideQuery: "flat", value: 1.5},
	{name: "in plain flat queries", of: latency, queries: []string{"flat-random"}, limit: many, figure: ratioOf, besideQuery: "flat", value: 1.5},
	{name: "two common traits, rare together, ms", of: latency, queries: []string{"flat-halves", "nested-pair"}, limit: few, trees: 100_000,
		figure: timeOf, value: 100},
	{name: "9 groups on 8 devices, ms", of: latency, queries: []string{"pci-9-on-8"}, limit: few, trees: 100_000, figure: timeOf, value: 100},
	{name: "8 devices apart, in F", of: latency, queries: []string{"pci-8"}, limit: few, figure: ratioOf, value: 10},
	{name: "1000 of 8 groups on 8 devices, ms", of: latency, queries: []string{"pci-8-thousand"}, limit: many, figure: timeOf, value: 50},
	{name: "1000 of 16 groups on 16 devices, ms", of: latency, queries: []string{"pci-16-thousand"}, limit: many, figure: timeOf, value: 250},
}

// besideNested are queries that may cost little more than plain nested ones.
var besideNested = []string{"shared", "nic", "root-dense", "nested-random"}

var cpuTargets = []target{
	{name: "CPU of PostgreSQL and Go, ms", of: latency, queries: []string{"flat"}, limit: many, used: "0 %", trees: 10_000, figure: cpuOf, value: 10},
	{name: "CPU of PostgreSQL and Go, ms", of: latency, queries: []string{"nested"}, limit: manyNested, used: "0 %", trees: 10_000, figure: cpuOf, value: 35},
}

var otherTargets = []target{
	{name: "throughput of 8 clients, part of F's", of: throughput, queries: []string{"flat"}, limit: few, figure: ratioOf, value: 1.0 / 4, atLeast: true},
	{name: "throughput of 8 clients, part of F's", of: throughput, queries: []string{"nested"}, limit: few, figure: ratioOf, value: 1.0 / 6, atLeast: true},
	{name: "no limit, in readings of all rows", of: noLimit, queries: []string{"flat"}, limit: 0, figure: ratioOf, value: 3},
	{name: "no limit, in readings of all rows", of: noLimit, queries: []string{"nested"}, limit: 0, figure: ratioOf, value: 5},
	{name: "no limit, MB of memory above idle", of: memory, queries: []string{"nested-large"}, limit: 0, figure: spaceOf, value: 64},
	{name: "first request without statistics, in warm ones", of: coldFirst, limit: anyLimit, figure: ratioOf, value: 10},
	{name: "later requests without statistics, in warm ones", of: coldSettled, limit: anyLimit, figure: ratioOf, value: 10},
}

func ratioOf(r result) float64 { return r.Ratio }
func timeOf(r result) float64  { return r.Milliseconds }
func cpuOf(r result) float64   { return r.CPU.sum() }
func spaceOf(r result) float64 { return r.PeakMB }

// applies reports whether a result is one of those that the target is for, at any size.
func (a target) applies(to result, query string) bool {
	return to.Kind == a.of && to.Query == query && (a.limit == anyLimit || to.Limit == a.limit) && (a.used == "" || to.Used == a.used)
}

// beside returns the result that another is compared with, and whether it was measured.
func (a target) beside(of []result, one result) (result, bool) {
	query, used := one.Query, one.Used
	if a.besideQuery != "" {
		query = a.besideQuery
	}
	if a.besideUsed != "" {
		used = a.besideUsed
	}
	for _, other := range of {
		if other.Kind == one.Kind && other.Query == query && other.Limit == one.Limit && other.Used == used && other.Trees == one.Trees {
			return other, true
		}
	}
	return result{}, false
}

// worse reports whether the first figure is further from the target than the second.
func (a target) worse(one, other float64) bool {
	if a.atLeast {
		return one < other
	}
	return one > other
}
