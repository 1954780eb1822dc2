package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// shape creates, renames and re-parents providers, parents before children. So a parent is always in place before its
// children, and no provider becomes its own descendant.
func (f *flush) shape() error {
	for _, node := range f.wanted {
		known, exists := f.cache.node(node.UUID)
		if exists && known.Name == node.Name && known.Parent == node.Parent {
			continue
		}
		err := f.releaseName(node, nil)
		if err == nil && !exists {
			err = f.createWanted(node)
		} else if err == nil {
			err = f.place(known, node.Name, node.Parent)
		}
		if err != nil {
			return f.abort(node, err)
		}
	}
	return nil
}

// createWanted creates a provider of the tree. It accepts an existing one, created by another client or by a request
// whose response was lost, if that has the right name and parent and no properties. Otherwise it returns an
// ErrUpdateConflict, because the driver has to read it first.
func (f *flush) createWanted(node Node) error {
	created, ours, err := f.create(f.ctx, node.Name, node.UUID, node.Parent)
	if err != nil {
		return f.nameConflict(node, err)
	}
	if created.Name != node.Name || parentOf(created) != node.Parent {
		return fmt.Errorf("%w: it exists as %q below %s", ErrUpdateConflict, created.Name, parentOf(created))
	}
	listed := []api.Provider{created}
	if !ours && node.Parent == uuid.Nil {
		if listed, err = f.inTree(f.ctx, node.UUID); err != nil {
			return err
		}
	}
	if err := f.adopt(listed); err != nil {
		return err
	}
	if ours {
		f.cache.loaded[node.UUID] = f.now()
		return nil
	}
	if err := f.refreshStale(f.ctx, node.UUID); err != nil {
		return err
	}
	known, _ := f.cache.node(node.UUID)
	if len(known.Inventories)+len(known.Traits)+len(known.Aggregates) > 0 {
		return fmt.Errorf("%w: it exists and is not empty", ErrUpdateConflict)
	}
	return nil
}

// nameConflict adds ErrUpdateConflict to the error if a provider that is not cached has the name in the same tree:
// another client has created it.
func (f *flush) nameConflict(node Node, err error) error {
	var taken *nameTaken
	if !errors.As(err, &taken) {
		return err
	}
	for _, id := range []uuid.UUID{node.UUID, node.Parent} {
		members, unknown := f.cache.trees.UUIDsInTree(id.String())
		if unknown == nil && members[0] == taken.holder.RootProviderUUID {
			if _, known := f.cache.node(taken.holder.UUID); !known {
				return fmt.Errorf("%w: %w", ErrUpdateConflict, err)
			}
		}
	}
	return err
}

// releaseName renames the provider that has the wanted name of another one, if it gets another name itself. Of
// providers that swap names it renames none; the server rejects the update.
func (f *flush) releaseName(node Node, asking []uuid.UUID) error {
	holder, held := f.cache.named(node.Name)
	if !held || holder.UUID == node.UUID || slices.Contains(asking, holder.UUID) {
		return nil
	}
	i := slices.IndexFunc(f.wanted, func(node Node) bool { return node.UUID == holder.UUID })
	if i < 0 || f.wanted[i].Name == holder.Name {
		return nil
	}
	if err := f.releaseName(f.wanted[i], append(asking, node.UUID)); err != nil {
		return err
	}
	return f.place(holder, f.wanted[i].Name, holder.Parent)
}

// place renames and re-parents a provider.
func (f *flush) place(known Node, name string, parent uuid.UUID) error {
	onServer := parent
	if parent == known.Parent {
		onServer = f.cache.realParent(known)
	}
	placed, err := f.ProviderUpdate(f.ctx, known.UUID, name, onServer)
	if errors.Is(err, ErrOutcomeUnknown) {
		lost := err
		placed, err = f.ProviderShow(f.ctx, known.UUID)
		err = settled(lost, err, placed.Name == name && parentOf(placed) == onServer)
	}
	if errors.Is(err, ErrDuplicateName) {
		return f.nameConflict(known, f.explainNameConflict(f.ctx, known.UUID, name, err))
	}
	if err != nil {
		return err
	}
	above := ""
	if parent != uuid.Nil {
		above = parent.String()
	}
	return errors.Join(f.cache.trees.Rename(known.UUID.String(), name), f.cache.trees.Move(known.UUID.String(), above))
}

// remove deletes the removed providers, children before parents. A provider that does not exist is no error.
func (f *flush) remove() error {
	for _, node := range slices.Backward(f.removed) {
		err := f.ProviderDelete(f.ctx, node.UUID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			if stopped := f.handleFailure(node, err); stopped != nil {
				return stopped
			}
			continue
		}
		if err := f.cache.trees.Remove(node.UUID.String()); err != nil {
			return err
		}
		f.cache.prune()
	}
	return nil
}
