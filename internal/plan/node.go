package plan

import (
	"fmt"
	"slices"
	"strings"
)

// node is one node of a plan in the JSON of EXPLAIN (ANALYZE, BUFFERS).
type node struct {
	Type         string  `json:"Node Type"`
	Relationship string  `json:"Parent Relationship"`
	Subplan      string  `json:"Subplan Name"`
	Relation     string  `json:"Relation Name"`
	Alias        string  `json:"Alias"`
	Index        string  `json:"Index Name"`
	CTE          string  `json:"CTE Name"`
	Function     string  `json:"Function Name"`
	Operation    string  `json:"Operation"`
	TotalTime    float64 `json:"Actual Total Time"`
	Rows         float64 `json:"Actual Rows"`
	Loops        float64 `json:"Actual Loops"`
	Removed      float64 `json:"Rows Removed by Filter"`
	Hit          int64   `json:"Shared Hit Blocks"`
	Read         int64   `json:"Shared Read Blocks"`
	Dirtied      int64   `json:"Shared Dirtied Blocks"`
	Plans        []node  `json:"Plans"`
}

// total is the time of all loops in milliseconds, with the nodes below.
func (n *node) total() float64 { return n.TotalTime * n.Loops }

// rows is the number of rows of all loops.
func (n *node) rows() int64 { return int64(n.Rows*n.Loops + 0.5) }

// parts appends the rows of the common table expressions below a node that were executed.
func (n *node) parts(known []Part) []Part {
	for i := range n.Plans {
		below := &n.Plans[i]
		if name, ok := below.cte(); ok && below.Loops > 0 {
			known = append(known, Part{name, below.rows()})
		}
		known = below.parts(known)
	}
	return known
}

// cte returns the name of the common table expression whose plan begins here.
func (n *node) cte() (name string, ok bool) {
	return strings.CutPrefix(n.Subplan, "CTE ")
}

// maxSlowest is how many nodes are named for each statement, and minShare the least share of its time.
const (
	maxSlowest = 3
	minShare   = 0.05
)

// slowest returns the nodes that took the most time by themselves.
func (n *node) slowest() []NodeTime {
	tables := map[string]float64{}
	n.visit(func(below *node) {
		if name, ok := below.cte(); ok {
			tables[name] = below.total()
		}
	})
	var all []NodeTime
	n.visit(func(below *node) {
		if own := below.own(tables); own > minShare*n.total() {
			all = append(all, NodeTime{Node: below.title(), Time: own, Rows: below.rows(), Loops: int64(below.Loops)})
		}
	})
	slices.SortStableFunc(all, byTime)
	return all[:min(maxSlowest, len(all))]
}

// own is the time of a node without the nodes below it. A common table expression hangs below one node and is executed
// by the node that scans it.
func (n *node) own(tables map[string]float64) float64 {
	own := n.total() - tables[n.CTE]
	for i := range n.Plans {
		if _, table := n.Plans[i].cte(); !table {
			own -= n.Plans[i].total()
		}
	}
	return own
}

// visit calls f for a node and all below it that were executed.
func (n *node) visit(f func(*node)) {
	if n.Loops > 0 {
		f(n)
	}
	for i := range n.Plans {
		n.Plans[i].visit(f)
	}
}

// title is what EXPLAIN prints of a node, without numbers.
func (n *node) title() string {
	text := n.Type
	if n.Type == "ModifyTable" {
		text = n.Operation
	}
	if n.Index != "" {
		text += " using " + n.Index
	}
	for _, on := range []string{n.Relation, n.CTE, n.Function} {
		if on != "" {
			text += " on " + on
		}
	}
	if n.Alias != "" && n.Alias != n.Relation && n.Alias != n.CTE && n.Alias != n.Function {
		text += " " + n.Alias
	}
	return text
}

// A sequential scan deserves a hint if it reads and drops many rows.
const (
	manyRows    = 1000
	maxReadRate = 10 // rows read for each row returned
)

// hints appends what is unusual for a plan of Berth: its statements look rows up by keys.
func (n *node) hints(known []string) []string {
	n.visit(func(below *node) {
		dropped := below.Removed * below.Loops
		if below.Type == "Seq Scan" && dropped > manyRows && dropped > maxReadRate*float64(below.rows()) {
			known = append(known, fmt.Sprintf(
				"a sequential scan of %s reads %d rows and returns %d; an index is expected here, so run ANALYZE and look again",
				below.Relation, int64(dropped)+below.rows(), below.rows()))
		}
	})
	return known
}
