package planfile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// move changes the inventories, then the allocations, and then checks the capacities.
func (w *work) move() error {
	if err := w.moveInventories(); err != nil || len(w.problems) > 0 {
		return err
	}
	for _, move := range w.pending {
		w.moveAllocations(move)
	}
	if len(w.problems) == 0 {
		w.checkCapacities()
	}
	return nil
}

// moveInventories removes the inventories of the sources and sets those of the destinations. It creates missing
// destinations.
func (w *work) moveInventories() error {
	seen := map[string]bool{}
	for _, move := range w.pending {
		if at := move.source.UUID.String() + " " + move.Class; seen[at] {
			w.addProblem("two moves have %s of %s as source; write one move", move.Class, move.source.Name)
		} else {
			seen[at] = true
		}
		if err := w.edit(move.source.UUID, func(has client.Inventories) {
			delete(has, move.Class)
			if move.Keep != nil {
				has[move.Class] = move.Keep.inventory()
			}
		}); err != nil {
			return err
		}
	}
	for _, move := range w.pending {
		for _, name := range sortedKeys(move.To) {
			if err := w.moveTo(move, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveTo sets the inventory of one destination.
func (w *work) moveTo(move *pendingMove, name string) error {
	node, found := w.member(name)
	if !found && len(w.problems) == 0 {
		parent := move.source.UUID.String()
		if slices.Contains(w.host.Remove, move.From) {
			parent = "" // the removal of the source includes its children
		}
		if err := w.create(name, parent); err != nil {
			return err
		}
		node, found = w.member(name)
	}
	if !found {
		return nil // the problems have the reason
	}
	if node.UUID == move.source.UUID && move.As == move.Class {
		w.addProblem("%s moves from %s to itself", move.Class, node.Name)
		return nil
	}
	if slices.ContainsFunc(w.pending, func(other *pendingMove) bool {
		return other.source.UUID == node.UUID && other.Class == move.As
	}) {
		// Load finds this only if both moves spell the provider identically.
		w.addProblem("%s moves to %s, which is the source of another move; write one move to the final destination", move.As, node.Name)
		return nil
	}
	record := move.source.Inventories[move.Class]
	if written := move.To[name]; written != nil {
		record = written.inventory()
	}
	move.destinations = append(move.destinations, node)
	return w.edit(node.UUID, func(has client.Inventories) { has[move.As] = record })
}

// edit changes the inventories of a provider.
func (w *work) edit(id uuid.UUID, change func(client.Inventories)) error {
	node, err := w.tree.Provider(id.String())
	if err != nil {
		return err
	}
	change(node.Inventories)
	_, err = w.tree.UpdateInventory(id.String(), node.Inventories, nil)
	return err
}

// sourceHolding is a consumer with its allocation of a class at a source.
type sourceHolding struct {
	consumer uuid.UUID
	amount   int64
}

// holders returns the consumers with an allocation of the class, sorted by UUID.
func (w *work) holders(provider uuid.UUID, class string) []sourceHolding {
	var all []sourceHolding
	for _, consumer := range w.allocations.Consumers() {
		if amount := w.allocations[consumer].Allocations[provider][class]; amount > 0 {
			all = append(all, sourceHolding{consumer, amount})
		}
	}
	return all
}

// moveAllocations moves the allocations of one class. It changes nothing else in the records of consumers.
func (w *work) moveAllocations(move *pendingMove) {
	all := w.holders(move.source.UUID, move.Class)
	switch {
	case move.Consumers.Spread:
		move.flows = w.spread(move, all)
	case move.Consumers.All:
		for _, sourceHolding := range all {
			move.flows = append(move.flows, flow{sourceHolding.consumer, move.destinations[0].UUID, sourceHolding.amount})
		}
	default:
		for _, sourceHolding := range all {
			move.flows = append(move.flows, w.shareOf(move, sourceHolding)...)
		}
	}
	for _, moved := range move.flows {
		record := w.allocations[moved.consumer]
		take(record, move.source.UUID, move.Class, moved.amount)
		give(record, moved.to, move.As, moved.amount)
	}
}

// shareOf returns the flows of a consumer by the list or the table of the plan.
func (w *work) shareOf(move *pendingMove, holding sourceHolding) []flow {
	if slices.Contains(move.Consumers.Only, holding.consumer) {
		return []flow{{holding.consumer, move.destinations[0].UUID, holding.amount}}
	}
	shares, known := move.Consumers.Each[holding.consumer]
	if !known {
		if move.Keep == nil {
			w.addProblem("consumer %s has %d %s of %s, but the plan has no destination for them",
				holding.consumer, holding.amount, move.Class, move.source.Name)
		}
		return nil
	}
	var flows []flow
	sum := int64(0)
	for i, name := range sortedKeys(move.To) {
		if amount := shares[name]; amount > 0 {
			flows = append(flows, flow{holding.consumer, move.destinations[i].UUID, amount})
			sum += amount
		}
	}
	if sum > holding.amount || sum < holding.amount && move.Keep == nil {
		w.addProblem("consumer %s has %d %s of %s, but the plan moves %d of them", holding.consumer, holding.amount, move.Class, move.source.Name, sum)
		return nil
	}
	return flows
}

// take subtracts an amount from an allocation. It removes empty maps, which the server rejects as invalid.
func take(record *client.Consumer, provider uuid.UUID, class string, amount int64) {
	part := record.Allocations[provider]
	if part[class] -= amount; part[class] == 0 {
		delete(part, class)
	}
	if len(part) == 0 {
		delete(record.Allocations, provider)
	}
}

// give adds an amount to an allocation.
func give(record *client.Consumer, provider uuid.UUID, class string, amount int64) {
	if record.Allocations[provider] == nil {
		record.Allocations[provider] = client.Resources{}
	}
	record.Allocations[provider][class] += amount
}

// checkCapacities compares usage and capacity of the changed inventories. The server checks them too, but its error
// cannot name the part of the plan.
func (w *work) checkCapacities() {
	checked := map[string]bool{}
	check := func(id uuid.UUID, class string, written bool) {
		if at := id.String() + " " + class; written && !checked[at] {
			checked[at] = true
			w.checkCapacity(id, class)
		}
	}
	for _, move := range w.pending {
		check(move.source.UUID, move.Class, move.Keep != nil)
		for _, to := range move.destinations {
			check(to.UUID, move.As, true)
		}
	}
}

// checkCapacity checks the units and the capacity of one inventory.
func (w *work) checkCapacity(id uuid.UUID, class string) {
	node, err := w.tree.Provider(id.String())
	if err != nil {
		w.problems = append(w.problems, err)
		return
	}
	record := node.Inventories[class]
	used := int64(0)
	var amounts []string
	for _, holder := range w.holders(id, class) {
		used += holder.amount
		amounts = append(amounts, fmt.Sprintf("%s %d", holder.consumer, holder.amount))
		if !fitsUnits(record, holder.amount) {
			w.addProblem("consumer %s would have %d %s of %s, which allows amounts from %d to %d in steps of %d", holder.consumer, holder.amount, class,
				node.Name, unit(record.MinUnit, 1), unit(record.MaxUnit, math.MaxInt32), unit(record.StepSize, 1))
		}
	}
	if limit := capacity(record); used > limit {
		w.addProblem("%s has a capacity of %d %s, but %d would be used: %s", node.Name, limit, class, used, strings.Join(amounts, ", "))
	}
}

// unit returns an optional field or its default.
func unit(field *int32, fallback int64) int64 {
	if field == nil {
		return fallback
	}
	return int64(*field)
}

// fitsUnits reports whether an amount satisfies min_unit, max_unit and step_size.
func fitsUnits(record client.InventoryRecord, amount int64) bool {
	return amount >= unit(record.MinUnit, 1) && amount <= unit(record.MaxUnit, math.MaxInt32) && amount%max(1, unit(record.StepSize, 1)) == 0
}

// capacity returns the capacity of an inventory, computed as on the server.
func capacity(record client.InventoryRecord) int64 {
	ratio := 1.0
	if record.AllocationRatio != nil {
		ratio = *record.AllocationRatio
	}
	return int64(min(float64(int64(record.Total)-unit(record.Reserved, 0))*ratio, math.MaxInt32*float64(math.MaxInt32)))
}

// space is a destination with its free capacity.
type space struct {
	id     uuid.UUID
	name   string
	record client.InventoryRecord
	free   int64
}

// spread assigns all consumers, the largest first (best fit). It assigns a consumer to the destination with the smallest
// sufficient free capacity, and divides it only if no destination suffices.
func (w *work) spread(move *pendingMove, all []sourceHolding) []flow {
	spaces := make([]*space, len(move.destinations))
	for i, to := range move.destinations {
		node, err := w.tree.Provider(to.UUID.String())
		if err != nil {
			w.problems = append(w.problems, err)
			return nil
		}
		spaces[i] = &space{node.UUID, node.Name, node.Inventories[move.As], capacity(node.Inventories[move.As])}
		for _, holder := range w.holders(node.UUID, move.As) {
			spaces[i].free -= holder.amount
		}
	}
	slices.SortStableFunc(all, func(x, y sourceHolding) int { return cmp.Compare(y.amount, x.amount) })
	var flows []flow
	for _, sourceHolding := range all {
		found, left := fit(spaces, sourceHolding)
		if left > 0 {
			w.addProblem("consumer %s has %d %s of %s, but after larger consumers there is free capacity for only %d of them on %s",
				sourceHolding.consumer, sourceHolding.amount, move.Class, move.source.Name, sourceHolding.amount-left, strings.Join(sortedKeys(move.To), ", "))
		}
		flows = append(flows, found...)
	}
	return flows
}

// fit assigns one consumer, and returns the amount that exceeds the free capacity.
func fit(spaces []*space, holding sourceHolding) (flows []flow, left int64) {
	slices.SortFunc(spaces, func(x, y *space) int { return cmp.Or(cmp.Compare(x.free, y.free), cmp.Compare(x.name, y.name)) })
	for _, to := range spaces {
		if holding.amount <= to.free && fitsUnits(to.record, holding.amount) {
			to.free -= holding.amount
			return []flow{{holding.consumer, to.id, holding.amount}}, 0
		}
	}
	left = holding.amount
	for _, to := range slices.Backward(spaces) {
		part := min(left, to.free, unit(to.record.MaxUnit, math.MaxInt32))
		part -= max(part, 0) % max(1, unit(to.record.StepSize, 1))
		if part > 0 && fitsUnits(to.record, part) {
			to.free -= part
			left -= part
			flows = append(flows, flow{holding.consumer, to.id, part})
		}
	}
	return flows, left
}
