package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// A re-parenting begins before its provider exists and waits for the lock on the new parent's root. A provider that is
// created in the meantime is not locked, so the update must not report success without moving it.
func TestLocks_ProviderCreatedWhileReparentWaits_NotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	ctx := t.Context()
	parent, late := b.provider("a parent", nil, nil), uuid.New()
	gate := b.outside()
	_, err := gate.Exec(ctx, "SELECT FROM resource_providers WHERE uuid = $1 FOR NO KEY UPDATE", parent)
	b.must(err)
	outcomes, ended := b.start([]func(context.Context) error{func(ctx context.Context) error {
		_, err := b.ProviderUpdate(ctx, late, store.ProviderChange{
			Name: "late", SetParent: true, Parent: &parent, MayReparent: true,
		})
		return err
	}})
	b.awaitWaiters(1)
	_, err = b.ProviderCreate(ctx, late, "late", nil)
	b.must(err)
	b.must(gate.Commit(ctx))
	ended()
	shown, err := b.ProviderShow(ctx, late)
	b.must(err)
	if outcomes[0] != store.ProviderNotFound || shown.Parent != nil {
		t.Errorf("outcome = %q, parent = %v, want %q and none", outcomes[0], shown.Parent, store.ProviderNotFound)
	}
}
