package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// shape creates, renames and re-parents from the top down. So a parent is always
// in its place before its children come, and nobody can come below itself.
func (f *flush) shape() error {
	for _, node := range f.wanted {
		known, exists := f.cache.node(node.UUID)
		if exists && known.Name == node.Name && known.Parent == node.Parent {
			continue
		}
		err := f.freeName(node, nil)
		if err == nil && !exists {
			err = f.createWanted(node)
		} else if err == nil {
			err = f.place(known, node.Name, node.Parent)
		}
		if err != nil {
			return f.halt(node, err)
		}
	}
	return nil
}

// createWanted creates a provider of the tree. One that is there already, because
// somebody else was faster or the answer was lost, will do if it is in the right
// place and as empty as a new one. Otherwise the driver has to see it first.
func (f *flush) createWanted(node Node) error {
	created, ours, err := f.create(f.ctx, node.Name, node.UUID, node.Parent)
	if err != nil {
		return f.unlessOurs(node, err)
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

// unlessOurs makes a conflict of a name that is taken within the same tree: there
// somebody else has made what was wanted.
func (f *flush) unlessOurs(node Node, err error) error {
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

// freeName renames whoever has the name that a provider should get, if that one
// should get another name itself. Those who want to swap theirs are left to the
// server, which refuses it.
func (f *flush) freeName(node Node, asking []uuid.UUID) error {
	holder, held := f.cache.named(node.Name)
	if !held || holder.UUID == node.UUID || slices.Contains(asking, holder.UUID) {
		return nil
	}
	i := slices.IndexFunc(f.wanted, func(one Node) bool { return one.UUID == holder.UUID })
	if i < 0 || f.wanted[i].Name == holder.Name {
		return nil
	}
	if err := f.freeName(f.wanted[i], append(asking, node.UUID)); err != nil {
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
		return f.unlessOurs(known, f.nameHolder(f.ctx, known.UUID, name, err))
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

// remove deletes from the bottom up. Who is gone already is no failure.
func (f *flush) remove() error {
	for _, node := range slices.Backward(f.removed) {
		err := f.ProviderDelete(f.ctx, node.UUID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			if stopped := f.stop(node, err); stopped != nil {
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
