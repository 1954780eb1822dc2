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

// total returns the time of all loops in milliseconds, including child nodes.
func (n *node) total() float64 { return n.TotalTime * n.Loops }

// rows returns the number of rows of all loops.
func (n *node) rows() int64 { return int64(n.Rows*n.Loops + 0.5) }

// parts appends the row counts of the executed common table expressions below a node.
func (n *node) parts(known []Part) []Part {
	for i := range n.Plans {
		child := &n.Plans[i]
		if name, ok := child.cte(); ok && child.Loops > 0 {
			known = append(known, Part{name, child.rows()})
		}
		known = child.parts(known)
	}
	return known
}

// cte returns the name of the common table expression whose plan begins here.
func (n *node) cte() (name string, ok bool) {
	return strings.CutPrefix(n.Subplan, "CTE ")
}

// maxSlowest is the maximum number of slow nodes of a statement; minShare is their minimum fraction of its time.
const (
	maxSlowest = 3
	minShare   = 0.05
)

// slowest returns the nodes with the longest time without their child nodes.
func (n *node) slowest() []NodeTime {
	tables := map[string]float64{}
	n.visit(func(visited *node) {
		if name, ok := visited.cte(); ok {
			tables[name] = visited.total()
		}
	})
	var all []NodeTime
	n.visit(func(visited *node) {
		if own := visited.own(tables); own > minShare*n.total() {
			all = append(all, NodeTime{Node: visited.title(), Time: own, Rows: visited.rows(), Loops: int64(visited.Loops)})
		}
	})
	slices.SortStableFunc(all, byTime)
	return all[:min(maxSlowest, len(all))]
}

// own returns the time of a node without its child nodes. A common table expression is a child of one node, but the node
// that scans it executes it.
func (n *node) own(tables map[string]float64) float64 {
	own := n.total() - tables[n.CTE]
	for i := range n.Plans {
		if _, table := n.Plans[i].cte(); !table {
			own -= n.Plans[i].total()
		}
	}
	return own
}

// visit calls f for the executed nodes of the tree of n.
func (n *node) visit(f func(*node)) {
	if n.Loops > 0 {
		f(n)
	}
	for i := range n.Plans {
		n.Plans[i].visit(f)
	}
}

// title returns the line that EXPLAIN prints for a node, without numbers.
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

// Limits above which a sequential scan gets a hint.
const (
	manyRows    = 1000 // rows removed by the filter
	maxReadRate = 10   // rows read for each row returned
)

// hints appends a hint for each sequential scan that discards most of its rows. Berth's statements read rows by keys.
func (n *node) hints(known []string) []string {
	n.visit(func(visited *node) {
		dropped := visited.Removed * visited.Loops
		if visited.Type == "Seq Scan" && dropped > manyRows && dropped > maxReadRate*float64(visited.rows()) {
			known = append(known, fmt.Sprintf(
				"a sequential scan of %s reads %d rows and returns %d, where an index scan is expected; run ANALYZE and repeat the command",
				visited.Relation, int64(dropped)+visited.rows(), visited.rows()))
		}
	})
	return known
}
