package store_test

import (
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// claimModel is a second implementation of claims, inventories and reshapes, which shares no rule with package model: the
// same rules over maps in memory. It computes the result of each write, with the first rule of several that a request violates.
type claimModel struct {
	providers map[uuid.UUID]*modelProvider
	consumers map[uuid.UUID]*modelConsumer
	classes   map[string]bool
}

type modelProvider struct {
	generation  int64
	inventories map[string]store.Inventory
}

type modelConsumer struct {
	generation int64
	taken      map[part]int64
}

// part is a class of a provider.
type part struct {
	provider uuid.UUID
	class    string
}

// clone is for writes that may fail after they have begun.
func (m *claimModel) clone() *claimModel {
	copied := &claimModel{
		providers: map[uuid.UUID]*modelProvider{}, consumers: map[uuid.UUID]*modelConsumer{}, classes: m.classes,
	}
	for id, of := range m.providers {
		copied.providers[id] = &modelProvider{generation: of.generation, inventories: maps.Clone(of.inventories)}
	}
	for id, of := range m.consumers {
		copied.consumers[id] = &modelConsumer{generation: of.generation, taken: maps.Clone(of.taken)}
	}
	return copied
}

func (m *claimModel) used(of part) (sum int64) {
	for _, consumer := range m.consumers {
		sum += consumer.taken[of]
	}
	return sum
}

func capacity(of store.Inventory) float64 {
	return float64(of.Total-of.Reserved) * of.AllocationRatio
}

// claim replaces the allocations of consumers. checked: their generations are compared.
func (m *claimModel) claim(claims []store.Claim, checked bool) store.Rule {
	if rule := m.mayClaim(claims, checked); rule != "" {
		return rule
	}
	return m.take(claims)
}

// mayClaim checks everything except the capacity.
func (m *claimModel) mayClaim(claims []store.Claim, checked bool) store.Rule {
	for _, claim := range claims {
		present := m.consumers[claim.Consumer]
		isKnown := present != nil && claim.Generation != nil && *claim.Generation == present.generation
		isNew := present == nil && claim.Generation == nil
		if checked && !isKnown && !isNew {
			return store.ConsumerGenerationConflict
		}
	}
	unknown := store.Rule("")
	for _, claim := range claims {
		for _, wanted := range claim.Allocations {
			if m.providers[wanted.Provider] == nil {
				return store.AllocationProviderNotFound
			}
			if !m.classes[wanted.Class] {
				unknown = store.ClassNotFound
			}
		}
	}
	return unknown
}

// take replaces the allocations if the capacity suffices, and raises the generations.
func (m *claimModel) take(claims []store.Claim) store.Rule {
	had, soFar := map[part]int64{}, map[part]int64{}
	for _, claim := range claims {
		if present := m.consumers[claim.Consumer]; present != nil {
			for of, amount := range present.taken {
				had[of] += amount
			}
		}
	}
	bumped := map[uuid.UUID]bool{}
	for _, claim := range claims {
		for _, wanted := range claim.Allocations {
			of := part{wanted.Provider, wanted.Class}
			inventory, exists := m.providers[of.provider].inventories[of.class]
			soFar[of] += wanted.Amount
			switch {
			case !exists:
				return store.AllocationNoInventory
			case wanted.Amount < int64(inventory.MinUnit) || wanted.Amount > int64(inventory.MaxUnit) ||
				wanted.Amount%int64(inventory.StepSize) != 0:
				return store.AllocationViolatesUnits
			case soFar[of] > had[of] && float64(m.used(of)-had[of]+soFar[of]) > capacity(inventory):
				return store.AllocationExceedsCapacity
			}
			bumped[of.provider] = true
		}
	}
	for _, claim := range claims {
		m.settle(claim, bumped)
	}
	for id := range bumped {
		m.providers[id].generation++
	}
	return ""
}

// settle writes one claim, and records the providers of a consumer that is deleted.
func (m *claimModel) settle(claim store.Claim, bumped map[uuid.UUID]bool) {
	present := m.consumers[claim.Consumer]
	if len(claim.Allocations) == 0 {
		if present != nil {
			for of := range present.taken {
				bumped[of.provider] = true
			}
		}
		delete(m.consumers, claim.Consumer)
		return
	}
	if present == nil {
		present = &modelConsumer{}
		m.consumers[claim.Consumer] = present
	}
	present.generation++
	present.taken = map[part]int64{}
	for _, wanted := range claim.Allocations {
		present.taken[part{wanted.Provider, wanted.Class}] = wanted.Amount
	}
}

// drop deletes all allocations of a consumer; the providers' generations stay.
func (m *claimModel) drop(consumer uuid.UUID) (existed bool) {
	existed = m.consumers[consumer] != nil
	delete(m.consumers, consumer)
	return existed
}

// replaceInventories is also the last step of a reshape, which does not check the reserved amount.
func (m *claimModel) replaceInventories(provider uuid.UUID, generation int64, records []store.Inventory, least float64) store.Rule {
	of := m.providers[provider]
	switch {
	case of == nil:
		return store.ProviderNotFound
	case of.generation != generation:
		return store.ProviderGenerationConflict
	}
	for _, record := range records {
		if math.Trunc(capacity(record)) < least {
			return store.InventoryOverReserved
		}
	}
	if slices.ContainsFunc(records, func(record store.Inventory) bool { return !m.classes[record.Class] }) {
		return store.ClassNotFound
	}
	return m.setInventories(provider, records)
}

func (m *claimModel) setInventories(provider uuid.UUID, records []store.Inventory) store.Rule {
	wanted := map[string]store.Inventory{}
	for _, record := range records {
		wanted[record.Class] = record
	}
	for class := range m.providers[provider].inventories {
		if _, stays := wanted[class]; !stays && m.used(part{provider, class}) > 0 {
			return store.InventoryInUse
		}
	}
	m.providers[provider].inventories = wanted
	m.providers[provider].generation++
	return ""
}

// reshape is three steps in one transaction.
func (m *claimModel) reshape(shapes []store.ReshapedProvider, claims []store.Claim) store.Rule {
	for _, shape := range shapes {
		switch of := m.providers[shape.Provider]; {
		case of == nil:
			return store.ProviderNotFound
		case of.generation != shape.Generation:
			return store.ProviderGenerationConflict
		}
	}
	if rule := m.mayClaim(claims, true); rule != "" {
		return rule
	}
	next := m.clone()
	for _, shape := range shapes {
		of := next.providers[shape.Provider]
		for _, record := range shape.Records {
			if !m.classes[record.Class] {
				return store.ClassNotFound
			}
			of.inventories[record.Class] = record
		}
		if len(shape.Records) > 0 {
			of.generation++
		}
	}
	if rule := next.take(claims); rule != "" {
		return rule
	}
	for _, shape := range shapes {
		if rule := next.setInventories(shape.Provider, shape.Records); rule != "" {
			return rule
		}
	}
	*m = *next
	return ""
}
