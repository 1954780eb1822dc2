package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lockAllTables blocks writers and permits readers. It locks the tables in the order in which writes first use them, so
// that it waits for running writes without holding what they still need. The mode is EXCLUSIVE because a write begins
// with row locks (ROW SHARE), which no weaker mode conflicts with.
const lockAllTables = `LOCK TABLE consumers, resource_providers, provider_generations, provider_traits,
	provider_aggregates, allocations, inventories, tree_classes IN EXCLUSIVE MODE`

// Repaired is the number of rows that the repair of one check changed.
type Repaired struct {
	Check string `json:"check"`
	Rows  int64  `json:"rows"`
}

// Lock blocks writers until the transaction ends, so that a check and its repair see the same rows. It waits for
// running writes, up to 30 seconds for each lock; then PostgreSQL returns an error.
func Lock(ctx context.Context, tx pgx.Tx) error {
	for _, statement := range []string{"SET LOCAL lock_timeout = '30s'", lockAllTables} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("block writers: %w", err)
		}
	}
	return nil
}

// Repair runs all repairs in a transaction that holds the locks of Lock and sees its own changes. The caller runs the
// checks again and commits.
func Repair(ctx context.Context, tx pgx.Tx) ([]Repaired, error) {
	var repairs []Repaired
	for _, check := range checks {
		if check.RepairAction == "" {
			continue
		}
		remedy, err := statement(check.Name + ".repair")
		if err != nil {
			return nil, err
		}
		tag, err := tx.Exec(ctx, remedy)
		if err != nil {
			return nil, fmt.Errorf("repair %s: %w", check.Name, err)
		}
		if tag.RowsAffected() > 0 {
			repairs = append(repairs, Repaired{check.Name, tag.RowsAffected()})
		}
	}
	return repairs, nil
}
