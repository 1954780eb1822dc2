package agent

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Driver says what a host has, as only this host can.
type Driver interface {
	// UpdateProviderTree edits the tree in place until it is as the host wants it,
	// and may be called several times in one run, so it decides by looking at
	// the tree and never by remembering what it did. The tree is a copy of
	// everything the service knows of the host: the provider called nodeName is in
	// it, those below, and the sharing providers of their aggregates. It touches
	// only what it owns.
	//
	// Without allocations (nil) it must not move inventory that may have
	// allocations from one provider or class to another. If it finds that it has
	// to, it returns an error that wraps client.ErrReshapeNeeded; what it did to
	// the tree until then stays, and it gets the same tree again.
	//
	// With allocations it has to make the move, in the tree and in the
	// allocations, in place. Each record is everything that a consumer has,
	// wherever it has it, and must end so: what is left out is deleted. The
	// parts that the move does not touch, and the consumers, stay as they
	// are. A consumer need not be an instance. If the move cannot be made the
	// error wraps client.ErrReshapeFailed; asking for a reshape again is a
	// mistake in the driver.
	UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error
}

// Node is the root provider of a host.
type Node struct {
	// Name is how drivers find it; UUID is who it is. The service refuses a name
	// that another uuid has.
	Name string
	UUID uuid.UUID
}
