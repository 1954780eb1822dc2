package candidates

import (
	"slices"

	"github.com/berthd/berth/server/store"
)

// shape writes the choice into made, and records the used trees.
func (c *Result) shape(p *page, picks []int32, parts []part) {
	c.rows = c.rows[:0]
	made := &c.made
	made.Uses = made.Uses[:0]
	groups := len(c.search.query.Groups)
	made.Providers = slices.Grow(made.Providers[:0], groups)[:groups]
	for i := range made.Providers {
		made.Providers[i] = made.Providers[i][:0]
	}
	for i, row := range picks {
		if want := &c.search.wants[i]; row >= 0 {
			c.use(p, want.group, row, want.resources)
		}
	}
	for _, one := range parts {
		of := &c.search.splits[one.split]
		c.use(p, c.search.wants[of.want].group, one.row, []store.Amount{{Class: of.amount.Class, Amount: one.amount}})
	}
}

// use adds what a group uses of a provider to made.
func (c *Result) use(p *page, group int, row int32, resources []store.Amount) {
	made := &c.made
	id := p.providers[row].uuid
	if mapping := &made.Providers[group]; !slices.Contains(*mapping, id) {
		*mapping = append(*mapping, id)
	}
	if len(resources) == 0 {
		return
	}
	at := slices.Index(c.rows, row)
	if at < 0 {
		at = len(c.rows)
		c.rows = append(c.rows, row)
		made.Uses = slices.Grow(made.Uses, 1)[:at+1]
		made.Uses[at] = Use{Provider: id, Resources: made.Uses[at].Resources[:0]}
		c.used.add(p, &p.providers[row], c.search)
	}
	made.Uses[at].add(resources)
}

// add adds amounts to the use of a provider.
func (u *Use) add(resources []store.Amount) {
	for _, one := range resources {
		at := slices.IndexFunc(u.Resources, func(r store.Amount) bool { return r.Class == one.Class })
		if at < 0 {
			u.Resources = append(u.Resources, one)
			continue
		}
		u.Resources[at].Amount += one.Amount
	}
}
