package baremetal

import (
	"fmt"
	"os"

	"github.com/berthd/berth/cmd/bench/rig"
)

// target is the required number of node allocations decided per second through HTTP, on
// 10,000 nodes.
const (
	target      = 500
	targetNodes = 10000
)

// printTarget prints whether the rates of a case meet the target.
func printTarget(of tested, nodes int, rates []float64) {
	if nodes != targetNodes {
		return
	}
	verdict := "met"
	if rig.Median(rates) < target {
		verdict = "missed"
	}
	fmt.Fprintf(os.Stderr, "target of %d/s at %d nodes, %s: %s with %.0f/s\n", target, targetNodes, of.name(), verdict, rig.Median(rates))
}
