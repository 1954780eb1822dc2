package plan

import (
	"slices"
	"testing"
)

// scan is a plan with a common table expression that two nodes scan.
const scan = `[{"Plan": {
	"Node Type": "Nested Loop", "Actual Total Time": 10, "Actual Rows": 2, "Actual Loops": 1, "Shared Hit Blocks": 7,
	"Plans": [
		{"Node Type": "Seq Scan", "Parent Relationship": "InitPlan", "Subplan Name": "CTE found",
			"Relation Name": "consumers", "Alias": "consumer", "Actual Total Time": 8, "Actual Rows": 2, "Actual Loops": 1, "Rows Removed by Filter": 5000},
		{"Node Type": "CTE Scan", "CTE Name": "found", "Alias": "found",
			"Actual Total Time": 8.5, "Actual Rows": 2, "Actual Loops": 1},
		{"Node Type": "CTE Scan", "CTE Name": "found", "Alias": "again",
			"Actual Total Time": 0.25, "Actual Rows": 2, "Actual Loops": 2},
		{"Node Type": "Result", "Actual Total Time": 0, "Actual Rows": 0, "Actual Loops": 0}
	]}, "Planning Time": 0.5, "Execution Time": 11}]`

func TestCLI_PlanNodes_TimesWithoutNodesBelow(t *testing.T) {
	t.Parallel()
	var s Statement
	if err := s.read([]byte(scan)); err != nil {
		t.Fatal(err)
	}
	want := []NodeTime{{"Seq Scan on consumers consumer", 8, 2, 1}, {"Nested Loop", 1, 2, 1}}
	if !slices.Equal(s.Slowest, want) {
		t.Errorf("slowest nodes = %v, want %v", s.Slowest, want)
	}
	if parts := []Part{{"found", 2}, {"result", 2}}; !slices.Equal(s.Parts, parts) {
		t.Errorf("parts = %v, want %v", s.Parts, parts)
	}
	hints := []string{"a sequential scan of consumers reads 5002 rows and returns 2, " +
		"where an index scan is expected; run ANALYZE and repeat the command"}
	if !slices.Equal(s.Hints, hints) || s.Time != 11 || s.Planning != 0.5 || s.Buffers.Hit != 7 {
		t.Errorf("statement = %+v, want the hints %q", s, hints)
	}
}

func TestCLI_PlanNestedNames_PreferTheComment(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"WITH /* allocation_apply 1/9 */ deleted AS (SELECT)":               "allocation_apply 1/9",
		"SELECT 1\n\tFROM ONLY x":                                           "SELECT 1 FROM ONLY x",
		"INSERT INTO projects (external_id) SELECT DISTINCT wanted.name, 1": "INSERT INTO projects (external_id) SELECT DISTINC…",
	} {
		if got := nameOf(sql); got != want {
			t.Errorf("nameOf(%q) = %q, want %q", sql, got, want)
		}
	}
}
