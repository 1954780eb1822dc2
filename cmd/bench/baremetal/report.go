package baremetal

import (
	"fmt"
	"slices"

	"github.com/berthd/berth/cmd/bench/rig"
)

// target is the required number of node allocations decided per second through HTTP, on
// 10,000 nodes.
const (
	target      = 500
	targetNodes = 10000
)

// report prints the results as tables for docs/performance.md.
type report struct {
	settings settings
	results  []result
}

func (r *report) print() {
	if len(r.results) == 0 {
		return
	}
	fmt.Printf("Medians of %d rounds of %d allocations, %d clients, %d workers of the conductor, pools of %d connections, fsync on.\n\n",
		r.settings.rounds, r.settings.requests, r.settings.clients, r.settings.workers, rig.Connections)
	fmt.Print("| nodes | backend | asked for | HTTP: decided/s | (POSTs answered/s) | its baseline/s | part of it | store: decided/s | its baseline/s | part of it |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, one := range r.results {
		fmt.Printf("| %d | %s | %s | %.0f | %.0f | %.0f | %.0f %% | %.0f | %.0f | %.0f %% |\n", one.nodes, one.backend(), one.requestName,
			rig.Median(one.http), rig.Median(one.accepted), rig.Median(one.httpBaseline), 100*share(one.http, one.httpBaseline),
			rig.Median(one.store), rig.Median(one.storeBaseline), 100*share(one.store, one.storeBaseline))
	}
	r.printGrowth()
	r.printTarget()
}

// share is the median of the ratios, round by round.
func share(ours, baselines []float64) float64 {
	var shares []float64
	for i := range ours {
		shares = append(shares, ours[i]/baselines[i])
	}
	return rig.Median(shares)
}

// cost of one allocation in milliseconds of the whole machine's time.
func cost(rates []float64) float64 { return 1000 / rig.Median(rates) }

// printGrowth compares the fewest with the most nodes.
func (r *report) printGrowth() {
	few, many := r.settings.nodes[0], r.settings.nodes[len(r.settings.nodes)-1]
	if few == many {
		return
	}
	fmt.Printf("\n| backend | asked for | HTTP, ms at %[1]d nodes | at %[2]d | quotient | store, ms at %[1]d nodes | at %[2]d | quotient |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n", few, many)
	for _, first := range r.results {
		last := slices.IndexFunc(r.results, func(one result) bool { return one.nodes == many && one.tested == first.tested })
		if first.nodes != few || last < 0 {
			continue
		}
		then := r.results[last]
		fmt.Printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", first.backend(), first.requestName,
			cost(first.http), cost(then.http), cost(then.http)/cost(first.http),
			cost(first.store), cost(then.store), cost(then.store)/cost(first.store))
	}
}

func (r *report) printTarget() {
	for _, one := range r.results {
		if one.nodes == targetNodes {
			verdict := "met"
			if rig.Median(one.http) < target {
				verdict = "missed"
			}
			fmt.Printf("\nTarget of %d/s at %d nodes, %s: %s with %.0f/s.", target, targetNodes, one.name(), verdict, rig.Median(one.http))
		}
	}
	fmt.Println()
}
