package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"
)

// UpdateFromProviderTree makes the server's trees like this one, which is an edited
// copy of what GetProviderTreeAndEnsureRoot returned. Only what differs from what
// the server said last is sent; for a tree without a difference that is nothing.
//
// It creates, renames and re-parents providers from the top down. If allocations
// are not nil, even if they are empty, aggregates and traits follow, and then
// inventories and edited allocations change in one transaction: see
// docs/decisions/0007-provider-side.md for who takes part. Then it deletes providers
// that were removed from the copy, except roots, and writes what is left of inventory, aggregates
// and traits from the bottom up. A provider that has had no inventory gets the other
// two before it in any case, so that the scheduler never sees it without them.
//
// A name is free for another provider only when the update that takes it away is
// done: two providers cannot swap theirs, and a new one cannot have that of one that
// is removed. Both are an ErrDuplicateName that names the two.
//
// It is not one transaction and can be repeated: whatever stopped it, load the tree
// and do it again. ErrUpdateConflict and ErrReshapeConflict say that somebody else
// was faster, or that the tree is older than what is known by now; ErrReshapeFailed
// that a reshape was refused, and nothing of it has happened; ErrInventoryInUse that
// consumers use what should go; ErrSyncFailed that something else was refused, after
// which the rest has been written nevertheless. An *Error without a status is a
// connection that failed; after one that broke off the server is asked whether the
// write was done.
//
// On success the generations in the tree are those of the server, so that it can be
// edited and given here again.
func (c *Client) UpdateFromProviderTree(ctx context.Context, tree *ProviderTree, allocations Allocations) error {
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	f := &flush{Client: c, ctx: ctx, tree: tree, wanted: tree.Nodes(), allocations: allocations}
	if err := f.run(); err != nil {
		return fmt.Errorf("update the provider tree: %w", err)
	}
	return f.tellGenerations()
}

// flush is one run of UpdateFromProviderTree.
type flush struct {
	*Client
	ctx context.Context
	// tree is the caller's.
	tree *ProviderTree
	// wanted is the tree as it should be, parents before their children.
	wanted      []Node
	allocations Allocations
	// removed are to be deleted, parents before their children.
	removed []Node
	// failures are those after which the rest is tried nevertheless, and broken are
	// the providers whose trees are dropped for them at the end: until then the cache
	// is needed.
	failures []error
	broken   []Node
}

func (f *flush) run() error {
	defer func() {
		for _, node := range f.broken {
			f.forget(node)
		}
	}()
	if err := f.checkOutdated(); err != nil {
		return err
	}
	f.findRemoved()
	steps := []func() error{f.shape, f.reshape, f.remove, f.writeAll}
	for _, step := range steps {
		if err := step(); err != nil {
			return errors.Join(append(f.failures, err)...)
		}
	}
	return errors.Join(f.failures...)
}

// halt is stop where nothing more can be tried after any failure.
func (f *flush) halt(node Node, err error) error {
	if stopped := f.stop(node, err); stopped != nil {
		return stopped
	}
	last := len(f.failures) - 1
	err, f.failures = f.failures[last], f.failures[:last]
	return err
}

// checkOutdated refuses a tree that was copied before something was learned that
// the edit of a provider does not know. The server would refuse it as well if the
// generation sent were the copy's; it is the cache's, so it must be done here.
func (f *flush) checkOutdated() error {
	for _, node := range f.wanted {
		known, exists := f.cache.node(node.UUID)
		if node.Generation == nil || exists && (*known.Generation == *node.Generation || !f.differs(node, known)) {
			continue
		}
		f.forget(node)
		conflict := ErrUpdateConflict
		if f.allocations != nil {
			conflict = ErrReshapeConflict
			f.cache.clear()
		}
		return fmt.Errorf("provider %s (%s): %w: the tree given is older than what has been read since",
			node.Name, node.UUID, conflict)
	}
	return nil
}

func (f *flush) differs(wanted, known Node) bool {
	return wanted.Name != known.Name || wanted.Parent != known.Parent ||
		wanted.Inventories.differFrom(known.Inventories) ||
		!slices.Equal(wanted.Traits, known.Traits) || !slices.Equal(wanted.Aggregates, known.Aggregates)
}

// findRemoved decides who is to be deleted: members of the trees that the caller
// asked for and gave back, which the caller has removed. One that is missing because
// it came after the copy was made stays. Of a root that is missing it cannot be told
// whether it is gone or only none of the caller's business, so it stays with all
// below it.
func (f *flush) findRemoved() {
	kept := map[uuid.UUID]bool{}
	for _, node := range f.wanted {
		kept[node.UUID] = true
	}
	root := uuid.Nil
	for _, node := range f.cache.trees.Nodes() {
		if node.Parent == uuid.Nil {
			root = node.UUID
			if !kept[root] {
				f.log.LogAttrs(f.ctx, slog.LevelInfo, "a root is missing in the provider tree; it is not deleted",
					slog.String("provider", node.UUID.String()), slog.String("name", node.Name))
			}
			continue
		}
		if _, shares := f.cache.sharing[root]; kept[root] && !kept[node.UUID] && !shares && f.tree.wasRemoved(node.UUID) {
			f.removed = append(f.removed, node)
		}
	}
}

// tellGenerations writes the server's generations into the caller's tree.
func (f *flush) tellGenerations() error {
	for _, node := range f.wanted {
		if known, exists := f.cache.node(node.UUID); exists && f.tree.Exists(node.UUID.String()) {
			if err := f.tree.edit(node.UUID.String(), known.Generation, func(*Node) {}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stop decides what a failure at a provider means. It returns an error if nothing
// more should be tried, and nil if the rest of the tree can be written.
func (f *flush) stop(node Node, err error) error {
	where := fmt.Sprintf("provider %s (%s)", node.Name, node.UUID)
	switch {
	case errors.Is(err, ErrUpdateConflict):
		f.forget(node)
		return fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, ErrConcurrentUpdate), errors.Is(err, ErrNotFound), errors.Is(err, errVanished):
		f.forget(node)
		return fmt.Errorf("%s: %w: %w", where, ErrUpdateConflict, err)
	case errors.Is(err, ErrInventoryInUse):
		f.failures = append(f.failures, fmt.Errorf("%s: %w", where, err))
		return nil
	case unanswered(err): // it may still be executed
		f.forget(node)
		return fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrForbidden), errors.Is(err, ErrMicroversion):
		return fmt.Errorf("%s: %w: %w", where, ErrSyncFailed, err) // it would be the same everywhere
	}
	f.broken = append(f.broken, node)
	f.failures = append(f.failures, fmt.Errorf("%s: %w: %w", where, ErrSyncFailed, err))
	return nil
}

// forget drops the tree of a provider and the one where it should be, so that both
// are loaded again. A provider that could not be created is in the latter only.
func (f *flush) forget(node Node) {
	f.cache.drop(node.UUID)
	f.cache.drop(node.Parent)
}

// unanswered says whether the service gave no answer of its own.
func unanswered(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Status == 0 || errors.Is(err, ErrUnavailable)
}
