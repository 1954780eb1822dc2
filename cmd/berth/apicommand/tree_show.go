package apicommand

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// shown reads the members of a tree with one request. ok is false if the service does not have that request.
func (r *TreeReader) shown(ctx context.Context, members []api.Provider) (tree draw.Forest, ok bool, err error) {
	tree.Usages = map[uuid.UUID]client.Resources{}
	if has, err := r.Service.HasExtensions(ctx, readingVersion); err != nil || !has || len(members) == 0 {
		return tree, false, err
	}
	select {
	case r.Slots <- struct{}{}:
	case <-ctx.Done():
		return tree, false, context.Cause(ctx)
	}
	defer func() { <-r.Slots }()
	found, err := r.request(ctx, members[0].RootProviderUUID)
	switch {
	case errors.Is(err, client.ErrExtensions), errors.Is(err, client.ErrForbidden):
		// The service is being upgraded, or a policy permits only the requests for single providers.
		return tree, false, nil
	case errors.Is(err, client.ErrNotFound): // another client has deleted the tree
		return tree, true, nil
	case err != nil:
		return tree, false, err
	}
	listed := map[uuid.UUID]bool{}
	for _, member := range members {
		listed[member.UUID] = true
		r.Progress.step()
	}
	for i := range found.Providers {
		provider := &found.Providers[i]
		if !listed[provider.UUID] {
			continue
		}
		tree.Nodes = append(tree.Nodes, provider.Node)
		if r.Usages {
			tree.Usages[provider.UUID] = provider.Usages
		}
	}
	if r.Consumers && found.Consumers != nil {
		tree.Consumers = map[uuid.UUID][]draw.Consumer{found.Root: consumersOfShown(found)}
	}
	return tree, true, nil
}

// request requests a tree. If it has too many consumers, it states that, and requests the tree without them, whose
// Consumers is nil.
func (r *TreeReader) request(ctx context.Context, root uuid.UUID) (*client.ShownTree, error) {
	parts := []client.TreePart{client.TreeInventories, client.TreeTraits, client.TreeAggregates}
	if r.Usages {
		parts = append(parts, client.TreeUsages)
	}
	if !r.Consumers {
		return r.Service.TreeShow(ctx, root, parts...)
	}
	found, err := r.Service.TreeShow(ctx, root, append(parts, client.TreeSharing, client.TreeConsumers)...)
	if !errors.Is(err, client.ErrTooManyConsumers) {
		return found, err
	}
	if found, err = r.Service.TreeShow(ctx, root, parts...); err != nil {
		return nil, err
	}
	found.Consumers = nil
	return found, r.Progress.aside(func() error {
		_, err := fmt.Fprintf(r.Stderr, "berth: the tree of %s has too many consumers to show; list them with 'berth consumer list --in-tree %s'\n", root, root)
		return err
	})
}
