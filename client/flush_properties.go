package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// customPrefix begins the names of traits and resource classes that have to be created before use.
const customPrefix = "CUSTOM_"

// writeAll writes the properties that differ, children before parents. A provider without inventory gets aggregates and
// traits first: until it has an inventory, no claim can select it with missing traits.
func (f *flush) writeAll() error {
	for _, node := range slices.Backward(f.wanted) {
		if slices.ContainsFunc(f.broken, func(item Node) bool { return item.UUID == node.UUID }) {
			continue // it failed before the reshape
		}
		steps := []func(Node) error{f.writeInventory, f.writeAggregates, f.writeTraits}
		if known, _ := f.cache.node(node.UUID); len(known.Inventories) == 0 {
			steps = []func(Node) error{f.writeAggregates, f.writeTraits, f.writeInventory}
		}
		if err := f.write(node, steps...); err != nil {
			return err
		}
	}
	return nil
}

// write executes the steps of one provider up to the first that fails. Each uses the generation after the previous one.
func (f *flush) write(node Node, steps ...func(Node) error) error {
	for _, step := range steps {
		if err := step(node); err != nil {
			return f.handleFailure(node, err)
		}
	}
	return nil
}

func (f *flush) writeInventory(node Node) error {
	known, _ := f.cache.node(node.UUID)
	if !node.Inventories.differFrom(known.Inventories) {
		return nil
	}
	if err := f.ensureClasses(node.Inventories); err != nil {
		return err
	}
	written, generation, err := f.InventoryReplace(f.ctx, node.UUID, *known.Generation, node.Inventories)
	if errors.Is(err, ErrOutcomeUnknown) {
		lost := err
		written, generation, err = f.InventoryList(f.ctx, node.UUID)
		err = settled(lost, err, !node.Inventories.differFrom(written) && generation == *known.Generation+1)
	}
	if err != nil {
		return err
	}
	_, err = f.cache.trees.UpdateInventory(node.UUID.String(), written, &generation)
	return err
}

func (f *flush) writeAggregates(node Node) error {
	known, _ := f.cache.node(node.UUID)
	if slices.Equal(node.Aggregates, known.Aggregates) {
		return nil
	}
	written, generation, err := f.ProviderAggregateReplace(f.ctx, node.UUID, *known.Generation, node.Aggregates)
	if errors.Is(err, ErrOutcomeUnknown) {
		lost := err
		written, generation, err = f.ProviderAggregateList(f.ctx, node.UUID)
		err = settled(lost, err, slices.Equal(node.Aggregates, sortedIDs(written)) && generation == *known.Generation+1)
	}
	if err != nil {
		return err
	}
	_, err = f.cache.trees.UpdateAggregates(node.UUID.String(), written, &generation)
	return err
}

// writeTraits also writes an empty list with PUT, because the response to DELETE lacks the generation.
func (f *flush) writeTraits(node Node) error {
	known, _ := f.cache.node(node.UUID)
	if slices.Equal(node.Traits, known.Traits) {
		return nil
	}
	if err := f.ensureTraits(node.Traits); err != nil {
		return err
	}
	written, generation, err := f.ProviderTraitReplace(f.ctx, node.UUID, *known.Generation, node.Traits)
	if errors.Is(err, ErrOutcomeUnknown) {
		lost := err
		written, generation, err = f.ProviderTraitList(f.ctx, node.UUID)
		err = settled(lost, err, slices.Equal(node.Traits, sortedNames(written)) && generation == *known.Generation+1)
	}
	if err != nil {
		return err
	}
	_, err = f.cache.trees.UpdateTraits(node.UUID.String(), written, &generation)
	return err
}

// settled returns the error of a write whose response was lost, after the state on the server was read: nil if it is
// the written one, otherwise a conflict. A write increments the generation by one. A higher generation means that
// another client has written too, and that its change has not been read.
func settled(lost, failed error, same bool) error {
	switch {
	case failed != nil:
		return fmt.Errorf("%w; cannot read whether the server executed it: %w", lost, failed)
	case !same:
		return fmt.Errorf("%w: the response to a write was lost, and the state on the server differs: %w", ErrUpdateConflict, lost)
	}
	return nil
}

// ensureClasses creates the custom classes of which no cached provider has an inventory.
func (f *flush) ensureClasses(inventories Inventories) error {
	var wanted, present []string
	for class := range inventories {
		if strings.HasPrefix(class, customPrefix) {
			wanted = append(wanted, class)
		}
	}
	for _, node := range f.cache.trees.Nodes() {
		for class := range node.Inventories {
			present = append(present, class)
		}
	}
	for _, class := range missing(wanted, present) {
		if err := f.ResourceClassEnsure(f.ctx, class); err != nil {
			return fmt.Errorf("resource class %s: %w", class, err)
		}
	}
	return nil
}

// ensureTraits creates the custom traits that no cached provider has. It lists the existing ones first, unless there is
// only one to create.
func (f *flush) ensureTraits(traits []string) error {
	var wanted, present []string
	for _, trait := range traits {
		if strings.HasPrefix(trait, customPrefix) {
			wanted = append(wanted, trait)
		}
	}
	for _, node := range f.cache.trees.Nodes() {
		present = append(present, node.Traits...)
	}
	unknown := missing(wanted, present)
	if len(unknown) > 1 {
		existing, err := f.TraitList(f.ctx, TraitFilter{Name: "in:" + strings.Join(unknown, ",")})
		if err != nil {
			return fmt.Errorf("traits %q: %w", unknown, err)
		}
		unknown = missing(unknown, existing)
	}
	for _, trait := range unknown {
		if err := f.TraitEnsure(f.ctx, trait); err != nil {
			return fmt.Errorf("trait %s: %w", trait, err)
		}
	}
	return nil
}
