package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// ProviderTree is a forest of providers: the tree of a host, and beside it the
// sharing providers that the host can use, each as a root of its own. It is a
// picture on which a driver draws how its host should be. Nothing that is done to
// it reaches the server before Client.UpdateFromProviderTree compares it with what
// the server said last.
//
// A ref, in all methods, is a provider's uuid as text or its name. A uuid goes
// first where a provider is called like another one's uuid. A ref that means
// nobody is an error that wraps ErrNotFound.
//
// Names are identities, as they are on the server: no two providers of a forest
// have the same. All methods are safe for concurrent use, and what goes in or comes
// out is copied, so that nobody shares a map or a slice with a tree.
type ProviderTree struct {
	mutex   sync.Mutex
	members map[uuid.UUID]*member
	names   map[string]*member
	// removed are those that were taken out of a copy which Client handed out, so
	// that they can be told from those that came to the server after the copy was
	// made. Nil, as in every other forest: nobody notes that.
	removed map[uuid.UUID]bool
}

// member is a node with its place in the forest.
type member struct {
	node  Node    // its Parent means nothing; above does
	above *member // nil for a root
	below map[uuid.UUID]*member
}

// NewProviderTree makes an empty forest.
func NewProviderTree() *ProviderTree {
	return &ProviderTree{members: map[uuid.UUID]*member{}, names: map[string]*member{}}
}

// Clone copies deeply: whatever is done to one of the two is not seen in the
// other.
func (t *ProviderTree) Clone() *ProviderTree {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.clone()
}

// clone is Clone for those who hold the lock.
func (t *ProviderTree) clone() *ProviderTree {
	copied := NewProviderTree()
	copied.removed = maps.Clone(t.removed)
	for _, original := range t.walk() {
		node := original.snapshot()
		copied.attach(&member{node: node}, copied.members[node.Parent])
	}
	return copied
}

// handOut is a copy that notes who is removed from it.
func (t *ProviderTree) handOut() *ProviderTree {
	copied := t.Clone()
	copied.removed = map[uuid.UUID]bool{}
	return copied
}

// wasRemoved says whether the provider was taken out of this copy.
func (t *ProviderTree) wasRemoved(id uuid.UUID) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.removed[id]
}

// Exists says whether the ref means a provider.
func (t *ProviderTree) Exists(ref string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, err := t.find(ref)
	return err == nil
}

// Provider is a copy of a provider as it is now.
func (t *ProviderTree) Provider(ref string) (Node, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return Node{}, err
	}
	return found.snapshot(), nil
}

// UUIDs are the providers at and below each of the refs, or all providers if there
// is no ref. Parents stand before their children, siblings and roots are in the
// order of their names, and nobody is listed twice.
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

// UUIDsInTree are all members of the tree that the provider is in, its root first.
func (t *ProviderTree) UUIDsInTree(ref string) ([]uuid.UUID, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return nil, err
	}
	return identities(found.root().walk(nil)), nil
}

// Roots are copies of the topmost providers, by name.
func (t *ProviderTree) Roots() []Node {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return snapshots(t.roots())
}

// Nodes are copies of all providers, parents before their children.
func (t *ProviderTree) Nodes() []Node {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return snapshots(t.walk())
}

// The rest is for those who hold the lock.

// find looks a ref up. Only the two usual spellings of a uuid are taken for one.
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

// attach puts a member into its place; above is nil for a root.
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

// detach takes a member, with what is below it, out of the forest.
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
		func(one *member) bool { return one.above != nil }))
}

// walk lists everybody, parents before their children.
func (t *ProviderTree) walk() []*member {
	all := make([]*member, 0, len(t.members))
	for _, root := range t.roots() {
		all = root.walk(all)
	}
	return all
}

// walk appends a member and what is below it.
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

// snapshot copies the node deeply, with its present parent.
func (m *member) snapshot() Node {
	node := m.node.clone()
	node.Parent = uuid.Nil
	if m.above != nil {
		node.Parent = m.above.node.UUID
	}
	return node
}

// clone copies a node deeply.
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
		// The server ignores it, and it would only be mistaken for the node's.
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
	for i, one := range members {
		ids[i] = one.node.UUID
	}
	return ids
}

func snapshots(members []*member) []Node {
	nodes := make([]Node, len(members))
	for i, one := range members {
		nodes[i] = one.snapshot()
	}
	return nodes
}
