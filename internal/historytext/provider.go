package historytext

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// providers returns the lines of changed providers in the order of their names, and those of providers of which only the generation has
// changed.
func (t *Texts) providers(changes map[string]api.HistoryProviderChange) (lines, raised []string) {
	type named struct {
		name string
		id   uuid.UUID
	}
	var all []named
	for key := range changes {
		if id, err := uuid.Parse(key); err == nil {
			all = append(all, named{t.providerName(id), id})
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		return slices.Compare([]string{a.name, a.id.String()}, []string{b.name, b.id.String()})
	})
	for _, provider := range all {
		change := changes[provider.id.String()]
		if text := t.providerLine(provider.id.String(), provider.name, change); text != "" {
			lines = append(lines, text)
		} else if change.After != nil && change.After.Generation != nil {
			raised = append(raised, fmt.Sprintf("%s: generation %d", t.provider(provider.id), *change.After.Generation))
		}
	}
	return lines, raised
}

// providerLine returns the line of a provider; empty if only the generation has changed.
func (t *Texts) providerLine(key, name string, change api.HistoryProviderChange) string {
	before, after := change.Before, change.After
	head := "provider "
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		head += t.mark("provider", key, t.nameOr(after.Name, name)) + " created"
		if after.ParentProviderUUID != nil {
			head += " below " + t.provider(*after.ParentProviderUUID)
		}
		return line(head, t.parts(&api.HistoryProviderPart{}, after))
	case after == nil:
		return head + t.mark("provider", key, t.nameOr(before.Name, name)) + " deleted"
	}
	head += t.mark("provider", key, t.nameOr(after.Name, name))
	place := t.place(before, after)
	if before.Name != nil {
		if place != "" {
			place = " and" + place
		}
		place = " renamed from " + *before.Name + place
	}
	parts := t.parts(before, after)
	if place != "" {
		return line(head+place, parts)
	}
	if len(parts) == 0 {
		return ""
	}
	return line(t.mark("provider", key, name), parts)
}

func (t *Texts) nameOr(name *string, known string) string {
	if name == nil {
		return known
	}
	return *name
}

// place returns where a provider was moved; empty if it was not, and its root only because an ancestor was moved.
func (t *Texts) place(before, after *api.HistoryProviderPart) string {
	from, to := before.ParentProviderUUID, after.ParentProviderUUID
	switch {
	case from != nil && to != nil:
		return " moved from " + t.provider(*from) + " to " + t.provider(*to)
	case to != nil:
		return " moved below " + t.provider(*to)
	case from != nil:
		return " moved from " + t.provider(*from) + " to the root of a tree"
	case before.RootProviderUUID != nil && after.RootProviderUUID != nil:
		return " moved with its tree from " + t.provider(*before.RootProviderUUID) + " to " + t.provider(*after.RootProviderUUID)
	}
	return ""
}

// parts returns the changed inventories, traits and aggregates.
func (t *Texts) parts(before, after *api.HistoryProviderPart) (parts []string) {
	both := maps.Clone(before.Inventories)
	if both == nil {
		both = map[string]api.Inventory{}
	}
	maps.Copy(both, after.Inventories)
	head := "inventory "
	for _, class := range sortedKeys(both) {
		if text := t.inventory(class, before.Inventories, after.Inventories); text != "" {
			parts = append(parts, head+text)
			head = ""
		}
	}
	if names := signed(" +", after.Traits) + signed(" "+t.minus(), before.Traits); names != "" {
		parts = append(parts, "traits"+names)
	}
	if names := signed(" +", t.aggregates(after.Aggregates)) + signed(" "+t.minus(), t.aggregates(before.Aggregates)); names != "" {
		parts = append(parts, "aggregates"+names)
	}
	return parts
}

func (t *Texts) aggregates(ids []uuid.UUID) (names []string) {
	for _, id := range ids {
		names = append(names, t.nameIn(t.Aggregates, id))
	}
	slices.Sort(names)
	return names
}

// inventoryFields are the fields of an inventory with their defaults.
var inventoryFields = []struct {
	name     string
	value    func(api.Inventory) float64
	fallback float64
}{
	{"total", func(of api.Inventory) float64 { return float64(of.Total) }, 0},
	{"reserved", func(of api.Inventory) float64 { return float64(of.Reserved) }, 0},
	{"min_unit", func(of api.Inventory) float64 { return float64(of.MinUnit) }, 1},
	{"max_unit", func(of api.Inventory) float64 { return float64(of.MaxUnit) }, math.MaxInt32},
	{"step_size", func(of api.Inventory) float64 { return float64(of.StepSize) }, 1},
	{"allocation_ratio", func(of api.Inventory) float64 { return of.AllocationRatio }, 1},
}

// inventory returns an inventory of a class: of a new one all fields without their defaults, and of others those that have changed.
func (t *Texts) inventory(class string, before, after map[string]api.Inventory) string {
	was, existed := before[class]
	is, exists := after[class]
	if !exists {
		return t.minus() + class
	}
	text := class
	if !existed {
		text = "+" + class
	}
	for _, field := range inventoryFields {
		from, to := field.value(was), field.value(is)
		switch {
		case !existed && to != field.fallback:
			text += " " + field.name + " " + number(to)
		case existed && from != to:
			text += fmt.Sprintf(" %s %s %s %s", field.name, number(from), t.arrow(), number(to))
		}
	}
	if text == class {
		return ""
	}
	return text
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
