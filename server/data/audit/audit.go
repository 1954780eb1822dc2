// Package audit finds inconsistent rows in a database and repairs those that it can.
//
// Each check is one SQL query in sql/audit. A second file beside it repairs what the query finds, where the rest of the
// database determines the correct value. Operators run the checks with `berth db check`; tests run them after every
// run.
//
// It is not for what the schema forbids by itself, and not for what Berth permits: a provider over capacity is no
// inconsistency, because operators may lower totals while workloads run.
package audit

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	berthsql "github.com/berthd/berth/sql"
)

// Check is one consistency check: a query that returns inconsistent rows.
type Check struct {
	// Name is short and stable: scripts match it.
	Name string `json:"check"`
	// Title names the rows that the check reads.
	Title string `json:"title"`
	// RepairAction is what a repair does; empty if the check has no repair.
	RepairAction string `json:"repair,omitempty"`
	// ManualAction is why there is no repair, and what an operator can do instead.
	ManualAction string `json:"manual_action,omitempty"`
}

// Finding is one inconsistency.
type Finding struct {
	// UUID is that of the provider, consumer or node; empty if none exists.
	UUID     string `json:"uuid"`
	Sentence string `json:"finding"`
}

// Result is what one check found.
type Result struct {
	Check
	// Count is the number of all findings; Findings are the first of them.
	Count    int       `json:"count"`
	Findings []Finding `json:"findings"`
}

// checks are in the order of repairs: a check comes before those whose repair depends on its result.
var checks = []Check{
	{Name: "missing_parents", Title: "parents of providers",
		ManualAction: "the right parent is stored nowhere else; set another parent, or none, through the API"},
	{Name: "parent_cycles", Title: "parent cycles of providers",
		ManualAction: "which of the parents is wrong is stored nowhere else; make one of them a root through the API (1.37), then set the right parent"},
	{Name: "orphaned_rows", Title: "rows of providers, traits and aggregates that do not exist",
		RepairAction: "delete the rows"},
	{Name: "wrong_roots", Title: "roots of providers", RepairAction: "set the root to the topmost ancestor"},
	{Name: "wrong_inventory_roots", Title: "roots of inventories", RepairAction: "set the root to the provider's topmost ancestor"},
	{Name: "wrong_trait_roots", Title: "roots of traits and aggregates", RepairAction: "set the root to the provider's topmost ancestor"},
	{Name: "wrong_tree_classes", Title: "counts of inventories by tree and class", RepairAction: "count the inventories again"},
	{Name: "stale_copies", Title: "copies of traits and aggregates", RepairAction: "copy traits and aggregates again"},
	{Name: "wrong_sharing", Title: "sharing flags of providers", RepairAction: "set the flag from the traits"},
	{Name: "missing_generations", Title: "generations of providers", RepairAction: "insert a generation higher than all others"},
	{Name: "wrong_used", Title: "sums of allocations", RepairAction: "set used to the sum of the allocations"},
	{Name: "allocations_inventory", Title: "inventories of allocations",
		ManualAction: "the total is stored nowhere else; create the inventory, or delete the allocations of the consumer"},
	{Name: "allocations_consumer", Title: "consumers of allocations",
		ManualAction: "the consumer is stored nowhere else; read a backup before you delete the allocations with SQL"},
	{Name: "missing_classes", Title: "resource classes of inventories",
		ManualAction: "the name of the class is stored nowhere else; insert the class with this id, or delete the inventory with SQL"},
	{Name: "missing_owners", Title: "projects, users and types of consumers",
		ManualAction: "the project and user of the consumer are stored nowhere else; the next claim for it sets them"},
	{Name: "idle_consumers", Title: "consumers without allocations", RepairAction: "delete the consumer"},
	{Name: "wrong_leases", Title: "leases of consumers", RepairAction: "delete leases without consumers, and set leased of the others"},
	{Name: "consumer_generations", Title: "generations of consumers", RepairAction: "set the generation to 1"},
	{Name: "node_instances", Title: "instances of nodes",
		ManualAction: "only the user of the node knows whether its instance or its node allocation is right; remove one of them through the API"},
	{Name: "node_traits", Title: "number of traits of each node", ManualAction: "an operator must choose which traits to remove"},
}

// Checks returns all checks.
func Checks() []Check { return append([]Check{}, checks...) }

// Run runs all checks in a transaction, which should read one snapshot. It returns the first findings of each check,
// and the number of all. It calls progress before each check; progress may be nil.
func Run(ctx context.Context, tx pgx.Tx, most int, progress func(number int, next Check)) ([]Result, error) {
	// The checks sum and join whole tables, and nothing else runs in the transaction.
	if _, err := tx.Exec(ctx, "SET LOCAL work_mem = '256MB'"); err != nil {
		return nil, err
	}
	results := make([]Result, 0, len(checks))
	for i, check := range checks {
		if progress != nil {
			progress(i+1, check)
		}
		result := Result{Check: check, Findings: []Finding{}}
		query, err := statement(check.Name)
		if err != nil {
			return nil, err
		}
		rows, err := tx.Query(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", check.Name, err)
		}
		var found Finding
		_, err = pgx.ForEachRow(rows, []any{&found.UUID, &found.Sentence}, func() error {
			if result.Count++; result.Count <= most {
				result.Findings = append(result.Findings, found)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", check.Name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// Count returns the number of all findings, and of those that a repair can fix.
func Count(results []Result) (all, repairable int) {
	for _, result := range results {
		all += result.Count
		if result.RepairAction != "" {
			repairable += result.Count
		}
	}
	return all, repairable
}

func statement(name string) (string, error) {
	text, err := fs.ReadFile(berthsql.Files, "audit/"+name+".sql")
	return string(text), err
}
