package client

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// cache is the last state of the requested trees that the server returned. Only responses of the server change it.
//
// A load or an update holds the lock busy from beginning to end, requests included. So these calls of one client wait
// for each other, and none reads a half-written tree. Other calls do not take the lock.
type cache struct {
	busy  sync.Mutex
	trees *ProviderTree
	// loaded is when inventory, traits and aggregates of a provider were read.
	loaded map[uuid.UUID]time.Time
	// sharing are the sharing providers that are cached only because they serve a cached tree, with their parents on
	// the server. The cache has them as roots.
	sharing map[uuid.UUID]uuid.UUID
	// listed is when the members of a tree were listed, by root.
	listed map[uuid.UUID]time.Time
	// consumers are the records that GetAllocationsForProviderTree read last.
	consumers Allocations
}

// ClearCache empties the cache of provider trees. The next load reads from the server. It waits for loads and updates
// in progress.
func (c *Client) ClearCache() {
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.clear()
}

// The callers of the rest hold the lock busy.

func (c *cache) clear() {
	c.trees = NewProviderTree()
	c.loaded = map[uuid.UUID]time.Time{}
	c.sharing = map[uuid.UUID]uuid.UUID{}
	c.listed = map[uuid.UUID]time.Time{}
	c.consumers = Allocations{}
}

// open initializes a cache with the zero value.
func (c *cache) open() {
	if c.trees == nil {
		c.clear()
	}
}

// node returns the cached provider with this UUID.
func (c *cache) node(id uuid.UUID) (Node, bool) {
	node, err := c.trees.Provider(id.String())
	// The name of a provider may be the UUID of another one.
	return node, err == nil && node.UUID == id
}

// drop removes the whole tree of a provider from the cache. Removing only a member would leave a rest that looks like
// the tree.
func (c *cache) drop(id uuid.UUID) {
	if node, known := c.node(id); known {
		members, err := c.trees.UUIDsInTree(node.UUID.String())
		if err == nil {
			err = c.trees.Remove(members[0].String())
		}
		if err != nil { // cannot happen while the lock is held
			c.clear()
		}
	}
	c.prune()
}

// dropUnread removes a partly read tree and unread sharing providers from the cache. Unread properties would look
// empty.
func (c *cache) dropUnread(id uuid.UUID) {
	c.drop(id)
	for shared := range c.sharing {
		if _, read := c.loaded[shared]; !read {
			c.drop(shared)
		}
	}
}

// prune removes the data of providers that are in no cached tree.
func (c *cache) prune() {
	for id := range c.loaded {
		if _, known := c.node(id); !known {
			delete(c.loaded, id)
		}
	}
	for id := range c.sharing {
		if _, known := c.node(id); !known {
			delete(c.sharing, id)
		}
	}
	for id := range c.listed {
		if _, known := c.node(id); !known {
			delete(c.listed, id)
		}
	}
}

// dropUnreachable removes the sharing providers that no tree can use: those that the server did not list for this tree
// and that have no aggregate in common with other trees.
func (c *cache) dropUnreachable(listed, tree []uuid.UUID) {
	var elsewhere []uuid.UUID
	for _, node := range c.trees.Nodes() {
		if _, shares := c.sharing[node.UUID]; !shares && !slices.Contains(tree, node.UUID) {
			elsewhere = append(elsewhere, node.Aggregates...)
		}
	}
	for id := range c.sharing {
		node, known := c.node(id)
		used := slices.Contains(listed, id) || slices.ContainsFunc(node.Aggregates,
			func(aggregate uuid.UUID) bool { return slices.Contains(elsewhere, aggregate) })
		if known && !used {
			c.drop(id)
		}
	}
}

// named returns the cached provider with this name.
func (c *cache) named(name string) (Node, bool) {
	node, err := c.trees.Provider(name)
	return node, err == nil && node.Name == name
}

// realParent returns the parent of a provider on the server.
func (c *cache) realParent(node Node) uuid.UUID {
	if parent, shares := c.sharing[node.UUID]; shares && node.Parent == uuid.Nil {
		return parent
	}
	return node.Parent
}

// stale reports whether the properties of a provider have to be read from the server.
func (c *Client) stale(id uuid.UUID) bool {
	at, loaded := c.cache.loaded[id]
	return !loaded || c.refresh > 0 && c.now().Sub(at) >= c.refresh
}
