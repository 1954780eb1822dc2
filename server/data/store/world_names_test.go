package store_test

import (
	"maps"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// standardTraits are some traits that exist from the beginning.
var standardTraits = map[string]bool{"HW_CPU_X86_VMX": true, "HW_CPU_X86_AVX2": true, "MISC_SHARES_VIA_AGGREGATE": true}

func (w *worldModel) deleteTrait(name string) store.Rule {
	switch {
	case standardTraits[name]:
		return store.TraitStandard
	case !w.traits[name]:
		return store.TraitNotFound
	}
	for _, of := range w.sites {
		if of.traits[name] {
			return store.TraitInUse
		}
	}
	delete(w.traits, name)
	return ""
}

func isCustomClass(name string) bool { return len(name) > 7 && name[:7] == "CUSTOM_" }

func (w *worldModel) deleteClass(name string) store.Rule {
	switch {
	case !w.classes[name]:
		return store.ClassNotFound
	case !isCustomClass(name):
		return store.ClassStandard
	}
	for _, of := range w.providers {
		if _, has := of.inventories[name]; has {
			return store.ClassInUse
		}
	}
	delete(w.classes, name)
	return ""
}

// renameClass keeps the inventories and allocations of the class.
func (w *worldModel) renameClass(name, newName string) store.Rule {
	switch {
	case !w.classes[name]:
		return store.ClassNotFound
	case !isCustomClass(name):
		return store.ClassStandard
	case name != newName && w.classes[newName]:
		return store.ClassNameTaken
	}
	delete(w.classes, name)
	w.classes[newName] = true
	for _, of := range w.providers {
		if record, has := of.inventories[name]; has {
			delete(of.inventories, name)
			record.Class = newName
			of.inventories[newName] = record
		}
	}
	for _, consumer := range w.consumers {
		taken := map[part]int64{}
		for of, amount := range consumer.taken {
			if of.class == name {
				of.class = newName
			}
			taken[of] = amount
		}
		consumer.taken = taken
	}
	return ""
}

// usages sums the allocations of the consumers of a project; user and kind empty: any.
func (w *worldModel) usages(project, user, kind string, byType bool) map[[2]string]store.Usage {
	sums, counted := map[[2]string]store.Usage{}, map[string]map[uuid.UUID]bool{}
	for id, consumer := range w.consumers {
		of := w.owners[id]
		if of.project != project || user != "" && of.user != user || kind != "" && of.kind != kind {
			continue
		}
		group := "all"
		if byType {
			group = of.kind
		}
		if counted[group] == nil {
			counted[group] = map[uuid.UUID]bool{}
		}
		counted[group][id] = true
		for at, amount := range consumer.taken {
			sum := sums[[2]string{group, at.class}]
			sum.ConsumerType, sum.Class, sum.Used = group, at.class, sum.Used+amount
			sums[[2]string{group, at.class}] = sum
		}
	}
	for key, sum := range maps.Clone(sums) {
		sum.ConsumerCount = int64(len(counted[key[0]]))
		sums[key] = sum
	}
	return sums
}
