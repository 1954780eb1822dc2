package store

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// CandidatePlan is how a CandidateQuery was answered.
type CandidatePlan struct {
	Tally CandidateTally `json:"tally"`
	Steps []PlanStep     `json:"steps"`
}

// PlanStep is one statement that was sent, as a DBA can send it too.
type PlanStep struct {
	// Name is that in sql/queries.
	Name string `json:"name"`
	SQL  string `json:"sql"`
	// Arguments are $1 and so on, as SQL literals.
	Arguments []string `json:"arguments"`
	// Plan is what EXPLAIN (ANALYZE, BUFFERS) prints for the statement, planned as
	// connections of the service plan it.
	Plan string `json:"plan"`
	// Rows are what each part of the statement gave, the whole last.
	Rows []PlanRows `json:"rows"`
}

// PlanRows are the rows that a common table expression gave.
type PlanRows struct {
	Part string `json:"part"`
	Rows int64  `json:"rows"`
}

// CandidatePlan answers a query, then runs each statement that this took once more
// under EXPLAIN, in the same snapshot.
func (s *Store) CandidatePlan(ctx context.Context, query CandidateQuery) (*CandidatePlan, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	reading := &snapshot{conn: conn, record: true}
	found, err := s.candidates(ctx, reading, query)
	if err != nil {
		_ = reading.close() // the error that matters is err
		return nil, err
	}
	defer func() { _ = found.Close() }() // only read
	for _, err := range found.All() {
		if err != nil {
			return nil, err
		}
	}
	for _, err := range found.Summaries() {
		if err != nil {
			return nil, err
		}
	}
	plan := &CandidatePlan{Tally: found.search.tally}
	for _, statement := range reading.recorded {
		step, err := explain(ctx, reading.conn.Conn(), statement)
		if err != nil {
			return nil, fmt.Errorf("explain %s: %w", step.Name, err)
		}
		plan.Steps = append(plan.Steps, step)
	}
	return plan, nil
}

var statementName = regexp.MustCompile(`^-- name: (\w+) :\w+\n`)

// explain runs a statement as a prepared one, twice: for people, and for its rows.
func explain(ctx context.Context, conn *pgx.Conn, statement Statement) (PlanStep, error) {
	step := PlanStep{SQL: strings.TrimSpace(statement.SQL)}
	if name := statementName.FindStringSubmatch(statement.SQL); name != nil {
		step.Name = name[1]
		step.SQL = strings.TrimSpace(statement.SQL[len(name[0]):])
	}
	for _, arg := range statement.Args {
		step.Arguments = append(step.Arguments, literal(arg))
	}
	execute := " EXECUTE explained"
	if len(step.Arguments) > 0 {
		execute += "(" + strings.Join(step.Arguments, ", ") + ")"
	}
	if _, err := conn.Exec(ctx, "PREPARE explained AS "+statement.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return step, err
	}
	rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS)"+execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return step, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return step, err
	}
	step.Plan = strings.Join(lines, "\n")
	var document []byte
	if err := conn.QueryRow(ctx, "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)"+execute,
		pgx.QueryExecModeSimpleProtocol).Scan(&document); err != nil {
		return step, err
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(document, &plans); err != nil {
		return step, err
	}
	step.Rows = append(plans[0].Plan.parts(nil), PlanRows{"result", plans[0].Plan.rows()})
	_, err = conn.Exec(ctx, "DEALLOCATE explained", pgx.QueryExecModeSimpleProtocol)
	return step, err
}

// planNode is what a plan says of one of its nodes.
type planNode struct {
	Subplan string     `json:"Subplan Name"`
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Plans   []planNode `json:"Plans"`
}

func (n *planNode) rows() int64 { return int64(n.Rows * n.Loops) }

// parts are the common table expressions below a node that were run.
func (n *planNode) parts(known []PlanRows) []PlanRows {
	for i := range n.Plans {
		below := &n.Plans[i]
		if part, ok := strings.CutPrefix(below.Subplan, "CTE "); ok && below.Loops > 0 {
			known = append(known, PlanRows{part, below.rows()})
		}
		known = below.parts(known)
	}
	return known
}

// literal writes an argument as SQL. Those of queries are numbers, truths, texts,
// uuids, JSON, and lists of them.
func literal(arg any) string {
	switch arg := arg.(type) {
	case nil:
		return "NULL"
	case bool:
		return strconv.FormatBool(arg)
	case int32:
		return strconv.FormatInt(int64(arg), 10)
	case int64:
		return strconv.FormatInt(arg, 10)
	case json.RawMessage:
		return quote(string(arg))
	case []int32:
		return quote(idList(arg).String())
	case []int64:
		return array(arg, func(id int64) string { return strconv.FormatInt(id, 10) })
	case []uuid.UUID:
		return array(arg, uuid.UUID.String)
	case []string:
		return array(arg, strconv.Quote)
	}
	return quote(fmt.Sprint(arg))
}

func array[T any](of []T, text func(T) string) string {
	var texts []string
	for _, one := range of {
		texts = append(texts, text(one))
	}
	return quote("{" + strings.Join(texts, ",") + "}")
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
