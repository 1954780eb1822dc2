package planfile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// UpdateProviderTree implements agent.Driver: it applies the plan to the tree of a host. It finds the plan of the host by
// the name or the UUID of the root. It executes a move only if the source has the class, and differs
// from the inventory to keep if there is one. It is therefore idempotent.
//
// If a move is impossible, it returns one error with all reasons. The error wraps client.ErrReshapeFailed and names
// each consumer that the plan does not cover.
func (p *Plan) UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := p.apply(tree, nodeName, allocations)
	return err
}

// apply is UpdateProviderTree, and returns its work.
func (p *Plan) apply(tree *client.ProviderTree, nodeName string, allocations client.Allocations) (*work, error) {
	root, err := tree.Provider(nodeName)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrReshapeFailed, err)
	}
	i := slices.IndexFunc(p.Hosts, func(host *Host) bool { return host.Root == root.Name || sameUUID(host.Root, root.UUID) })
	if i < 0 {
		return nil, fmt.Errorf("%w: the plan is for %s, not for %s", client.ErrReshapeFailed, strings.Join(p.Roots(), ", "), nodeName)
	}
	w := &work{host: p.Hosts[i], root: root, tree: tree, allocations: allocations}
	for _, step := range []func() error{w.createDeclared, w.findPending, w.move, w.setTraitsAndAggregates, w.remove} {
		if err := step(); err != nil {
			return nil, err
		}
		if len(w.problems) > 0 {
			return nil, fmt.Errorf("%w: %w", client.ErrReshapeFailed, errors.Join(w.problems...))
		}
	}
	return w, nil
}

// sameUUID reports whether a reference is the UUID, in any spelling.
func sameUUID(ref string, id uuid.UUID) bool {
	parsed, err := uuid.Parse(ref)
	return err == nil && parsed == id
}

// work is the execution of a plan on one tree.
type work struct {
	host        *Host
	root        client.Node
	tree        *client.ProviderTree
	allocations client.Allocations // nil: moves are not allowed
	pending     []*pendingMove
	// problems are the reasons for a failure, collected within each step.
	problems []error
}

// pendingMove is a move that is not executed yet.
type pendingMove struct {
	*Move
	source client.Node // before the move
	// destinations are sorted by name.
	destinations []client.Node
	// flows are the amounts that consumers moved.
	flows []flow
}

// flow is the amount that a consumer moved to one destination.
type flow struct {
	consumer uuid.UUID
	to       uuid.UUID
	amount   int64
}

// addProblem adds a reason for a failure.
func (w *work) addProblem(format string, values ...any) {
	w.problems = append(w.problems, fmt.Errorf(format, values...))
}

// member returns a provider of the tree of the host. A plan cannot name sharing providers and other hosts.
func (w *work) member(ref string) (node client.Node, found bool) {
	node, err := w.tree.Provider(ref)
	if err != nil {
		return node, false
	}
	around, err := w.tree.UUIDsInTree(w.root.UUID.String())
	if err != nil || !slices.Contains(around, node.UUID) {
		w.addProblem("%s is not in the tree of %s", ref, w.root.Name)
		return node, false
	}
	return node, true
}

// createDeclared creates the providers that the plan declares, parents before children.
func (w *work) createDeclared() error {
	var create func(name string) error
	create = func(name string) error {
		declared := w.host.Providers[name]
		if parent := declared.Parent; w.host.Providers[parent] != nil && !w.tree.Exists(parent) {
			if err := create(parent); err != nil {
				return err
			}
		}
		node, found := w.member(name)
		if found {
			w.compare(name, node, declared)
			return nil
		}
		if len(w.problems) > 0 || declared.Parent == "" && w.isDestination(name) {
			return nil // moveTo creates a destination
		}
		return w.create(name, "")
	}
	for _, name := range sortedKeys(w.host.Providers) {
		if err := create(name); err != nil {
			return err
		}
	}
	return nil
}

// isDestination reports whether a move has the provider as destination.
func (w *work) isDestination(name string) bool {
	return slices.ContainsFunc(w.host.Moves, func(move *Move) bool {
		_, is := move.To[name]
		return is
	})
}

// compare reports a provider whose parent or UUID differs from the plan.
func (w *work) compare(name string, node client.Node, declared *Provider) {
	if declared.UUID != nil && *declared.UUID != node.UUID {
		w.addProblem("provider %s has UUID %s, but the plan declares %s", name, node.UUID, declared.UUID)
	}
	if declared.Parent == "" {
		return
	}
	parent, found := w.member(declared.Parent)
	if !found || parent.UUID != node.Parent {
		w.addProblem("the parent of %s is not %s, as the plan declares; a plan cannot re-parent providers", name, declared.Parent)
	}
}

// create creates a provider below its declared parent, or else below the given parent, or else below the root.
func (w *work) create(name, parent string) error {
	id := uuid.Nil
	if declared := w.host.Providers[name]; declared != nil {
		if declared.UUID != nil {
			id = *declared.UUID
		}
		if declared.Parent != "" {
			parent = declared.Parent
		}
	}
	if parent == "" {
		parent = w.root.UUID.String()
	}
	if err := w.createParent(parent); err != nil {
		return err
	}
	if _, err := uuid.Parse(name); err == nil {
		w.addProblem("provider %s is not in the tree of %s; to create it, write a name instead of a UUID", name, w.root.Name)
		return nil
	}
	if _, found := w.member(parent); !found {
		w.addProblem("%s, the parent of %s, is not in the tree of %s", parent, name, w.root.Name)
		return nil
	}
	if _, err := w.tree.NewChild(name, parent, id); err != nil {
		return fmt.Errorf("%w: %w", client.ErrReshapeFailed, err)
	}
	return nil
}

// createParent creates a parent that is an undeclared destination of a move, because it must exist before its children.
// Its own parent is the source of the move.
func (w *work) createParent(parent string) error {
	i := slices.IndexFunc(w.host.Moves, func(move *Move) bool {
		_, is := move.To[parent]
		return is
	})
	if i < 0 || w.tree.Exists(parent) {
		return nil
	}
	from := w.host.Moves[i].From
	if slices.Contains(w.host.Remove, from) {
		from = ""
	}
	return w.create(parent, from)
}

// findPending sets the moves to execute. It returns client.ErrReshapeNeeded if there are any and the allocations are nil.
func (w *work) findPending() error {
	var absent []*Move
	for _, move := range w.host.Moves {
		source, found := w.member(move.From)
		switch {
		case found && w.has(source, move):
			w.pending = append(w.pending, &pendingMove{Move: move, source: source})
		case !found && !slices.Contains(w.host.Remove, move.From):
			w.addProblem("%s, the source of %s, is not in the tree of %s", move.From, move.Class, w.root.Name)
		case !w.arrived(move):
			absent = append(absent, move)
		}
	}
	for _, move := range absent {
		if len(w.pending) == 0 {
			w.addProblem("neither %s has %s nor a destination %s; check the host and the class of the move", move.From, move.Class, move.As)
		}
	}
	if len(w.problems) > 0 || len(w.pending) == 0 || w.allocations != nil {
		return nil
	}
	return fmt.Errorf("%w: %s", client.ErrReshapeNeeded, w.describeMoves())
}

// describeMoves returns the moves as text.
func (w *work) describeMoves() string {
	var sentences []string
	for _, move := range w.pending {
		sentences = append(sentences, fmt.Sprintf("%s of %s to %s", move.Class, move.source.Name, strings.Join(sortedKeys(move.To), ", ")))
	}
	return strings.Join(sentences, "; ")
}

// has reports whether the source has inventory to move.
func (w *work) has(source client.Node, move *Move) bool {
	record, has := source.Inventories[move.Class]
	if !has || move.Keep == nil {
		return has
	}
	return differs(move.Keep.inventory(), record)
}

// differs reports whether a record differs from the wanted one. It ignores fields that the wanted record omits.
func differs(wanted, present client.InventoryRecord) bool {
	return wanted.Total != present.Total || fieldDiffers(wanted.Reserved, present.Reserved) ||
		fieldDiffers(wanted.MinUnit, present.MinUnit) || fieldDiffers(wanted.MaxUnit, present.MaxUnit) ||
		fieldDiffers(wanted.StepSize, present.StepSize) || fieldDiffers(wanted.AllocationRatio, present.AllocationRatio)
}

func fieldDiffers[T comparable](wanted, present *T) bool {
	return wanted != nil && (present == nil || *wanted != *present)
}

// arrived reports whether a destination has the class.
func (w *work) arrived(move *Move) bool {
	return slices.ContainsFunc(sortedKeys(move.To), func(name string) bool {
		node, found := w.member(name)
		_, has := node.Inventories[move.As]
		return found && has
	})
}

// setTraitsAndAggregates sets traits and aggregates of providers. It ignores providers that do not exist because
// nothing moved to them.
func (w *work) setTraitsAndAggregates() error {
	var errs []error
	for _, name := range sortedKeys(w.host.Providers) {
		declared := w.host.Providers[name]
		if !w.tree.Exists(name) {
			continue
		}
		errs = append(errs, w.tree.AddTraits(name, declared.Traits...), w.tree.RemoveTraits(name, declared.WithoutTraits...),
			w.tree.AddAggregates(name, declared.Aggregates...), w.tree.RemoveAggregates(name, declared.WithoutAggregates...))
	}
	return errors.Join(errs...)
}

// remove removes the providers that the plan names, unless they have inventory or children.
func (w *work) remove() error {
	var removed []uuid.UUID
	for _, name := range w.host.Remove {
		node, found := w.member(name)
		if !found {
			continue // an earlier run has removed it
		}
		if len(node.Inventories) > 0 {
			w.addProblem("cannot remove %s: it has inventory of %s, which no move of the plan removes", name, strings.Join(sortedKeys(node.Inventories), ", "))
		}
		removed = append(removed, node.UUID)
	}
	for _, id := range removed {
		below, err := w.tree.UUIDs(id.String())
		if err != nil {
			return err
		}
		for _, id := range below {
			if node, err := w.tree.Provider(id.String()); err == nil && !slices.Contains(removed, id) {
				w.addProblem("%s is a descendant of a provider that the plan removes; add it to remove", node.Name)
			}
		}
	}
	if len(w.problems) > 0 {
		return nil
	}
	for _, id := range removed {
		if w.tree.Exists(id.String()) { // the removal of an ancestor includes its descendants
			if err := w.tree.Remove(id.String()); err != nil {
				return err
			}
		}
	}
	return nil
}
