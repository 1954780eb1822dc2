package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berthd/berth/server/data/store"
)

// Providers can only become each other's parents through manual SQL. An update of the parent of one of them still
// returns, and making it a root breaks the cycle.
func TestProvider_ParentCycleInDatabase_CanBeBroken(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	root := b.provider("a root", nil, map[string]int32{"VCPU": 8})
	above := b.provider("b above", &root, map[string]int32{"VCPU": 8})
	below := b.provider("c below", &above, map[string]int32{"VCPU": 8})
	_, err := b.db.Pool.Exec(t.Context(), `
		UPDATE resource_providers SET parent_id = (SELECT id FROM resource_providers WHERE uuid = $2) WHERE uuid = $1`, above, below)
	b.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	var refused *store.RuleViolation
	if err := moveUnder(ctx, b, "b above", "c below"); err != nil && !errors.As(err, &refused) {
		t.Fatalf("update to the same parent: %v", err)
	}
	_, err = b.ProviderUpdate(ctx, above, store.ProviderChange{Name: "b above", SetParent: true, MayReparent: true})
	b.must(err)
	b.must(moveUnder(ctx, b, "b above", "a root"))
}
