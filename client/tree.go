package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// ProviderTree is a forest of providers: the tree of a host, and the sharing providers that the host can use, each as a
// root. A driver edits it into the desired state of its host. An edit does not change the server until
// Client.UpdateFromProviderTree compares the forest with the cached state of the server.
//
// A ref, in all methods, is the UUID of a provider as text, or its name. The UUID has precedence if the name of a
// provider is the UUID of another one. For a ref without a provider the error wraps ErrNotFound.
//
// Names are unique in a forest, as on the server. All methods are safe for concurrent use. Arguments and results are
// copies: a tree shares no map or slice with its callers.
type ProviderTree struct {
	mutex   sync.Mutex
	members map[uuid.UUID]*member
	names   map[string]*member
	// removed are the providers removed from a copy that Client returned. They differ from providers created on the
	// server after the copy. It is nil in every other forest, where removals are not recorded.
	removed map[uuid.UUID]bool
}

// member is a node with its place in the forest.
type member struct {
	node  Node    // its Parent is not used; above is the parent
	above *member // nil for a root
	below map[uuid.UUID]*member
}

// NewProviderTree returns an empty forest.
func NewProviderTree() *ProviderTree {
	return &ProviderTree{members: map[uuid.UUID]*member{}, names: map[string]*member{}}
}

// Clone returns a deep copy: a change of one of the two does not change the other.
func (t *ProviderTree) Clone() *ProviderTree {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.clone()
}

// clone is Clone for callers that hold the lock.
func (t *ProviderTree) clone() *ProviderTree {
	copied := NewProviderTree()
	copied.removed = maps.Clone(t.removed)
	for _, original := range t.walk() {
		node := original.snapshot()
		copied.attach(&member{node: node}, copied.members[node.Parent])
	}
	return copied
}

// editableCopy returns a copy that records removed providers.
func (t *ProviderTree) editableCopy() *ProviderTree {
	copied := t.Clone()
	copied.removed = map[uuid.UUID]bool{}
	return copied
}

// wasRemoved reports whether the provider was removed from this copy.
func (t *ProviderTree) wasRemoved(id uuid.UUID) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.removed[id]
}

// Exists reports whether the forest has a provider with this ref.
func (t *ProviderTree) Exists(ref string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, err := t.find(ref)
	return err == nil
}

// Provider returns a copy of a provider.
func (t *ProviderTree) Provider(ref string) (Node, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return Node{}, err
	}
	return found.snapshot(), nil
}

// UUIDs returns the providers with these refs and their descendants, or all providers without a ref. Parents come
// before their children, siblings and roots in the order of their names, and each provider once.
func (t *ProviderTree) UUIDs(refs ...string) ([]uuid.UUID, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(refs) == 0 {
		return identities(t.walk()), nil
	}
	var found []uuid.UUID
	for _, ref := range refs {
		top, err := t.find(ref)
		if err != nil {
			return nil, err
		}
		for _, id := range identities(top.walk(nil)) {
			if !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	return found, nil
}

// UUIDsInTree returns all members of the tree of a provider, the root first.
func (t *ProviderTree) UUIDsInTree(ref string) ([]uuid.UUID, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return nil, err
	}
	return identities(found.root().walk(nil)), nil
}

// Roots returns copies of the roots, sorted by name.
func (t *ProviderTree) Roots() []Node {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return snapshots(t.roots())
}

// Nodes returns copies of all providers, parents before their children.
func (t *ProviderTree) Nodes() []Node {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return snapshots(t.walk())
}

// The callers of the rest hold the lock.

// find returns the member with a ref. It parses only the two common forms of a UUID, with 36 and 32 characters.
func (t *ProviderTree) find(ref string) (*member, error) {
	if len(ref) == 36 || len(ref) == 32 {
		if id, err := uuid.Parse(ref); err == nil {
			if found := t.members[id]; found != nil {
				return found, nil
			}
		}
	}
	if found := t.names[ref]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("provider %q is not in the tree: %w", ref, ErrNotFound)
}

// attach adds a member below its parent; above is nil for a root.
func (t *ProviderTree) attach(added, above *member) {
	if added.below == nil {
		added.below = map[uuid.UUID]*member{}
	}
	added.above = above
	if above != nil {
		above.below[added.node.UUID] = added
	}
	t.members[added.node.UUID] = added
	t.names[added.node.Name] = added
	delete(t.removed, added.node.UUID)
}

// detach removes a member and its descendants from the forest.
func (t *ProviderTree) detach(top *member) {
	for _, gone := range top.walk(nil) {
		delete(t.members, gone.node.UUID)
		if t.removed != nil {
			t.removed[gone.node.UUID] = true
		}
		if t.names[gone.node.Name] == gone {
			delete(t.names, gone.node.Name)
		}
	}
	if top.above != nil {
		delete(top.above.below, top.node.UUID)
	}
}

func (t *ProviderTree) roots() []*member {
	return byName(slices.DeleteFunc(slices.Collect(maps.Values(t.members)),
		func(item *member) bool { return item.above != nil }))
}

// walk returns all members, parents before their children.
func (t *ProviderTree) walk() []*member {
	all := make([]*member, 0, len(t.members))
	for _, root := range t.roots() {
		all = root.walk(all)
	}
	return all
}

// walk appends a member and its descendants.
func (m *member) walk(to []*member) []*member {
	to = append(to, m)
	for _, child := range byName(slices.Collect(maps.Values(m.below))) {
		to = child.walk(to)
	}
	return to
}

func (m *member) root() *member {
	for m.above != nil {
		m = m.above
	}
	return m
}

// snapshot returns a deep copy of the node with its current parent.
func (m *member) snapshot() Node {
	node := m.node.clone()
	node.Parent = uuid.Nil
	if m.above != nil {
		node.Parent = m.above.node.UUID
	}
	return node
}

// clone returns a deep copy of a node.
func (n Node) clone() Node {
	n.Generation = copyOf(n.Generation)
	n.Inventories = n.Inventories.clone()
	n.Traits = slices.Clone(n.Traits)
	n.Aggregates = slices.Clone(n.Aggregates)
	return n
}

func (i Inventories) clone() Inventories {
	copied := make(Inventories, len(i))
	for class, record := range i {
		record.AllocationRatio = copyOf(record.AllocationRatio)
		record.MaxUnit = copyOf(record.MaxUnit)
		record.MinUnit = copyOf(record.MinUnit)
		record.Reserved = copyOf(record.Reserved)
		record.StepSize = copyOf(record.StepSize)
		// The server ignores it, and it could be mistaken for the generation of the node.
		record.ResourceProviderGeneration = nil
		copied[class] = record
	}
	return copied
}

func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	return new(*value)
}

func byName(members []*member) []*member {
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.node.Name, b.node.Name) })
	return members
}

func identities(members []*member) []uuid.UUID {
	ids := make([]uuid.UUID, len(members))
	for i, member := range members {
		ids[i] = member.node.UUID
	}
	return ids
}

func snapshots(members []*member) []Node {
	nodes := make([]Node, len(members))
	for i, member := range members {
		nodes[i] = member.snapshot()
	}
	return nodes
}
