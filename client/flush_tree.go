package client

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// maxTreeProviders is the maximum number of providers in a request of TreeReplace.
const maxTreeProviders = 10_000

// treeChange is the difference of one tree, which is written with one request.
type treeChange struct {
	root uuid.UUID
	// nodes are the providers to write, with all inventories and their defaults, parents before their children.
	nodes     []Node
	removed   []Node
	consumers Allocations
}

// replaceTrees writes the differences with one request for each tree. It returns false if the rest has to be written
// step by step: the service does not have berth 1.3, a difference is in several trees, or the service rejected a request
// for a reason that the steps report for each provider. A rejected request has changed nothing.
func (f *flush) replaceTrees() (done bool, err error) {
	changes, possible, err := f.treeChanges()
	if err != nil || !possible || len(changes) == 0 || !f.has(f.ctx, berth13) {
		return false, err
	}
	for _, change := range changes {
		if done, err := f.replaceTree(change); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// treeChanges returns the differences by tree. It returns false if a request for one tree cannot express them.
func (f *flush) treeChanges() ([]*treeChange, bool, error) {
	edited := Allocations{}
	if f.allocations != nil {
		var err error
		if edited, err = f.editedConsumers(); err != nil {
			return nil, false, err
		}
	}
	changes, possible := f.nodeChanges(f.movingProviders(edited))
	for _, node := range f.removed {
		members, err := f.cache.trees.UUIDsInTree(node.UUID.String())
		if err != nil {
			return nil, false, nil
		}
		change := changeOf(&changes, members[0])
		change.removed = append(change.removed, node)
	}
	for _, change := range changes {
		parent, shares := f.cache.sharing[change.root]
		possible = possible && !(shares && parent != uuid.Nil) && len(change.nodes) <= maxTreeProviders
	}
	if !possible || f.allocations != nil && len(changes) > 1 || len(edited) > 0 && len(changes) == 0 {
		return nil, false, nil
	}
	if len(edited) > 0 {
		changes[0].consumers, possible = typedRecords(edited)
	}
	return changes, possible, nil
}

// nodeChanges returns the providers that differ, and those on which allocations change, by tree. It returns false if a
// provider gets another root.
func (f *flush) nodeChanges(moving map[uuid.UUID]bool) (changes []*treeChange, possible bool) {
	roots := map[uuid.UUID]uuid.UUID{}
	for _, node := range f.wanted {
		roots[node.UUID] = node.UUID
		if node.Parent != uuid.Nil {
			roots[node.UUID] = roots[node.Parent]
		}
		known, exists := f.cache.node(node.UUID)
		if exists && !moving[node.UUID] && !f.differs(node, known) {
			continue
		}
		if exists {
			members, err := f.cache.trees.UUIDsInTree(node.UUID.String())
			if err != nil || members[0] != roots[node.UUID] {
				return nil, false
			}
		}
		if !exists || node.Inventories.differFrom(known.Inventories) {
			node.Inventories = node.Inventories.withDefaults()
		} else {
			node.Inventories = known.Inventories
		}
		node.Generation = known.Generation // nil for a new one
		change := changeOf(&changes, roots[node.UUID])
		change.nodes = append(change.nodes, node)
	}
	return changes, true
}

// changeOf returns the change of a tree, and adds it if there is none.
func changeOf(changes *[]*treeChange, root uuid.UUID) *treeChange {
	for _, change := range *changes {
		if change.root == root {
			return change
		}
	}
	added := &treeChange{root: root}
	*changes = append(*changes, added)
	return added
}

// typedRecords returns the records with a type for those that are deleted. It returns false if the newest microversion
// cannot write them.
func typedRecords(records Allocations) (Allocations, bool) {
	version, anyType, err := versionFor(records)
	if err != nil || version != newest {
		return nil, false
	}
	typed := records.Clone()
	for _, record := range typed {
		if record.Type == "" || record.Type == NoType {
			record.Type = anyType
		}
	}
	return typed, true
}

// withDefaults returns complete records: the client then knows what the server has without reading it.
func (i Inventories) withDefaults() Inventories {
	complete := i.clone()
	for class, record := range complete {
		setDefault(&record.Reserved, 0)
		setDefault(&record.MinUnit, 1)
		setDefault(&record.MaxUnit, math.MaxInt32)
		setDefault(&record.StepSize, 1)
		setDefault(&record.AllocationRatio, 1)
		complete[class] = record
	}
	return complete
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// replaceTree sends the request of one tree. It returns false if the tree has to be written step by step.
func (f *flush) replaceTree(change *treeChange) (done bool, err error) {
	answer, err := f.TreeReplace(f.ctx, change.root, change.wanted())
	root := Node{UUID: change.root}
	if i := slices.IndexFunc(f.wanted, func(node Node) bool { return node.UUID == change.root }); i >= 0 {
		root = f.wanted[i]
	}
	switch {
	case err == nil:
		if err := f.adoptChange(change, answer); err != nil {
			f.log.LogAttrs(f.ctx, slog.LevelWarn, "the provider tree is written, and will be loaded again",
				slog.String("provider", change.root.String()), slog.Any("cause", err))
			f.forget(root)
		}
		return true, nil
	case errors.Is(err, ErrOutcomeUnknown), unanswered(err):
		if f.allocations != nil {
			f.cache.clear()
		}
		f.forget(root)
		return false, fmt.Errorf("provider %s (%s): %w", root.Name, root.UUID, err)
	case errors.Is(err, ErrConcurrentUpdate) && f.allocations != nil:
		f.cache.clear()
		return false, fmt.Errorf("%w: %w", ErrReshapeConflict, err)
	case errors.Is(err, ErrConcurrentUpdate):
		if node, found := f.conflicting(change, err); found {
			return false, f.handleFailure(node, err)
		}
	}
	f.log.LogAttrs(f.ctx, slog.LevelDebug, "writing the provider tree step by step",
		slog.String("provider", change.root.String()), slog.Any("cause", err))
	return false, nil
}

// wanted returns the request of the change. It names all properties of each provider, so that the response tells the
// generation of exactly these.
func (t *treeChange) wanted() WantedTree {
	request := WantedTree{Deleted: map[uuid.UUID]int64{}, Consumers: t.consumers}
	for _, node := range t.nodes {
		provider := WantedProvider{
			UUID: node.UUID, Name: node.Name, Generation: node.Generation, Inventories: node.Inventories,
			Traits: append([]string{}, node.Traits...), Aggregates: append([]uuid.UUID{}, node.Aggregates...),
		}
		if node.Parent != uuid.Nil {
			provider.Parent = new(node.Parent)
		}
		request.Providers = append(request.Providers, provider)
	}
	for _, node := range t.removed {
		request.Deleted[node.UUID] = *node.Generation
	}
	return request
}

// conflictingProvider finds the provider in the error of a generation conflict.
var conflictingProvider = regexp.MustCompile(`generation conflict for provider ([0-9a-f-]{36}):`)

// conflicting returns the provider whose generation was stale, if the steps would also find it stale: they compare no
// generation of a provider that is new, deleted, or only gets another name or parent.
func (f *flush) conflicting(change *treeChange, err error) (Node, bool) {
	var failed *Error
	if !errors.As(err, &failed) {
		return Node{}, false
	}
	found := conflictingProvider.FindStringSubmatch(failed.Detail)
	for _, node := range change.nodes {
		known, exists := f.cache.node(node.UUID)
		known.Name, known.Parent = node.Name, node.Parent
		if exists && len(found) == 2 && found[1] == node.UUID.String() && f.differs(node, known) {
			return node, true
		}
	}
	return Node{}, false
}

// adoptChange updates the cache after a request that was executed.
func (f *flush) adoptChange(change *treeChange, answer api.TreeChanged) error {
	for consumer := range change.consumers {
		delete(f.cache.consumers, consumer) // its generation has changed
	}
	if err := f.freeNames(change); err != nil {
		return err
	}
	for _, node := range change.nodes {
		generation := answer.ResourceProviders[node.UUID].Generation
		if generation == nil {
			return fmt.Errorf("the response does not have the generation of provider %s", node.UUID)
		}
		if err := f.adoptNode(node); err != nil {
			return err
		}
		if err := f.cache.know(node.UUID, node, *generation); err != nil {
			return err
		}
		f.cache.loaded[node.UUID] = f.now()
	}
	// Last, because a removed provider takes its descendants with it, and some may have moved away.
	for _, node := range slices.Backward(change.removed) {
		if err := f.cache.trees.Remove(node.UUID.String()); err != nil {
			return err
		}
	}
	f.cache.prune()
	return nil
}

// freeNames removes the names that the change gives to providers from their current holders: those that get another
// name, and providers of other trees, which are outdated in the cache.
func (f *flush) freeNames(change *treeChange) error {
	ids := map[uuid.UUID]bool{}
	for _, node := range change.nodes {
		ids[node.UUID] = true
	}
	for _, node := range change.nodes {
		holder, held := f.cache.named(node.Name)
		switch {
		case !held || holder.UUID == node.UUID:
		case ids[holder.UUID]:
			if err := f.cache.trees.Rename(holder.UUID.String(), "\x00"+holder.UUID.String()); err != nil {
				return err
			}
		default:
			f.cache.drop(holder.UUID)
		}
	}
	return nil
}

// adoptNode creates, renames or moves a provider in the cache.
func (f *flush) adoptNode(node Node) error {
	parent := ""
	if node.Parent != uuid.Nil {
		parent = node.Parent.String()
	}
	if _, exists := f.cache.node(node.UUID); exists {
		return errors.Join(f.cache.trees.Rename(node.UUID.String(), node.Name), f.cache.trees.Move(node.UUID.String(), parent))
	}
	if parent == "" {
		return f.cache.trees.NewRoot(node.Name, node.UUID, nil)
	}
	_, err := f.cache.trees.NewChild(node.Name, parent, node.UUID)
	return err
}
