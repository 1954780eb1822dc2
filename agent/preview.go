package agent

import (
	"context"
	"fmt"

	"github.com/berthd/berth/client"
)

// Preview is the result that a pass at start-up would have.
type Preview struct {
	// Before is the state of the service, After the state that the driver wants. Before lacks a root that the service
	// does not have.
	Before, After *client.ProviderTree
	// Reshape is true if inventory has to move. Had and Have are then the allocations before and after the move;
	// otherwise nil.
	Reshape   bool
	Had, Have client.Allocations
}

// Preview calls the driver and writes nothing, not even the root of a new host. It cannot detect writes that the
// service would reject.
func (t *Tracker) Preview(ctx context.Context) (*Preview, error) {
	t.pass.Lock()
	defer t.pass.Unlock()
	before, err := t.loadForest(ctx)
	if err != nil {
		return nil, err
	}
	preview := &Preview{Before: before, After: before.Clone()}
	if !before.Exists(t.node.UUID.String()) {
		if err := preview.After.NewRoot(t.node.Name, t.node.UUID, nil); err != nil {
			return nil, err
		}
	}
	if preview.Have, err = t.runDriver(ctx, preview.After, true); err != nil || preview.Have == nil {
		return preview, err
	}
	preview.Reshape = true
	// The driver edited its copy in place; the service still has the original.
	preview.Had, err = t.client.GetAllocationsForProviderTree(ctx, t.node.Name)
	return preview, err
}

// loadForest returns the tree of a host, or an empty forest if the service does not have the host. If another provider
// has the name, the error wraps client.ErrDuplicateName.
func (t *Tracker) loadForest(ctx context.Context) (*client.ProviderTree, error) {
	known, err := t.client.ProviderList(ctx, client.ProviderFilter{InTree: t.node.UUID.String()})
	if err != nil {
		return nil, fmt.Errorf("cannot list the provider of %s: %w", t.node.Name, err)
	}
	if len(known) > 0 {
		return t.load(ctx)
	}
	namesakes, err := t.client.ProviderList(ctx, client.ProviderFilter{Name: t.node.Name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the provider of %s: %w", t.node.Name, err)
	}
	if len(namesakes) > 0 {
		return nil, fmt.Errorf("%w: the service knows %q as the provider %s, and this host says it is %s; give the agent that uuid, or remove the old provider",
			client.ErrDuplicateName, t.node.Name, namesakes[0].UUID, t.node.UUID)
	}
	return client.NewProviderTree(), nil
}
