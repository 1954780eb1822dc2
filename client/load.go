package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// errVanished is a provider that was listed and is gone when it is read.
var errVanished = errors.New("the provider was deleted while its tree was read")

// loads bounds how often a tree is read that changes while it is read.
const loads = 4

// GetProviderTreeAndEnsureRoot makes sure that a provider exists, with this name
// below this parent (uuid.Nil: as a root), and returns a copy of all that is known:
// the whole tree around it, the trees of earlier calls, and as a root each the
// sharing providers that have an aggregate in common with one of them. Any member
// of a tree may be named by its uuid.
//
// What was read less than WithRefresh ago is not read again. What is older is, with
// the list of the tree's members. Inventory, traits and aggregates of a provider are
// read until all three tell the same generation; of one that changes too fast for
// that the oldest generation is kept, so that a write over unread changes would be
// refused.
//
// A provider that exists is taken as it is: name and parent in the tree are the
// server's. Where they differ from those given, a warning is logged; ask the tree by
// uuid for the name. A name that another provider has is an error that wraps
// ErrDuplicateName and names both.
func (c *Client) GetProviderTreeAndEnsureRoot(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) (*ProviderTree, error) {
	if id == uuid.Nil {
		return nil, fmt.Errorf("provider %q: its uuid is missing", name)
	}
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	for attempt := 1; !c.loadedWhole(id); attempt++ {
		err := c.load(ctx, id, name, parent)
		if err == nil {
			break
		}
		c.cache.dropUnread(id)
		if !errors.Is(err, errVanished) || attempt == loads {
			return nil, fmt.Errorf("load the tree of provider %s (%s): %w", name, id, err)
		}
	}
	return c.cache.trees.handOut(), nil
}

// loadedWhole says whether the tree around a provider needs no request.
func (c *Client) loadedWhole(id uuid.UUID) bool {
	if _, known := c.cache.node(id); !known {
		return false
	}
	if _, shares := c.cache.sharing[id]; shares {
		return false // its own tree was never asked for
	}
	members, err := c.cache.trees.UUIDsInTree(id.String())
	return err == nil && !slices.ContainsFunc(members, c.stale)
}

// load brings the tree around a provider, and those who share with it, up to date.
func (c *Client) load(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) error {
	listed, err := c.inTree(ctx, id)
	if err != nil {
		return err
	}
	if len(listed) == 0 {
		c.cache.drop(id)
		if listed, err = c.createFirst(ctx, id, name, parent); err != nil {
			return err
		}
	}
	if err := c.adopt(listed); err != nil {
		return err
	}
	for _, provider := range listed {
		delete(c.cache.sharing, provider.UUID)
	}
	c.noteDifference(ctx, id, name, parent)
	members, err := c.cache.trees.UUIDsInTree(id.String())
	if err != nil {
		return err
	}
	for _, member := range members {
		if err := c.refreshStale(ctx, member); err != nil {
			return err
		}
	}
	return c.loadSharing(ctx, members)
}

func (c *Client) inTree(ctx context.Context, id uuid.UUID) ([]api.Provider, error) {
	return c.ProviderList(ctx, ProviderFilter{InTree: id.String()})
}

// createFirst creates the provider that was asked for and lists its tree. A parent
// whose tree is known saves the listing.
func (c *Client) createFirst(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) ([]api.Provider, error) {
	created, ours, err := c.create(ctx, name, id, parent)
	if err != nil {
		return nil, err
	}
	_, known := c.cache.node(parent)
	if !ours || parent != uuid.Nil && !known {
		listed, err := c.inTree(ctx, id)
		if err == nil && len(listed) == 0 {
			err = errVanished
		}
		if err != nil {
			return nil, err
		}
		if ours {
			c.cache.loaded[id] = c.now()
		}
		return listed, nil
	}
	c.cache.loaded[id] = c.now()
	return []api.Provider{created}, nil
}

// create makes a provider on the server. It is not ours, but well, if somebody else
// has made one with the same uuid meanwhile, or if the answer was lost.
func (c *Client) create(ctx context.Context, name string, id, parent uuid.UUID) (provider api.Provider, ours bool, err error) {
	created, err := c.ProviderCreate(ctx, name, id, parent)
	if err == nil {
		return created, true, nil
	}
	taken := errors.Is(err, ErrDuplicateName) || errors.Is(err, ErrDuplicateUUID)
	if !taken && !errors.Is(err, ErrOutcomeUnknown) {
		return api.Provider{}, false, err
	}
	present, failed := c.ProviderList(ctx, ProviderFilter{UUID: id.String()})
	if failed != nil {
		return api.Provider{}, false, fmt.Errorf("%w; then: %w", err, failed)
	}
	if len(present) == 1 {
		return present[0], false, nil
	}
	if !taken {
		return api.Provider{}, false, err
	}
	return api.Provider{}, false, c.nameHolder(ctx, id, name, err)
}

// nameHolder makes the refusal of a name say whose it is.
func (c *Client) nameHolder(ctx context.Context, id uuid.UUID, name string, refusal error) error {
	holders, err := c.ProviderList(ctx, ProviderFilter{Name: name})
	if err != nil || len(holders) == 0 {
		return refusal
	}
	return &nameTaken{wanted: id, name: name, holder: holders[0], cause: refusal}
}

// nameTaken is a provider that cannot be made because of another one.
type nameTaken struct {
	wanted uuid.UUID
	name   string
	holder api.Provider
	cause  error
}

func (e *nameTaken) Error() string {
	return fmt.Sprintf("provider %s cannot be called %q, because provider %s is; delete or rename that one first",
		e.wanted, e.name, e.holder.UUID)
}

// Unwrap makes it an ErrDuplicateName.
func (e *nameTaken) Unwrap() error { return e.cause }

// adopt takes over who is listed, under which name and where. A generation is taken
// over with the properties only that it stands for: whose generation is not the one
// known is due to be read. Where a name in the list is known as the name of somebody
// who is not listed, that knowledge is old.
func (c *Client) adopt(listed []api.Provider) error {
	listed = slices.Clone(listed)
	var changed []uuid.UUID
	for i, provider := range listed {
		if known, exists := c.cache.node(provider.UUID); exists && *known.Generation != provider.Generation {
			changed = append(changed, provider.UUID)
			listed[i].Generation = *known.Generation
		}
	}
	err := c.cache.trees.Populate(listed)
	for errors.Is(err, ErrDuplicateName) && c.dropNamesakes(listed) {
		err = c.cache.trees.Populate(listed)
	}
	if err == nil {
		for _, id := range changed {
			delete(c.cache.loaded, id)
		}
	}
	c.cache.prune()
	return err
}

// dropNamesakes forgets the trees of those who have a name that is listed as
// somebody else's, and says whether there was one.
func (c *Client) dropNamesakes(listed []api.Provider) bool {
	dropped := false
	for _, provider := range listed {
		holder, held := c.cache.named(provider.Name)
		if held && !slices.ContainsFunc(listed, func(one api.Provider) bool { return one.UUID == holder.UUID }) {
			c.cache.drop(holder.UUID)
			dropped = true
		}
	}
	return dropped
}

// noteDifference warns of a provider that is not called or placed as asked for.
func (c *Client) noteDifference(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) {
	node, known := c.cache.node(id)
	if known && (node.Name != name || parent != uuid.Nil && node.Parent != parent) {
		c.log.LogAttrs(ctx, slog.LevelWarn, "the provider has another name or parent than asked for; the server's are used",
			slog.String("provider", id.String()), slog.String("name", node.Name), slog.String("asked_name", name),
			slog.String("parent", node.Parent.String()), slog.String("asked_parent", parent.String()))
	}
}
