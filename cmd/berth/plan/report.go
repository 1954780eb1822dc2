package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Report is the result of one request: its response and its statements.
type Report struct {
	Request      string `json:"request"`
	Microversion string `json:"microversion"`
	// Status is the HTTP status of the response, Detail its error message, Bytes the length of its body.
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Bytes  int    `json:"bytes"`
	// RoundTrips is the number of times that the request waits for the database.
	RoundTrips int `json:"round_trips"`
	// NoNested is the reason why the statements inside functions are not shown.
	NoNested   string      `json:"nested_unavailable,omitempty"`
	Statements []Statement `json:"statements"`
}

// Statement is one statement of the request, with its arguments and its plan.
type Statement struct {
	// Name is the name of the query in sql/queries.
	Name string `json:"name"`
	SQL  string `json:"sql"`
	// Arguments are $1 and so on, as SQL literals.
	Arguments []string `json:"arguments"`
	// Error is the SQLSTATE and message of PostgreSQL. Such a statement has no plan.
	Error string `json:"error,omitempty"`
	Measured
	// Planning is the time in milliseconds to get the plan on a connection that has executed the statement before.
	Planning float64 `json:"planning_ms"`
	// Parts has the row count of each common table expression; the last is the result.
	Parts []Part `json:"parts,omitempty"`
	// Text is the plan of another execution in EXPLAIN's text format.
	Text string `json:"text,omitempty"`
	// Nested lists the statements inside functions, in the order of their first execution.
	Nested []Nested `json:"nested,omitempty"`
	// NestedText has their plans of another execution in auto_explain's text format, one for each call.
	NestedText []string `json:"nested_text,omitempty"`
}

// Nested is a statement inside a function or trigger.
type Nested struct {
	// Name is the name in the comment of the statement, or else its first words.
	Name  string `json:"name"`
	SQL   string `json:"sql"`
	Calls int    `json:"calls"`
	// Measured is the sum of all calls. Its plan and nodes are those of the slowest call.
	Measured

	slowest float64
}

// Measured is the cost and the plan of an execution.
type Measured struct {
	// Time is in milliseconds.
	Time    float64 `json:"time_ms"`
	Rows    int64   `json:"rows"`
	Buffers Buffers `json:"buffers"`
	// Slowest lists the nodes with the longest time without their child nodes.
	Slowest []NodeTime `json:"slowest_nodes,omitempty"`
	// Hints lists unexpected sequential scans.
	Hints []string        `json:"hints,omitempty"`
	Plan  json.RawMessage `json:"plan,omitempty"`
}

// Buffers counts pages of PostgreSQL: found in shared buffers, read from the operating system, and dirtied.
type Buffers struct {
	Hit     int64 `json:"hit"`
	Read    int64 `json:"read"`
	Dirtied int64 `json:"dirtied"`
}

// Part is the row count of a common table expression.
type Part struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// NodeTime is a node of a plan and its time in milliseconds without its child nodes.
type NodeTime struct {
	Node  string  `json:"node"`
	Time  float64 `json:"time_ms"`
	Rows  int64   `json:"rows"`
	Loops int64   `json:"loops"`
}

// read parses the output of EXPLAIN (FORMAT JSON).
func (s *Statement) read(document []byte) error {
	var plans []struct {
		Plan      json.RawMessage
		Planning  float64 `json:"Planning Time"`
		Execution float64 `json:"Execution Time"`
	}
	if err := json.Unmarshal(document, &plans); err != nil || len(plans) != 1 {
		return fmt.Errorf("cannot parse the plan: %w: %s", err, document)
	}
	root, err := s.measure(plans[0].Plan)
	if err != nil {
		return err
	}
	s.Time, s.Planning = plans[0].Execution, plans[0].Planning
	s.Parts = append(root.parts(nil), Part{"result", root.rows()})
	return nil
}

// measure parses the plan of one statement.
func (m *Measured) measure(plan json.RawMessage) (*node, error) {
	root := &node{}
	if err := json.Unmarshal(plan, root); err != nil {
		return nil, fmt.Errorf("cannot parse the plan: %w: %s", err, plan)
	}
	m.Plan, m.Rows, m.Time = plan, root.rows(), root.total()
	m.Buffers = Buffers{root.Hit, root.Read, root.Dirtied}
	m.Slowest, m.Hints = root.slowest(), root.hints(nil)
	return root, nil
}

var (
	// nestedName is the comment that numbers the statements of a function.
	nestedName = regexp.MustCompile(`/\* (\w+ \d+/\d+) \*/`)
	spaces     = regexp.MustCompile(`\s+`)
)

// readNested parses messages of auto_explain, which are "1.5 ms  plan:" and a JSON document. It sums up the calls of
// each statement. It omits the outer statement, which calls the functions and has its own plan.
func readNested(outer string, messages []string) ([]Nested, error) {
	var found []Nested
	for _, message := range messages {
		_, document, _ := strings.Cut(message, "plan:\n")
		var logged struct {
			SQL  string `json:"Query Text"`
			Plan json.RawMessage
		}
		if err := json.Unmarshal([]byte(document), &logged); err != nil {
			return nil, fmt.Errorf("cannot parse a plan of auto_explain: %w: %s", err, message)
		}
		if logged.SQL == outer {
			continue
		}
		var measurement Measured
		if _, err := measurement.measure(logged.Plan); err != nil {
			return nil, err
		}
		at := slices.IndexFunc(found, func(n Nested) bool { return n.SQL == logged.SQL })
		if at < 0 {
			found = append(found, Nested{Name: nameOf(logged.SQL), SQL: logged.SQL})
			at = len(found) - 1
		}
		found[at].add(measurement)
	}
	return found, nil
}

// add adds the cost of one call.
func (n *Nested) add(measurement Measured) {
	n.Calls++
	n.Time += measurement.Time
	n.Rows += measurement.Rows
	n.Buffers.Hit += measurement.Buffers.Hit
	n.Buffers.Read += measurement.Buffers.Read
	n.Buffers.Dirtied += measurement.Buffers.Dirtied
	for _, hint := range measurement.Hints {
		if !slices.Contains(n.Hints, hint) {
			n.Hints = append(n.Hints, hint)
		}
	}
	if n.Plan == nil || measurement.Time > n.slowest {
		n.slowest, n.Plan, n.Slowest = measurement.Time, measurement.Plan, measurement.Slowest
	}
}

// nameOf returns the name of a nested statement: the name in its comment, or else its first 49 characters.
func nameOf(sql string) string {
	if name := nestedName.FindStringSubmatch(sql); name != nil {
		return name[1]
	}
	words := []rune(strings.TrimSpace(spaces.ReplaceAllString(sql, " ")))
	if len(words) > 50 {
		return string(words[:49]) + "…"
	}
	return string(words)
}

// byTime compares nodes by time, the slowest first.
func byTime(a, b NodeTime) int { return cmp.Compare(b.Time, a.Time) }
