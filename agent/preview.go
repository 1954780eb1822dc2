package agent

import (
	"context"
	"fmt"

	"github.com/berthd/berth/client"
)

// Preview is what a pass at start-up would do.
type Preview struct {
	// Before is what the service has, After what the driver makes of it. A root
	// that the service does not know is missing in Before.
	Before, After *client.ProviderTree
	// Reshape is whether inventory has to be moved. Had and Have are the
	// allocations then, before and after the move; else nil.
	Reshape   bool
	Had, Have client.Allocations
}

// Preview asks the driver and writes nothing, not even the root of a new host.
// What the service would refuse it cannot know.
func (t *Tracker) Preview(ctx context.Context) (*Preview, error) {
	t.pass.Lock()
	defer t.pass.Unlock()
	before, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	preview := &Preview{Before: before, After: before.Clone()}
	if !before.Exists(t.node.UUID.String()) {
		if err := preview.After.NewRoot(t.node.Name, t.node.UUID, nil); err != nil {
			return nil, err
		}
	}
	if preview.Have, err = t.ask(ctx, preview.After, true); err != nil || preview.Have == nil {
		return preview, err
	}
	preview.Reshape = true
	// The driver edited its copy in place; the service still has the original.
	preview.Had, err = t.client.GetAllocationsForProviderTree(ctx, t.node.Name)
	return preview, err
}

// look loads the tree of a host that the service knows, and is an empty forest
// for any other.
func (t *Tracker) look(ctx context.Context) (*client.ProviderTree, error) {
	known, err := t.client.ProviderList(ctx, client.ProviderFilter{InTree: t.node.UUID.String()})
	if err != nil {
		return nil, fmt.Errorf("looking for the provider of %s: %w", t.node.Name, err)
	}
	if len(known) > 0 {
		return t.load(ctx)
	}
	namesakes, err := t.client.ProviderList(ctx, client.ProviderFilter{Name: t.node.Name})
	if err != nil {
		return nil, fmt.Errorf("looking for the provider of %s: %w", t.node.Name, err)
	}
	if len(namesakes) > 0 {
		return nil, fmt.Errorf("%w: the service knows %q as the provider %s, and this host says it is %s; give the agent that uuid, or remove the old provider",
			client.ErrDuplicateName, t.node.Name, namesakes[0].UUID, t.node.UUID)
	}
	return client.NewProviderTree(), nil
}
