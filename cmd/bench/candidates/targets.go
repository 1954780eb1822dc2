package candidates

import "slices"

// target is the required value of a figure at the largest size measured, at every
// utilization.
type target struct {
	name string
	of   kind
	// queries have this target; none: all except those of except.
	queries, except []string
	figure          func(result) float64
	limit           float64
	// atLeast makes the limit a minimum instead of a maximum.
	atLeast bool
}

// targets were set for 100,000 trees before the first measurement.
var targets = []target{
	// No index serves a query for one trait that half of the trees have and another of
	// the other half: the result is printed and has no target.
	{name: "does not grow with the trees (exponent)", of: growth, except: []string{"flat-halves"}, figure: ratioOf, limit: 0.05},
	{name: "flat, in F", of: latency, queries: []string{"flat"}, figure: ratioOf, limit: 4},
	{name: "nested, in F", of: latency, queries: []string{"nested"}, figure: ratioOf, limit: 8},
	{name: "8 devices apart, in F", of: latency, queries: []string{"pci-8"}, figure: ratioOf, limit: 10},
	{name: "NIC affinity, in F", of: latency, queries: []string{"nic"}, figure: ratioOf, limit: 8},
	{name: "throughput of 8 clients, part of F's", of: throughput, queries: []string{"flat"}, figure: ratioOf, limit: 1.0 / 4, atLeast: true},
	{name: "throughput of 8 clients, part of F's", of: throughput, queries: []string{"nested"}, figure: ratioOf, limit: 1.0 / 8, atLeast: true},
	{name: "1000 of 8 groups on 8 devices, ms", of: latency, queries: []string{"pci-8-thousand"}, figure: timeOf, limit: 50},
	{name: "1000 of 8 groups on 8 devices, MiB", of: latency, queries: []string{"pci-8-thousand"}, figure: spaceOf, limit: 32},
	{name: "1000 of 16 groups on 16 devices, ms", of: latency, queries: []string{"pci-16-thousand"}, figure: timeOf, limit: 250},
	{name: "9 groups on 8 devices, ms", of: latency, queries: []string{"pci-9-on-8"}, figure: timeOf, limit: 50},
	{name: "no limit, in readings of all rows", of: noLimit, figure: ratioOf, limit: 2},
	{name: "first request without statistics, in warm ones", of: coldFirst, figure: ratioOf, limit: 10},
	{name: "later requests without statistics, in warm ones", of: coldSettled, figure: ratioOf, limit: 10},
	{name: "random order, in ordinary ones", of: random, figure: ratioOf, limit: 1.2},
}

func ratioOf(r result) float64 { return r.Ratio }
func timeOf(r result) float64  { return r.Milliseconds }
func spaceOf(r result) float64 { return r.PeakMiB }

// verdict is whether a query meets a target, by its worst figure.
type verdict struct {
	Target string  `json:"target"`
	Query  string  `json:"query"`
	Limit  float64 `json:"limit"`
	Value  float64 `json:"value"`
	Where  string  `json:"where"`
	// Outcome is met, missed, failed (there is an error instead of a figure) or not
	// measured.
	Outcome outcome `json:"outcome"`
}

type outcome string

const (
	met         outcome = "met"
	missed      outcome = "MISSED"
	failed      outcome = "FAILED"
	notMeasured outcome = "not measured"
)

// judge compares results with the targets.
func judge(of []result) []verdict {
	var all []verdict
	for _, one := range targets {
		found := one.queries
		if len(found) == 0 {
			found = queriesOf(of, one)
		}
		if len(found) == 0 {
			found = []string{"any"}
		}
		for _, name := range found {
			all = append(all, one.judge(of, name))
		}
	}
	return all
}

// queriesOf returns the queries that have figures for a target.
func queriesOf(of []result, wanted target) []string {
	var names []string
	for _, one := range of {
		if one.Kind == wanted.of && !slices.Contains(wanted.except, one.Query) && !slices.Contains(names, one.Query) {
			names = append(names, one.Query)
		}
	}
	return names
}

func (a target) judge(of []result, name string) verdict {
	judged := verdict{Target: a.name, Query: name, Limit: a.limit, Outcome: notMeasured}
	largest := 0
	for _, one := range of {
		if one.Kind == a.of && one.Query == name {
			largest = max(largest, one.Trees)
		}
	}
	for _, one := range of {
		if one.Kind != a.of || one.Query != name || one.Trees != largest || judged.Outcome == failed {
			continue
		}
		if one.Error != "" {
			judged.Outcome, judged.Where = failed, one.where()
			continue
		}
		value := a.figure(one)
		if judged.Outcome == notMeasured || a.worse(value, judged.Value) {
			judged.Value, judged.Where, judged.Outcome = value, one.where(), met
			if a.worse(value, a.limit) {
				judged.Outcome = missed
			}
		}
	}
	return judged
}

// worse reports whether the first figure is further from the target than the second.
func (a target) worse(one, other float64) bool {
	if a.atLeast {
		return one < other
	}
	return one > other
}
