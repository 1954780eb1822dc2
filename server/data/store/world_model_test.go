package store_test

import (
	"cmp"
	"maps"
	"math"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// worldModel is an independent implementation of all writes: model has inventories and claims, and this adds trees,
// names, traits, aggregates, classes and the owners of consumers.
type worldModel struct {
	*model
	sites  map[uuid.UUID]*site
	traits map[string]bool // custom ones that exist
	owners map[uuid.UUID]owner
}

// site is the data of a provider without its inventories.
type site struct {
	name       string
	parent     *uuid.UUID
	traits     map[string]bool
	aggregates map[uuid.UUID]bool
}

type owner struct{ project, user, kind string }

func newWorldModel() *worldModel {
	return &worldModel{
		model: &model{
			providers: map[uuid.UUID]*modelProvider{}, consumers: map[uuid.UUID]*modelConsumer{},
			classes: map[string]bool{"VCPU": true, "MEMORY_MB": true, "DISK_GB": true},
		},
		sites: map[uuid.UUID]*site{}, traits: map[string]bool{}, owners: map[uuid.UUID]owner{},
	}
}

func (w *worldModel) root(id uuid.UUID) uuid.UUID {
	for w.sites[id].parent != nil {
		id = *w.sites[id].parent
	}
	return id
}

// isBelow reports whether id is other or one of its descendants.
func (w *worldModel) isBelow(id, other uuid.UUID) bool {
	for at := &id; at != nil; at = w.sites[*at].parent {
		if *at == other {
			return true
		}
	}
	return false
}

func (w *worldModel) nameTaken(name string, by uuid.UUID) bool {
	for id, of := range w.sites {
		if of.name == name && id != by {
			return true
		}
	}
	return false
}

func (w *worldModel) createProvider(id uuid.UUID, name string, parent *uuid.UUID) store.Rule {
	switch {
	case parent != nil && w.sites[*parent] == nil:
		return store.ParentNotFound
	case w.sites[id] != nil:
		return store.ProviderUUIDTaken
	case w.nameTaken(name, id):
		return store.ProviderNameTaken
	}
	w.sites[id] = &site{name: name, parent: parent, traits: map[string]bool{}, aggregates: map[uuid.UUID]bool{}}
	w.providers[id] = &modelProvider{inventories: map[string]store.Inventory{}}
	return ""
}

func (w *worldModel) updateProvider(id uuid.UUID, change store.ProviderChange) store.Rule {
	of := w.sites[id]
	if of == nil {
		return store.ProviderNotFound
	}
	same := of.parent == nil && change.Parent == nil || of.parent != nil && change.Parent != nil && *of.parent == *change.Parent
	if moves := change.SetParent && !same; moves {
		switch {
		case change.Parent != nil && w.sites[*change.Parent] == nil:
			return store.ParentNotFound
		case of.parent != nil && !change.MayReparent && change.Parent == nil:
			return store.UnparentNotAllowed
		case of.parent != nil && !change.MayReparent:
			return store.ReparentNotAllowed
		case change.Parent != nil && w.isBelow(*change.Parent, id):
			return store.ParentCycle
		}
	}
	if w.nameTaken(change.Name, id) {
		return store.ProviderNameTaken
	}
	if of.name = change.Name; change.SetParent {
		of.parent = change.Parent
	}
	return ""
}

func (w *worldModel) deleteProvider(id uuid.UUID) store.Rule {
	if w.sites[id] == nil {
		return store.ProviderNotFound
	}
	for _, other := range w.sites {
		if other.parent != nil && *other.parent == id {
			return store.ProviderHasChildren
		}
	}
	for _, consumer := range w.consumers {
		for of := range consumer.taken {
			if of.provider == id {
				return store.ProviderHasAllocations
			}
		}
	}
	delete(w.sites, id)
	delete(w.providers, id)
	return ""
}

// mayWrite is the first check of every write to a provider; with a nil generation it compares none.
func (w *worldModel) mayWrite(id uuid.UUID, generation *int64) store.Rule {
	switch of := w.providers[id]; {
	case of == nil:
		return store.ProviderNotFound
	case generation != nil && *generation != of.generation:
		return store.ProviderGenerationConflict
	}
	return ""
}

func (w *worldModel) createInventory(id uuid.UUID, record store.Inventory, least float64) store.Rule {
	if rule := w.mayWrite(id, nil); rule != "" {
		return rule
	}
	if math.Trunc(capacity(record)) < least {
		return store.InventoryOverReserved
	}
	if _, exists := w.providers[id].inventories[record.Class]; exists {
		return store.InventoryExists
	}
	return w.putInventory(id, record)
}

func (w *worldModel) updateInventory(id uuid.UUID, generation int64, record store.Inventory, least float64) store.Rule {
	if rule := w.mayWrite(id, &generation); rule != "" {
		return rule
	}
	if math.Trunc(capacity(record)) < least {
		return store.InventoryOverReserved
	}
	if _, exists := w.providers[id].inventories[record.Class]; !exists && w.classes[record.Class] {
		return store.InventoryNotFound
	}
	return w.putInventory(id, record)
}

func (w *worldModel) putInventory(id uuid.UUID, record store.Inventory) store.Rule {
	if !w.classes[record.Class] {
		return store.ClassNotFound
	}
	w.providers[id].inventories[record.Class] = record
	w.providers[id].generation++
	return ""
}

func (w *worldModel) deleteInventory(id uuid.UUID, class string) store.Rule {
	if rule := w.mayWrite(id, nil); rule != "" {
		return rule
	}
	if _, exists := w.providers[id].inventories[class]; !exists {
		return store.InventoryNotFound
	}
	if w.used(part{id, class}) > 0 {
		return store.InventoryInUse
	}
	delete(w.providers[id].inventories, class)
	w.providers[id].generation++
	return ""
}

func (w *worldModel) clearInventories(id uuid.UUID) store.Rule {
	if rule := w.mayWrite(id, nil); rule != "" {
		return rule
	}
	return w.setInventories(id, nil)
}

func (w *worldModel) replaceTraits(id uuid.UUID, generation *int64, names []string) store.Rule {
	if rule := w.mayWrite(id, generation); rule != "" {
		return rule
	}
	wanted := map[string]bool{}
	for _, name := range names {
		if wanted[name] = true; !standardTraits[name] && !w.traits[name] {
			return store.TraitNotFound
		}
	}
	if !maps.Equal(wanted, w.sites[id].traits) {
		w.sites[id].traits = wanted
		w.providers[id].generation++
	}
	return ""
}

func (w *worldModel) replaceAggregates(id uuid.UUID, generation *int64, aggregates []uuid.UUID) store.Rule {
	if rule := w.mayWrite(id, generation); rule != "" {
		return rule
	}
	wanted := map[uuid.UUID]bool{}
	for _, aggregate := range aggregates {
		wanted[aggregate] = true
	}
	if w.sites[id].aggregates = wanted; generation != nil {
		w.providers[id].generation++
	}
	return ""
}

// noteOwners records the owners in an accepted write of claims.
func (w *worldModel) noteOwners(claims []store.Claim) {
	for _, claim := range claims {
		if w.consumers[claim.Consumer] == nil {
			delete(w.owners, claim.Consumer)
			continue
		}
		kind := cmp.Or(claim.Type, w.owners[claim.Consumer].kind, "unknown")
		w.owners[claim.Consumer] = owner{claim.ProjectID, claim.UserID, kind}
	}
}
