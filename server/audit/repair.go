package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lockEverything keeps writers out and lets readers in. The order is that in which
// writes first meet the tables, so that it waits for those that run and does not hold
// what they still need. EXCLUSIVE, because a write begins with row locks, and those
// would get past anything weaker.
const lockEverything = `LOCK TABLE consumers, resource_providers, provider_generations, provider_traits,
	provider_aggregates, allocations, inventories IN EXCLUSIVE MODE`

// Repaired is what a repair changed: how many rows of which check.
type Repaired struct {
	Check string `json:"check"`
	Rows  int64  `json:"rows"`
}

// Lock keeps writers out until the transaction ends, so that what is found afterwards
// is what there is. It waits for writes that run, for some seconds each.
func Lock(ctx context.Context, tx pgx.Tx) error {
	for _, statement := range []string{"SET LOCAL lock_timeout = '30s'", lockEverything} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("keep writers out: %w", err)
		}
	}
	return nil
}

// Repair puts right what can be, in a transaction that holds the locks (Lock) and
// sees its own changes. It is for the caller to look again and to commit.
func Repair(ctx context.Context, tx pgx.Tx) ([]Repaired, error) {
	var made []Repaired
	for _, check := range checks {
		if check.Remedy == "" {
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
			made = append(made, Repaired{check.Name, tag.RowsAffected()})
		}
	}
	return made, nil
}
