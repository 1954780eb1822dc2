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

// errVanished is the error for a provider that was deleted between the list and the read of its properties.
var errVanished = errors.New("the provider was deleted while its tree was read")

// maxTreeReads is the maximum number of reads of a tree that changes meanwhile.
const maxTreeReads = 4

// GetProviderTreeAndEnsureRoot creates the provider with this name below this parent (uuid.Nil: as a root) unless it
// exists. It returns a copy of the cache: the tree of the provider, the trees of earlier calls, and as roots the
// sharing providers that have an aggregate in common with one of them. The UUID may be that of any member of a tree.
//
// Data younger than WithRefresh comes from the cache. It reads older data, and the list of the members of the tree,
// from the server: with berth 1.4, one request returns the whole tree with its sharing providers. With berth 1.3, one
// request confirms that all members are as they were; if they are not, it reads them. Then, and without berth, it reads inventories, traits and aggregates of a provider until all three have the same generation. If that fails
// three times, it keeps the oldest generation, so that the server rejects a write over unread changes.
//
// An existing provider keeps its name and parent. Where they differ from those given, the client logs a warning; look
// up the provider by UUID then. If another provider has the name, the error wraps ErrDuplicateName and names both.
//
// Calls for provider trees of one client wait for each other.
func (c *Client) GetProviderTreeAndEnsureRoot(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) (*ProviderTree, error) {
	if id == uuid.Nil {
		return nil, fmt.Errorf("provider %q: its UUID is missing", name)
	}
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	for attempt := 1; !c.loadedWhole(id); attempt++ {
		confirmed, err := c.confirmUnlisted(ctx, id)
		if err == nil && !confirmed {
			err = c.load(ctx, id, name, parent)
		}
		if err == nil {
			break
		}
		c.cache.dropUnread(id)
		if !errors.Is(err, errVanished) || attempt == maxTreeReads {
			return nil, fmt.Errorf("load the tree of provider %s (%s): %w", name, id, err)
		}
	}
	return c.cache.trees.editableCopy(), nil
}

// loadedWhole reports whether the cache has the whole tree of a provider, with no stale member.
func (c *Client) loadedWhole(id uuid.UUID) bool {
	if _, known := c.cache.node(id); !known {
		return false
	}
	if _, shares := c.cache.sharing[id]; shares {
		return false // its own tree was never requested
	}
	members, err := c.cache.trees.UUIDsInTree(id.String())
	return err == nil && !slices.ContainsFunc(members, c.stale)
}

// load updates the cached tree of a provider, and its sharing providers, from the server.
func (c *Client) load(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) error {
	if c.has(ctx, berth14) {
		err := c.loadShown(ctx, id, name, parent)
		if !errors.Is(err, ErrExtensions) && !errors.Is(err, ErrForbidden) {
			return err
		}
	}
	before, _ := c.cache.trees.UUIDsInTree(id.String())
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
	if !slices.ContainsFunc(members, func(member uuid.UUID) bool { return !slices.Contains(before, member) }) {
		if _, err := c.confirm(ctx, members); err != nil {
			return err
		}
	}
	for _, member := range members {
		if err := c.refreshStale(ctx, member); err != nil {
			return err
		}
	}
	c.cache.listed[members[0]] = c.now()
	return c.loadSharing(ctx, members)
}

func (c *Client) inTree(ctx context.Context, id uuid.UUID) ([]api.Provider, error) {
	return c.ProviderList(ctx, ProviderFilter{InTree: id.String()})
}

// createFirst creates the requested provider and lists its tree. It omits the list for a root, and if the tree of the
// parent is cached.
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

// create creates a provider on the server. ours is false if it exists with this UUID already, because another client
// created it or the response was lost.
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
		return api.Provider{}, false, fmt.Errorf("%w; cannot look up the provider: %w", err, failed)
	}
	if len(present) == 1 {
		return present[0], false, nil
	}
	if !taken {
		return api.Provider{}, false, err
	}
	return api.Provider{}, false, c.explainNameConflict(ctx, id, name, err)
}

// explainNameConflict adds the provider that has the name to the error.
func (c *Client) explainNameConflict(ctx context.Context, id uuid.UUID, name string, refusal error) error {
	holders, err := c.ProviderList(ctx, ProviderFilter{Name: name})
	if err != nil || len(holders) == 0 {
		return refusal
	}
	return &nameTaken{wanted: id, name: name, holder: holders[0], cause: refusal}
}

// nameTaken is the error for a provider whose name another one has.
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

// Unwrap returns the cause, an ErrDuplicateName.
func (e *nameTaken) Unwrap() error { return e.cause }

// adopt updates the cache with the names and parents of a list. It does not copy a changed generation without its
// properties, but marks the provider as not loaded. If the cache has a listed name for a provider that is not listed,
// that entry is stale and is removed.
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

// dropNamesakes removes the trees of providers whose name the list has for another provider, and reports whether there
// was one.
func (c *Client) dropNamesakes(listed []api.Provider) bool {
	dropped := false
	for _, provider := range listed {
		holder, held := c.cache.named(provider.Name)
		if held && !slices.ContainsFunc(listed, func(provider api.Provider) bool { return provider.UUID == holder.UUID }) {
			c.cache.drop(holder.UUID)
			dropped = true
		}
	}
	return dropped
}

// noteDifference logs a warning for a provider whose name or parent differs from the requested one.
func (c *Client) noteDifference(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) {
	node, known := c.cache.node(id)
	if known && (node.Name != name || parent != uuid.Nil && node.Parent != parent) {
		c.log.LogAttrs(ctx, slog.LevelWarn, "provider has another name or parent than requested; using those of the server",
			slog.String("provider", id.String()), slog.String("name", node.Name), slog.String("asked_name", name),
			slog.String("parent", node.Parent.String()), slog.String("asked_parent", parent.String()))
	}
}
