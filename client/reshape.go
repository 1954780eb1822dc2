package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// reshape moves inventories and allocations in one transaction, if it was asked
// for and there is something to move.
func (f *flush) reshape() error {
	if f.allocations == nil {
		return nil
	}
	edited, err := f.editedConsumers()
	if err != nil {
		return err
	}
	inventories := f.touchedProviders(edited)
	if len(edited) == 0 && len(inventories) == 0 {
		return nil
	}
	if err := f.prepareReshape(inventories); err != nil {
		return err
	}
	if err := f.sendReshape(inventories, edited); err != nil {
		return err
	}
	for consumer := range edited {
		delete(f.cache.consumers, consumer) // its generation has moved
	}
	return f.readAfterReshape(inventories)
}

// prepareReshape writes aggregates and traits, makes the classes exist, and then adds
// the generations to the inventories.
//
// All aggregates and traits come before the reshape, not only those of new
// providers: the generations of the others move in it, too, if a consumer has
// something of them, and as they are not named in it nobody would notice that they
// had moved before. A provider that could not be given its traits must not get its
// first inventory, so then there is no reshape.
func (f *flush) prepareReshape(inventories map[uuid.UUID]ProviderInventories) error {
	bare := func(node Node) bool {
		known, _ := f.cache.node(node.UUID)
		return len(known.Inventories) == 0
	}
	var others []Node
	for _, node := range slices.Backward(f.wanted) {
		if !bare(node) {
			others = append(others, node)
		} else if err := f.write(node, f.writeAggregates, f.writeTraits); err != nil {
			return err
		}
	}
	if len(f.failures) > 0 {
		return fmt.Errorf("%w: it was not tried, because the new providers could not be prepared", ErrReshapeFailed)
	}
	for _, node := range others {
		if err := f.write(node, f.writeAggregates, f.writeTraits); err != nil {
			return err
		}
	}
	named := Inventories{}
	for id, touched := range inventories {
		known, _ := f.cache.node(id)
		touched.Generation = *known.Generation
		inventories[id] = touched
		maps.Copy(named, touched.Inventories)
	}
	if err := f.ensureClasses(named); unanswered(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: it was not tried: %w", ErrReshapeFailed, err)
	}
	return nil
}

// editedConsumers are those whose records are not as they were read, or were not
// read by this client at all: of those it cannot be told. In the copies returned
// there are neither amounts of 0 nor providers without resources.
func (f *flush) editedConsumers() (Allocations, error) {
	edited := Allocations{}
	for consumer, record := range f.allocations {
		if record == nil {
			return nil, fmt.Errorf("%w: consumer %s has no record; take it out of the map, or give it one without allocations",
				ErrReshapeFailed, consumer)
		}
		pruned := record.pruned()
		if read := f.cache.consumers[consumer]; read == nil || !read.equal(pruned) {
			edited[consumer] = pruned
		}
	}
	return edited, nil
}

// pruned is a copy without empty parts.
func (c *Consumer) pruned() *Consumer {
	copied := c.Clone()
	for _, resources := range copied.Allocations {
		maps.DeleteFunc(resources, func(_ string, amount int64) bool { return amount == 0 })
	}
	maps.DeleteFunc(copied.Allocations, func(_ uuid.UUID, resources Resources) bool { return len(resources) == 0 })
	return copied
}

func (c *Consumer) equal(other *Consumer) bool {
	return c.ProjectID == other.ProjectID && c.UserID == other.UserID && c.Type == other.Type &&
		!fieldDiffers(c.Generation, other.Generation) && !fieldDiffers(other.Generation, c.Generation) &&
		c.sameAllocations(other)
}

func (c *Consumer) sameAllocations(other *Consumer) bool {
	return maps.EqualFunc(c.Allocations, other.Allocations, func(a, b Resources) bool { return maps.Equal(a, b) })
}

// touchedProviders are those that take part in the reshape: whose inventory
// changes, who lose or gain something of an edited consumer, and who are to be
// deleted, so that nobody can be placed there any more. Others, above all sharing
// providers, whose generation moves with every claim of a whole cloud, are not
// named: whoever would write in between has to touch one of those.
func (f *flush) touchedProviders(edited Allocations) map[uuid.UUID]ProviderInventories {
	touched := map[uuid.UUID]ProviderInventories{}
	moving := f.movingProviders(edited)
	for _, node := range f.wanted {
		known, _ := f.cache.node(node.UUID)
		if moving[node.UUID] || node.Inventories.differFrom(known.Inventories) {
			touched[node.UUID] = ProviderInventories{Inventories: node.Inventories}
		}
	}
	for _, node := range f.removed {
		touched[node.UUID] = ProviderInventories{Inventories: Inventories{}}
	}
	return touched
}

// movingProviders are those of which an edited consumer has more or less than it
// had. Of a consumer that was not read that is all it has, but for what is shared.
func (f *flush) movingProviders(edited Allocations) map[uuid.UUID]bool {
	moving := map[uuid.UUID]bool{}
	for consumer, record := range edited {
		read := f.cache.consumers[consumer]
		var had map[uuid.UUID]Resources
		if read != nil {
			had = read.Allocations
		}
		for provider := range had {
			moving[provider] = moving[provider] || !maps.Equal(had[provider], record.Allocations[provider])
		}
		for provider, has := range record.Allocations {
			_, shares := f.cache.sharing[provider]
			moving[provider] = moving[provider] || !maps.Equal(had[provider], has) && (read != nil || !shares)
		}
	}
	return moving
}

// sendReshape does it, and finds out whether it was done if the answer is lost.
func (f *flush) sendReshape(inventories map[uuid.UUID]ProviderInventories, edited Allocations) error {
	err := f.Reshape(f.ctx, inventories, edited)
	if errors.Is(err, ErrOutcomeUnknown) {
		done, failed := f.reshapeDone(inventories, edited)
		switch {
		case failed != nil:
			f.cache.clear()
			return fmt.Errorf("%w; whether it was done could not be found out: %w", err, failed)
		case !done:
			f.cache.clear()
			return fmt.Errorf("%w: the answer was lost, and the server has something else: %w", ErrReshapeConflict, err)
		}
		return nil
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrConcurrentUpdate):
		f.cache.clear()
		return fmt.Errorf("%w: %w", ErrReshapeConflict, err)
	case unanswered(err):
		return err // it was not sent
	case !errors.Is(err, ErrInventoryInUse):
		f.cache.clear() // something known must be wrong, such as who exists
	}
	return fmt.Errorf("%w: %w", ErrReshapeFailed, err)
}

// reshapeDone asks the server whether everything is as it was sent.
func (f *flush) reshapeDone(inventories map[uuid.UUID]ProviderInventories, edited Allocations) (bool, error) {
	for _, id := range slices.SortedFunc(maps.Keys(inventories), compareIDs) {
		present, _, err := f.InventoryList(f.ctx, id)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil || inventories[id].Inventories.differFrom(present) {
			return false, err
		}
	}
	for _, consumer := range edited.Consumers() {
		present, err := f.AllocationList(f.ctx, consumer)
		if err != nil || !edited[consumer].sameAllocations(present) {
			return false, err
		}
	}
	return true, nil
}

// readAfterReshape learns the generations that a reshape has moved, by amounts that
// are nobody's business, and how the server has completed the inventories. Of
// providers that took no part nothing is read: to take over their generations would
// hide what somebody else has done to them since they were read.
func (f *flush) readAfterReshape(inventories map[uuid.UUID]ProviderInventories) error {
	for _, node := range f.wanted {
		sent, shaped := inventories[node.UUID]
		if !shaped {
			continue
		}
		present, generation, err := f.InventoryList(f.ctx, node.UUID)
		switch {
		case err != nil:
			f.cache.clear()
			return fmt.Errorf("the reshape is done, but what it changed could not be read: %w", err)
		case sent.Inventories.differFrom(present):
			return f.stop(node, fmt.Errorf("%w: just after the reshape", ErrUpdateConflict))
		}
		if _, err := f.cache.trees.UpdateInventory(node.UUID.String(), present, &generation); err != nil {
			return err
		}
	}
	return nil
}
