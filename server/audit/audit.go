// Package audit finds what contradicts itself in a database, and repairs what can be.
// The questions are SQL, in sql/audit, one file each; a file beside it puts right what
// the question finds, where the rest of the database says what is right. Operators ask
// them with `berth db check`, tests after every run.
//
// It is not for what the schema forbids by itself, and not for opinions: a provider
// with more used than it has is no contradiction, since totals may be lowered under
// running workloads.
package audit

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	berthsql "github.com/berthd/berth/sql"
)

// Check is one question to the database.
type Check struct {
	// Name is short and stays: scripts read it.
	Name string `json:"check"`
	// Title says what is looked at.
	Title string `json:"title"`
	// Remedy says what a repair does; empty: there is none.
	Remedy string `json:"remedy,omitempty"`
	// Obstacle says why there is none, and what people can do.
	Obstacle string `json:"obstacle,omitempty"`
}

// Finding is one contradiction.
type Finding struct {
	// UUID is the provider, consumer or node; empty where it does not exist.
	UUID     string `json:"uuid"`
	Sentence string `json:"finding"`
}

// Result is what one question found.
type Result struct {
	Check
	// Count is how many there are; Findings are the first of them.
	Count    int       `json:"count"`
	Findings []Finding `json:"findings"`
}

// checks are in the order in which repairs are made: what others follow from first.
var checks = []Check{
	{Name: "parents", Title: "parents of providers",
		Obstacle: "where the provider belongs is not recorded anywhere else; give it another parent, or none, by the API"},
	{Name: "loops", Title: "loops of parents",
		Obstacle: "which of the parents is wrong is not recorded anywhere else; make one of them a root by the API (1.37), then give it the right parent"},
	{Name: "leftovers", Title: "rows of providers, traits and aggregates that do not exist",
		Remedy: "delete the rows"},
	{Name: "roots", Title: "roots of providers", Remedy: "set the root to the topmost ancestor"},
	{Name: "inventory_roots", Title: "roots of inventories", Remedy: "set the root to the provider's topmost ancestor"},
	{Name: "copies", Title: "copies of traits and aggregates", Remedy: "copy traits and aggregates anew"},
	{Name: "sharing", Title: "marks of sharing providers", Remedy: "set the mark to what the traits say"},
	{Name: "generations", Title: "generations of providers", Remedy: "give the provider a generation above all others"},
	{Name: "used", Title: "sums of allocations", Remedy: "set used to the sum of the allocations"},
	{Name: "allocations_inventory", Title: "inventories of allocations",
		Obstacle: "how much there was is not recorded anywhere else; give the provider the inventory, or take the allocations from the consumer"},
	{Name: "allocations_consumer", Title: "consumers of allocations",
		Obstacle: "whose they were is not recorded anywhere else; look into a backup before you delete them by hand"},
	{Name: "classes", Title: "resource classes of inventories",
		Obstacle: "the name of the class is not recorded anywhere else; insert the class with this id, or delete the inventory by hand"},
	{Name: "owners", Title: "projects, users and types of consumers",
		Obstacle: "whose the consumer is, is not recorded anywhere else; its next claim says it anew"},
	{Name: "consumers", Title: "consumers without allocations", Remedy: "delete the consumer"},
	{Name: "consumer_generations", Title: "generations of consumers", Remedy: "set the generation to 1"},
	{Name: "node_instances", Title: "instances of nodes",
		Obstacle: "whether the node or its allocation is right is known only to who uses the node; remove one of them by the API"},
	{Name: "node_traits", Title: "numbers of traits of nodes", Obstacle: "which traits are too many is for people to say"},
}

// Checks are all questions.
func Checks() []Check { return append([]Check{}, checks...) }

// Run asks all questions in a transaction, which should see one snapshot. It keeps the
// first findings of each and counts the rest. progress hears of each question before
// it is asked; it may be nil.
func Run(ctx context.Context, tx pgx.Tx, most int, progress func(number int, next Check)) ([]Result, error) {
	// Sums and joins over whole tables are what this memory is for, and nothing else
	// runs in the transaction.
	if _, err := tx.Exec(ctx, "SET LOCAL work_mem = '256MB'"); err != nil {
		return nil, err
	}
	results := make([]Result, 0, len(checks))
	for i, check := range checks {
		if progress != nil {
			progress(i+1, check)
		}
		result := Result{Check: check, Findings: []Finding{}}
		question, err := statement(check.Name)
		if err != nil {
			return nil, err
		}
		rows, err := tx.Query(ctx, question)
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

// Count adds up what was found: all, and what a repair could put right.
func Count(results []Result) (all, repairable int) {
	for _, result := range results {
		all += result.Count
		if result.Remedy != "" {
			repairable += result.Count
		}
	}
	return all, repairable
}

func statement(name string) (string, error) {
	text, err := fs.ReadFile(berthsql.Files, "audit/"+name+".sql")
	return string(text), err
}
