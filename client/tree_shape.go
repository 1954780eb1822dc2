package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// NewRoot adds a provider without a parent. The generation is nil for a provider that is not on the server. If the
// forest has the UUID or the name already, the error wraps ErrDuplicateName.
func (t *ProviderTree) NewRoot(name string, id uuid.UUID, generation *int64) error {
	if id == uuid.Nil {
		return fmt.Errorf("root provider %q: its UUID is missing", name)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.add(Node{UUID: id, Name: name, Generation: copyOf(generation)}, nil)
}

// NewChild adds a provider below another one and returns its UUID: the one given, or a random one for uuid.Nil. If the
// forest has the UUID or the name already, the error wraps ErrDuplicateName, so call Exists first. The error prevents
// that a provider loses its properties by being created again.
func (t *ProviderTree) NewChild(name, parent string, id uuid.UUID) (uuid.UUID, error) {
	if id == uuid.Nil {
		id = uuid.New()
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	above, err := t.find(parent)
	if err != nil {
		return uuid.Nil, fmt.Errorf("parent of %q: %w", name, err)
	}
	if err := t.add(Node{UUID: id, Name: name}, above); err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

// add adds a provider. The caller holds the lock.
func (t *ProviderTree) add(node Node, above *member) error {
	if err := t.free(node.Name); err != nil {
		return err
	}
	if holder := t.members[node.UUID]; holder != nil {
		return fmt.Errorf("provider %q: the uuid %s belongs to %q: %w",
			node.Name, node.UUID, holder.node.Name, ErrDuplicateName)
	}
	node.Inventories = Inventories{}
	t.attach(&member{node: node}, above)
	return nil
}

// free returns an error if the name is empty or another provider has it. The caller holds the lock.
func (t *ProviderTree) free(name string) error {
	if name == "" {
		return errors.New("a provider needs a name")
	}
	if holder := t.names[name]; holder != nil {
		return fmt.Errorf("provider %q: %s has this name: %w", name, holder.node.UUID, ErrDuplicateName)
	}
	return nil
}

// Remove removes a provider and its descendants from the forest.
func (t *ProviderTree) Remove(ref string) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return err
	}
	t.detach(found)
	return nil
}

// Rename changes the name of a provider. If another provider of the forest has the name, the error wraps
// ErrDuplicateName.
func (t *ProviderTree) Rename(ref, name string) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil || found.node.Name == name {
		return err
	}
	if err := t.free(name); err != nil {
		return err
	}
	delete(t.names, found.node.Name)
	found.node.Name = name
	t.names[name] = found
	return nil
}

// Move moves a provider with its descendants below another parent; with parent "" it becomes a root. It returns an
// error if the parent is the provider itself or a descendant.
func (t *ProviderTree) Move(ref, parent string) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return err
	}
	var above *member
	if parent != "" {
		if above, err = t.find(parent); err != nil {
			return fmt.Errorf("new parent of %q: %w", found.node.Name, err)
		}
		if slices.Contains(found.walk(nil), above) {
			return fmt.Errorf("provider %q cannot move below %q, which is the provider itself or a descendant",
				found.node.Name, above.node.Name)
		}
	}
	if found.above != nil {
		delete(found.above.below, found.node.UUID)
	}
	t.attach(found, above)
	return nil
}
