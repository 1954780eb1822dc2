package client

import (
	"fmt"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// Populate updates the forest with a response of GET /resource_providers: names, parents and generations. Providers of
// the forest keep their inventories, traits and aggregates; new providers have none.
//
// A list with the root of a tree has to contain the whole tree, as with in_tree: Populate removes other descendants of
// that root. A list without the root only adds and changes providers.
//
// It returns an error and does not change the forest if the parent of a provider is neither listed nor in the forest
// (ErrNotFound), if parents form a cycle, or if another provider of the forest has a listed name (ErrDuplicateName).
func (t *ProviderTree) Populate(providers []api.Provider) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	next := t.clone()
	for _, provider := range providers {
		if err := next.takeOver(provider); err != nil {
			return err
		}
	}
	for _, provider := range providers {
		if err := next.placeListed(provider); err != nil {
			return err
		}
	}
	if err := next.removeUnlisted(providers); err != nil {
		return err
	}
	for _, provider := range providers {
		if err := next.nameListed(provider); err != nil {
			return err
		}
	}
	t.members, t.names, t.removed = next.members, next.names, next.removed
	return nil
}

// takeOver adds a listed provider, or updates its generation. Names follow after all old ones are removed, since two
// providers may have swapped theirs.
func (t *ProviderTree) takeOver(provider api.Provider) error {
	if provider.UUID == uuid.Nil || provider.Name == "" {
		return fmt.Errorf("a listed provider has the uuid %s and the name %q; it needs both", provider.UUID, provider.Name)
	}
	listed := t.members[provider.UUID]
	if listed == nil {
		listed = &member{
			node:  Node{UUID: provider.UUID, Name: provider.Name, Inventories: Inventories{}},
			below: map[uuid.UUID]*member{},
		}
		t.members[provider.UUID] = listed
		delete(t.removed, provider.UUID)
	} else if t.names[listed.node.Name] == listed {
		delete(t.names, listed.node.Name)
	}
	listed.node.Generation = new(provider.Generation)
	return nil
}

// placeListed moves a listed provider below its parent.
func (t *ProviderTree) placeListed(provider api.Provider) error {
	listed := t.members[provider.UUID]
	var above *member
	if id := parentOf(provider); id != uuid.Nil {
		if above = t.members[id]; above == nil {
			return fmt.Errorf("provider %s (%s) has the parent %s, which is neither listed nor in the tree: %w",
				provider.UUID, provider.Name, id, ErrNotFound)
		}
	}
	if listed.above != nil {
		delete(listed.above.below, provider.UUID)
	}
	listed.above = above
	if above != nil {
		above.below[provider.UUID] = listed
	}
	return nil
}

// removeUnlisted removes descendants of a listed root that are not listed, and returns an error for a parent cycle.
func (t *ProviderTree) removeUnlisted(providers []api.Provider) error {
	listed := map[uuid.UUID]bool{}
	for _, provider := range providers {
		listed[provider.UUID] = true
	}
	for _, provider := range providers {
		at, steps := t.members[provider.UUID], 0
		for ; at.above != nil; at = at.above {
			if steps++; steps > len(t.members) {
				return fmt.Errorf("the parents of provider %s (%s) form a cycle", provider.UUID, provider.Name)
			}
		}
		if !listed[at.node.UUID] {
			continue
		}
		for up := t.members[provider.UUID].above; up != nil; up = up.above {
			if !listed[up.node.UUID] {
				return fmt.Errorf("provider %s (%s) is below %s, which is not listed in the same tree: %w",
					provider.UUID, provider.Name, up.node.UUID, ErrNotFound)
			}
		}
	}
	for _, provider := range providers {
		if root := t.members[provider.UUID]; root.above == nil {
			for _, below := range root.walk(nil) {
				if !listed[below.node.UUID] && t.members[below.node.UUID] == below {
					t.detach(below)
				}
			}
		}
	}
	return nil
}

// nameListed sets the name of a listed provider.
func (t *ProviderTree) nameListed(provider api.Provider) error {
	listed := t.members[provider.UUID]
	if holder := t.names[provider.Name]; holder != nil && holder != listed {
		return fmt.Errorf("provider %s is listed as %q, which is the name of %s: %w",
			provider.UUID, provider.Name, holder.node.UUID, ErrDuplicateName)
	}
	listed.node.Name = provider.Name
	t.names[provider.Name] = listed
	return nil
}

// parentOf returns the parent of a provider, uuid.Nil for a root.
func parentOf(provider api.Provider) uuid.UUID {
	if provider.ParentProviderUUID != nil {
		return *provider.ParentProviderUUID
	}
	return uuid.Nil
}
