package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"
)

// UpdateFromProviderTree writes the tree, an edited copy of the result of GetProviderTreeAndEnsureRoot, to the server.
// It sends only differences from the cached state of the server; for a tree without a difference it sends no request.
//
// It creates, renames and re-parents providers, parents before children. If allocations are not nil, even if they are
// empty, it then writes aggregates and traits, and changes inventories and edited allocations in one reshape:
// docs/decisions/0007-provider-side.md lists the providers that it names. Then it deletes providers that were removed
// from the copy, except roots, and writes the remaining inventories, aggregates and traits, children before parents. A
// provider without inventory gets aggregates and traits before its first inventory, so that a scheduler never sees it
// without them.
//
// A name is free for another provider only after the update that removes it: two providers cannot swap names, and a new
// one cannot have the name of a removed one. Both are an ErrDuplicateName that names the two.
//
// With berth 1.3 it sends one request for each tree that differs, which the service executes completely or not at all. If
// the service rejects it for another reason than a conflict, or a provider moves to another tree, the client takes the
// steps above. A reshape of several trees also takes them.
//
// It is not one transaction, and can be repeated: after an error, load the tree and apply the change again.
// ErrUpdateConflict and ErrReshapeConflict: another client has changed a provider or consumer, or the tree is older
// than the cache. ErrReshapeFailed: the server rejected the reshape and executed no part of it. ErrInventoryInUse:
// consumers use an inventory to delete. ErrSyncFailed: the server rejected another write; the rest is written. An
// *Error without a status: the connection failed. If a connection fails during a write, it reads from the server
// whether the write was executed.
//
// On success it sets the generations in the tree to those of the server, so that the tree can be edited and passed
// again. Calls for provider trees of one client wait for each other.
func (c *Client) UpdateFromProviderTree(ctx context.Context, tree *ProviderTree, allocations Allocations) error {
	if dryRuns(ctx) != nil {
		return errors.New("update the provider tree: it has no dry run; use TreeReplace")
	}
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	f := &flush{Client: c, ctx: ctx, tree: tree, wanted: tree.Nodes(), allocations: allocations}
	if err := f.run(); err != nil {
		return fmt.Errorf("update the provider tree: %w", err)
	}
	return f.copyGenerations()
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
	// failures are errors after which run continues. broken are their providers; run removes their trees from the cache
	// at the end, because it needs the cache until then.
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
	if done, err := f.replaceTrees(); done || err != nil {
		return err
	}
	steps := []func() error{f.shape, f.reshape, f.remove, f.writeAll}
	for _, step := range steps {
		if err := step(); err != nil {
			return errors.Join(append(f.failures, err)...)
		}
	}
	return errors.Join(f.failures...)
}

// abort is handleFailure for steps after whose failure run cannot continue.
func (f *flush) abort(node Node, err error) error {
	if stopped := f.handleFailure(node, err); stopped != nil {
		return stopped
	}
	last := len(f.failures) - 1
	err, f.failures = f.failures[last], f.failures[:last]
	return err
}

// checkOutdated returns an error if the cache has newer data of an edited provider than the copy. The generations sent
// are those of the cache, so the server cannot detect this conflict.
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
		return fmt.Errorf("provider %s (%s): %w: the tree is older than the cache; load it again",
			node.Name, node.UUID, conflict)
	}
	return nil
}

func (f *flush) differs(wanted, known Node) bool {
	return wanted.Name != known.Name || wanted.Parent != known.Parent ||
		wanted.Inventories.differFrom(known.Inventories) ||
		!slices.Equal(wanted.Traits, known.Traits) || !slices.Equal(wanted.Aggregates, known.Aggregates)
}

// findRemoved collects the providers to delete: those that the caller removed from a tree whose root is in the copy. A
// provider that was created after the copy stays. A missing root stays with its descendants, because the copy may never
// have been meant to contain it.
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
				f.log.LogAttrs(f.ctx, slog.LevelInfo, "root is missing in the provider tree; keeping it",
					slog.String("provider", node.UUID.String()), slog.String("name", node.Name))
			}
			continue
		}
		if _, shares := f.cache.sharing[root]; kept[root] && !kept[node.UUID] && !shares && f.tree.wasRemoved(node.UUID) {
			f.removed = append(f.removed, node)
		}
	}
}

// copyGenerations writes the server's generations into the caller's tree.
func (f *flush) copyGenerations() error {
	for _, node := range f.wanted {
		if known, exists := f.cache.node(node.UUID); exists && f.tree.Exists(node.UUID.String()) {
			if err := f.tree.edit(node.UUID.String(), known.Generation, func(*Node) {}); err != nil {
				return err
			}
		}
	}
	return nil
}

// handleFailure classifies an error of a provider. It returns an error if run has to stop, and nil if the rest of the
// tree can be written.
func (f *flush) handleFailure(node Node, err error) error {
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
	case unanswered(err): // the server may still execute it
		f.forget(node)
		return fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrForbidden), errors.Is(err, ErrMicroversion):
		return fmt.Errorf("%s: %w: %w", where, ErrSyncFailed, err) // all other requests would fail too
	}
	f.broken = append(f.broken, node)
	f.failures = append(f.failures, fmt.Errorf("%s: %w: %w", where, ErrSyncFailed, err))
	return nil
}

// forget removes the tree of a provider and the tree of its wanted parent from the cache, so that both are loaded
// again. A provider that could not be created is in the latter only.
func (f *flush) forget(node Node) {
	f.cache.drop(node.UUID)
	f.cache.drop(node.Parent)
}

// unanswered reports whether the service sent no response of its own.
func unanswered(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Status == 0 || errors.Is(err, ErrUnavailable)
}
