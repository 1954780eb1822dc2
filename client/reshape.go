package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// reshape changes inventories and allocations in one transaction, if the caller passed allocations and something
// differs.
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
		delete(f.cache.consumers, consumer) // the reshape has changed its generation
	}
	return f.readAfterReshape(inventories)
}

// prepareReshape writes aggregates and traits, creates the resource classes, and then adds the generations to the
// inventories.
//
// It writes the aggregates and traits of all providers before the reshape, not only those of new ones. The reshape also
// changes generations of providers that it does not name, if a consumer has allocations on them, so later writes could
// not detect an earlier change. A provider without its traits must not get its first inventory, so a failure for one
// without inventory prevents the reshape.
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
		return fmt.Errorf("%w: not sent, because aggregates or traits of new providers could not be written", ErrReshapeFailed)
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
		return fmt.Errorf("%w: not sent: %w", ErrReshapeFailed, err)
	}
	return nil
}

// editedConsumers returns copies of the records that differ from those read, and of records that this client has not
// read. The copies contain neither amounts of 0 nor providers without resources.
func (f *flush) editedConsumers() (Allocations, error) {
	edited := Allocations{}
	for consumer, record := range f.allocations {
		if record == nil {
			return nil, fmt.Errorf("%w: consumer %s has no record; remove it from the map, or pass a record without allocations",
				ErrReshapeFailed, consumer)
		}
		pruned := record.pruned()
		if read := f.cache.consumers[consumer]; read == nil || !read.equal(pruned) {
			edited[consumer] = pruned
		}
	}
	return edited, nil
}

// pruned returns a copy without amounts of 0 and providers without resources.
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

// touchedProviders returns the providers that the reshape names: those with changed inventories, those with changed
// allocations of an edited consumer, and those to delete, whose inventories it removes so that no claim succeeds there.
// It names no others, above all no sharing providers, whose generation changes with every claim in the cloud. A
// conflicting writer has to change one of the named ones.
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

// movingProviders returns the providers on which the allocations of an edited consumer change. For a consumer that was
// not read these are all of its providers except sharing ones.
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

// sendReshape sends the reshape. If the response is lost, it reads whether the server executed it.
func (f *flush) sendReshape(inventories map[uuid.UUID]ProviderInventories, edited Allocations) error {
	err := f.Reshape(f.ctx, inventories, edited)
	if errors.Is(err, ErrOutcomeUnknown) {
		done, failed := f.reshapeDone(inventories, edited)
		switch {
		case failed != nil:
			f.cache.clear()
			return fmt.Errorf("%w; cannot read whether the server executed it: %w", err, failed)
		case !done:
			f.cache.clear()
			return fmt.Errorf("%w: the response was lost, and the state on the server differs: %w", ErrReshapeConflict, err)
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
		f.cache.clear() // the cache must be stale, for example about which providers exist
	}
	return fmt.Errorf("%w: %w", ErrReshapeFailed, err)
}

// reshapeDone reports whether the inventories and allocations on the server are those sent.
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

// readAfterReshape reads the new generations, which clients must not compute, and the inventories with the defaults of
// the server. It does not read providers that the reshape did not name: their new generations would hide concurrent
// changes by other clients.
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
			return fmt.Errorf("the reshape is done, but the changed inventories cannot be read: %w", err)
		case sent.Inventories.differFrom(present):
			return f.handleFailure(node, fmt.Errorf("%w: directly after the reshape", ErrUpdateConflict))
		}
		if _, err := f.cache.trees.UpdateInventory(node.UUID.String(), present, &generation); err != nil {
			return err
		}
	}
	return nil
}
