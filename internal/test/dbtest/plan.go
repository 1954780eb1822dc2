package dbtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// NumberedUUID returns the UUID of row n in data that the SQL of a test generates. kind is two
// hexadecimal digits.
func NumberedUUID(kind string, n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%s000000-0000-4000-8000-%012x", kind, n))
}

// PlanNode is one node of a query plan.
type PlanNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Loops    float64    `json:"Actual Loops"`
	Rows     float64    `json:"Actual Rows"` // of one loop
	Plans    []PlanNode `json:"Plans"`
}

// Walk calls visit for each executed node.
func (n *PlanNode) Walk(visit func(*PlanNode)) {
	if n.Loops == 0 {
		return
	}
	visit(n)
	for i := range n.Plans {
		n.Plans[i].Walk(visit)
	}
}

// Explain executes a query as a prepared statement, with a plan_cache_mode, and returns its plan.
func Explain(t *testing.T, conn *pgx.Conn, mode, query string, arguments ...string) *PlanNode {
	t.Helper()
	var encoded []byte
	for _, statement := range []string{
		"DEALLOCATE ALL", "SET plan_cache_mode = " + mode, "PREPARE explained AS " + query,
	} {
		if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained("+strings.Join(arguments, ", ")+")",
		pgx.QueryExecModeSimpleProtocol).Scan(&encoded)
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan PlanNode }
	if err := json.Unmarshal(encoded, &plans); err != nil {
		t.Fatal(err)
	}
	return &plans[0].Plan
}
