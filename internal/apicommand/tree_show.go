package apicommand

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// treesVersion is the version of the extensions with reads of whole trees.
const treesVersion = "1.4"

// shown reads the members of a tree with one request. ok is false if the service does not have that request.
func (r *TreeReader) shown(ctx context.Context, members []api.Provider) (tree draw.Forest, ok bool, err error) {
	tree.Usages = map[uuid.UUID]client.Resources{}
	if has, err := r.Service.HasExtensions(ctx, treesVersion); err != nil || !has || len(members) == 0 {
		return tree, false, err
	}
	select {
	case r.Slots <- struct{}{}:
	case <-ctx.Done():
		return tree, false, context.Cause(ctx)
	}
	defer func() { <-r.Slots }()
	parts := []client.TreePart{client.TreeInventories, client.TreeTraits, client.TreeAggregates}
	if r.Usages {
		parts = append(parts, client.TreeUsages)
	}
	found, err := r.Service.TreeShow(ctx, members[0].RootProviderUUID, parts...)
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
		one := &found.Providers[i]
		if !listed[one.UUID] {
			continue
		}
		tree.Nodes = append(tree.Nodes, one.Node)
		if r.Usages {
			tree.Usages[one.UUID] = one.Usages
		}
	}
	return tree, true, nil
}
