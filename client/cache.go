package client

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// cache is what the server said last of the trees that this client has been asked
// for. Only the server's answers change it.
//
// One lock is held for the whole of a load or of an update, requests included. So
// those calls of one client wait for each other, and none of them finds a tree that
// another one has written by half. Everything else a client does goes beside it.
type cache struct {
	busy  sync.Mutex
	trees *ProviderTree
	// loaded is when inventory, traits and aggregates of a provider were read.
	loaded map[uuid.UUID]time.Time
	// sharing are the providers that are here only because they share something
	// with a member of a tree. They stand as roots, whatever their parents are,
	// which are kept here.
	sharing map[uuid.UUID]uuid.UUID
	// consumers are the records as GetAllocationsForProviderTree read them last.
	consumers Allocations
}

// ClearCache forgets all that was read. The next load asks the server.
func (c *Client) ClearCache() {
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.clear()
}

// The rest is for those who hold the lock.

func (c *cache) clear() {
	c.trees = NewProviderTree()
	c.loaded = map[uuid.UUID]time.Time{}
	c.sharing = map[uuid.UUID]uuid.UUID{}
	c.consumers = Allocations{}
}

// open makes an empty cache usable.
func (c *cache) open() {
	if c.trees == nil {
		c.clear()
	}
}

// node is what is known of a provider.
func (c *cache) node(id uuid.UUID) (Node, bool) {
	node, err := c.trees.Provider(id.String())
	// A provider may be called like another one's uuid.
	return node, err == nil && node.UUID == id
}

// drop forgets the whole tree around a provider. It begins at the root: after a
// mere member had gone, the rest would be taken for the tree.
func (c *cache) drop(id uuid.UUID) {
	if node, known := c.node(id); known {
		members, err := c.trees.UUIDsInTree(node.UUID.String())
		if err == nil {
			err = c.trees.Remove(members[0].String())
		}
		if err != nil { // it was there a moment ago, and the lock is held
			c.clear()
		}
	}
	c.prune()
}

// dropUnread forgets a tree of which only a part could be read, and sharing
// providers of which nothing was. What is not read would be taken for empty.
func (c *cache) dropUnread(id uuid.UUID) {
	c.drop(id)
	for shared := range c.sharing {
		if _, read := c.loaded[shared]; !read {
			c.drop(shared)
		}
	}
}

// prune forgets what is kept of providers that are in no tree any more.
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
}

// dropUnreachable forgets the sharing providers of which neither the server said
// just now, nor the aggregates of other trees say, that somebody can use them.
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

// named is the provider of a name.
func (c *cache) named(name string) (Node, bool) {
	node, err := c.trees.Provider(name)
	return node, err == nil && node.Name == name
}

// realParent is the parent that the server knows.
func (c *cache) realParent(node Node) uuid.UUID {
	if parent, shares := c.sharing[node.UUID]; shares && node.Parent == uuid.Nil {
		return parent
	}
	return node.Parent
}

// stale says whether a provider must be read, or read again.
func (c *Client) stale(id uuid.UUID) bool {
	at, loaded := c.cache.loaded[id]
	return !loaded || c.refresh > 0 && c.now().Sub(at) >= c.refresh
}
