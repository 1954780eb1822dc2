package agent

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Driver is the code that knows the resources of a host.
type Driver interface {
	// UpdateProviderTree edits the tree in place into the desired state of the host. The tracker may call it several
	// times in one pass, so it depends only on its arguments, not on earlier calls. The tree is a copy of the state of
	// the service: the provider with the name nodeName, its descendants, and the sharing providers of their aggregates.
	// The driver changes only what it owns.
	//
	// Without allocations (nil) it must not move inventory that may have allocations to another provider or class. If
	// it has to, it returns an error that wraps client.ErrReshapeNeeded. Its edits of the tree stay, and the next call
	// gets the same tree.
	//
	// With allocations it has to move inventory and allocations, in place. Each record contains all allocations of a
	// consumer, also those on other providers, and must remain complete: the reshape deletes missing ones. The driver
	// does not change the rest of the records, nor the set of consumers. A consumer may be of any type. If the move is
	// impossible, the error wraps client.ErrReshapeFailed. Returning client.ErrReshapeNeeded again is a bug in the
	// driver.
	UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error
}

// Node is the root provider of a host.
type Node struct {
	// Name is the name by which drivers find the provider, UUID its identity. The service rejects a name that another
	// provider has.
	Name string
	UUID uuid.UUID
}
