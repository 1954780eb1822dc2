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

// UpdateProviderTree implements agent.Driver: it edits the tree of a host as the plan states. It finds the plan of the
// host by the name or the UUID of the node. It executes a move only while the source has the class, or differs from the
// amount to keep, so that a plan can be executed again.
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
		return nil, fmt.Errorf("%w: the plan is for %s and says nothing of %s", client.ErrReshapeFailed, strings.Join(p.Roots(), ", "), nodeName)
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

func sameUUID(ref string, id uuid.UUID) bool {
	parsed, err := uuid.Parse(ref)
	return err == nil && parsed == id
}

// work is the execution of a plan on one tree.
type work struct {
	host        *Host
	root        client.Node
	tree        *client.ProviderTree
	allocations client.Allocations // nil: must not move
	pending     []*pendingMove
	// problems are the reasons for a failure, collected within each step.
	problems []error
}

// pendingMove is a move that is not executed yet.
type pendingMove struct {
	*Move
	source client.Node // before anything moved
	// destinations are in the order of their names.
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

func (w *work) refuse(format string, values ...any) {
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
		w.refuse("%s is in the tree of another provider than %s", ref, w.root.Name)
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
			return nil // the latter is created when something moves there
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

func (w *work) isDestination(name string) bool {
	return slices.ContainsFunc(w.host.Moves, func(move *Move) bool {
		_, is := move.To[name]
		return is
	})
}

// compare reports a provider whose parent or UUID differs from the plan.
func (w *work) compare(name string, node client.Node, declared *Provider) {
	if declared.UUID != nil && *declared.UUID != node.UUID {
		w.refuse("%s is provider %s, and the plan says %s", name, node.UUID, declared.UUID)
	}
	if declared.Parent == "" {
		return
	}
	parent, found := w.member(declared.Parent)
	if !found || parent.UUID != node.Parent {
		w.refuse("%s does not stand below %s, as the plan says; plans do not move providers", name, declared.Parent)
	}
}

// create creates a provider below its declared parent, else below the one given, else below the root.
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
	if err := w.createAbove(parent); err != nil {
		return err
	}
	if _, err := uuid.Parse(name); err == nil {
		w.refuse("provider %s is not in the tree of %s, and cannot be created without a name", name, w.root.Name)
		return nil
	}
	if _, found := w.member(parent); !found {
		w.refuse("%s, the parent of %s, is not in the tree of %s", parent, name, w.root.Name)
		return nil
	}
	if _, err := w.tree.NewChild(name, parent, id); err != nil {
		return fmt.Errorf("%w: %w", client.ErrReshapeFailed, err)
	}
	return nil
}

// createAbove creates a parent that the plan does not declare but moves inventory to: it has to exist before its
// children. Its own parent is the source of the move.
func (w *work) createAbove(parent string) error {
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

// findPending finds the moves to execute. It returns client.ErrReshapeNeeded if there are any and the allocations are
// missing.
func (w *work) findPending() error {
	var lost []*Move
	for _, move := range w.host.Moves {
		source, found := w.member(move.From)
		switch {
		case found && w.has(source, move):
			w.pending = append(w.pending, &pendingMove{Move: move, source: source})
		case !found && !slices.Contains(w.host.Remove, move.From):
			w.refuse("%s, from which %s is to move, is not in the tree of %s", move.From, move.Class, w.root.Name)
		case !w.arrived(move):
			lost = append(lost, move)
		}
	}
	for _, move := range lost {
		if len(w.pending) == 0 {
			w.refuse("%s has no %s, and no destination has %s either: the plan is for another tree or another class", move.From, move.Class, move.As)
		}
	}
	if len(w.problems) > 0 || len(w.pending) == 0 || w.allocations != nil {
		return nil
	}
	return fmt.Errorf("%w: %s", client.ErrReshapeNeeded, w.describeMoves())
}

// describeMoves describes the moves for the log.
func (w *work) describeMoves() string {
	var sentences []string
	for _, move := range w.pending {
		sentences = append(sentences, fmt.Sprintf("%s of %s to %s", move.Class, move.source.Name, strings.Join(sortedKeys(move.To), ", ")))
	}
	return strings.Join(sentences, "; ")
}

// has reports whether the source still has the inventory to move.
func (w *work) has(source client.Node, move *Move) bool {
	record, has := source.Inventories[move.Class]
	if !has || move.Keep == nil {
		return has
	}
	return differs(move.Keep.inventory(), record)
}

// differs reports whether a record differs from the wanted one. The service chooses the values of missing fields.
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
	var wrong []error
	for _, name := range sortedKeys(w.host.Providers) {
		declared := w.host.Providers[name]
		if !w.tree.Exists(name) {
			continue
		}
		wrong = append(wrong, w.tree.AddTraits(name, declared.Traits...), w.tree.RemoveTraits(name, declared.WithoutTraits...),
			w.tree.AddAggregates(name, declared.Aggregates...), w.tree.RemoveAggregates(name, declared.WithoutAggregates...))
	}
	return errors.Join(wrong...)
}

// remove removes the providers that the plan names, unless they have inventory or children.
func (w *work) remove() error {
	var gone []uuid.UUID
	for _, name := range w.host.Remove {
		node, found := w.member(name)
		if !found {
			continue // it was removed before
		}
		if len(node.Inventories) > 0 {
			w.refuse("%s cannot be removed: it has %s, which no move takes away", name, strings.Join(sortedKeys(node.Inventories), ", "))
		}
		gone = append(gone, node.UUID)
	}
	for _, id := range gone {
		below, err := w.tree.UUIDs(id.String())
		if err != nil {
			return err
		}
		for _, one := range below {
			if node, err := w.tree.Provider(one.String()); err == nil && !slices.Contains(gone, one) {
				w.refuse("%s is below a provider that the plan removes; remove it as well", node.Name)
			}
		}
	}
	if len(w.problems) > 0 {
		return nil
	}
	for _, id := range gone {
		if w.tree.Exists(id.String()) { // not yet with the one above it
			if err := w.tree.Remove(id.String()); err != nil {
				return err
			}
		}
	}
	return nil
}
