package console

import (
	"context"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// fitAll is the number of members at which the search for all of them ends: the maximum of the API.
const fitAll = 1_000_000

// fitView is how often a shape fits, and what it uses.
type fitView struct {
	Now, Then, EndsFirst string
	Change               string // the address of the page that changes something
	Incomplete           bool
	Trees                api.CapacityFitTrees
	Table                Table
}

// fit asks how often a shape fits, before and after changes. Nothing is written.
func (v *visit) fit(ctx context.Context, shape asked, changes []client.CapacityChange) (fitView, error) {
	found, err := v.c.api.CapacityFit(ctx, client.CapacityFitQuery{Query: shape.Query, Count: fitAll, Changes: changes})
	view := fitView{Now: fitText(found.Fit, found.Exact, found.AtMost), Trees: found.Trees, Incomplete: found.Stopped != "all"}
	if found.Before != nil {
		view.Now, view.Then = fitText(found.Before.Fit, found.Before.Exact, found.Before.AtMost), view.Now
	}
	if found.EndsFirst != nil {
		view.EndsFirst = *found.EndsFirst
	}
	known := func(class string, value *int64) Cell {
		if value == nil {
			return figure(none)
		}
		return figure(amount(class, *value))
	}
	view.Table = Table{Caption: "Classes of the shape", Heads: heads("Class", "#Each needs", "#Free", "#Left over", "#Enough for")}
	for _, unit := range shape.Units {
		class, capacityFitClass := unit.Class, found.Resources[unit.Class]
		view.Table.Rows = append(view.Table.Rows, []Cell{
			linked(class, v.href("/classes/"+class)), figure(amount(class, capacityFitClass.Amount)), known(class, capacityFitClass.Free), known(class, capacityFitClass.Stranded), known("", capacityFitClass.Limit),
		})
	}
	return view, err
}

// whatIf shows how often a shape would fit with more hosts, or with other settings of a class.
func (v *visit) whatIf() error {
	shape := v.shape()
	changes, err := v.changes()
	if err != nil {
		return err
	}
	if shape.Text != "" && len(v.faults) == 0 {
		card := v.card("fits", "How often "+shape.Text+" fits", func(ctx context.Context) (*content, error) {
			view, err := v.fit(ctx, shape, changes)
			return &content{Fit: &view}, err
		})
		if err := v.wait(); err != nil {
			return err
		}
		v.frame.AsOf = card.AsOf
	}
	var inputs []Input
	for _, input := range []Input{
		{Name: "shape", Label: "Shape", List: "shapes", Placeholder: "VCPU:4,MEMORY_MB:8192", Hint: "a shape with a name, resources, or a query of allocation candidates"},
		{Name: "like", Label: "Hosts like", Placeholder: "name or uuid", Hint: "copies of the tree of this provider, with nothing used"},
		{Name: "count", Label: "How many", Placeholder: "10"},
		{Name: "class", Label: "Class", Placeholder: "VCPU", Hint: "for the settings below, on all providers with this class"},
		{Name: "allocation_ratio", Label: "Allocation ratio", Placeholder: "4.0"},
		{Name: "reserved", Label: "Reserved", Placeholder: "0"},
	} {
		inputs = append(inputs, v.input(input))
	}
	v.head("What if", "capacity", v.planPage(inputs...), Link{Text: "Capacity", Href: v.href("/capacity")}, Link{Text: "What if"})
	return nil
}

// changes returns the changes of the address: more hosts, and other settings of a class.
func (v *visit) changes() (changes []client.CapacityChange, err error) {
	count, ratio, reserved := v.figure("count"), v.figure("allocation_ratio"), v.figure("reserved")
	like, err := v.providerNamed("like")
	switch {
	case err != nil:
		return nil, err
	case like != uuid.Nil && count != nil:
		changes = append(changes, client.CapacityChange{Like: &like, Count: int(*count)})
	case v.query("like") != "" && v.query("count") == "":
		v.fault("count", "More hosts need their number, too.")
	case v.query("like") == "" && count != nil:
		v.fault("like", "More hosts need a provider that they are like, too.")
	}
	if ratio == nil && reserved == nil {
		return changes, nil
	}
	change := client.CapacityChange{Class: v.query("class"), AllocationRatio: ratio}
	if reserved != nil {
		change.Reserved = new(int64(*reserved))
	}
	if change.Class == "" {
		v.fault("class", "Name the class whose allocation ratio or reserved amount changes.")
	}
	return append(changes, change), nil
}

// figure returns a parameter as a number; nil without one.
func (v *visit) figure(name string) *float64 {
	text := v.query(name)
	if text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value < 1e9) || name != "allocation_ratio" && value != math.Trunc(value) {
		v.fault(name, "%q is not a number that %s can be.", text, name)
		return nil
	}
	return &value
}

// providerNamed returns the UUID of the provider that a parameter names, by its UUID or name. It is uuid.Nil without one,
// or with an unknown name, which is a fault of the field.
func (v *visit) providerNamed(name string) (uuid.UUID, error) {
	text := v.query(name)
	if id, err := uuid.Parse(text); err == nil || text == "" {
		return id, nil
	}
	found, err := v.c.api.ProviderList(v.ctx(), client.ProviderFilter{Name: text})
	if err != nil || len(found) == 0 {
		v.fault(name, "No provider has the name %q.", text)
		return uuid.Nil, err
	}
	return found[0].UUID, nil
}
