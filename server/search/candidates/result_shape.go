package candidates

import (
	"slices"

	"github.com/berthd/berth/server/data/store"
)

// shape writes the choice into made, and records the used trees.
func (c *Result) shape(p *page, picks []int32, parts []part) {
	c.rows = c.rows[:0]
	candidate := &c.candidate
	candidate.Uses = candidate.Uses[:0]
	groups := len(c.search.query.Groups)
	candidate.Providers = slices.Grow(candidate.Providers[:0], groups)[:groups]
	for i := range candidate.Providers {
		candidate.Providers[i] = candidate.Providers[i][:0]
	}
	for i, row := range picks {
		if want := &c.search.wants[i]; row >= 0 {
			c.use(p, want.group, row, want.resources)
		}
	}
	for _, part := range parts {
		of := &c.search.splits[part.split]
		c.use(p, c.search.wants[of.want].group, part.row, []store.Amount{{Class: of.amount.Class, Amount: part.amount}})
	}
}

// use adds what a group uses of a provider to made.
func (c *Result) use(p *page, group int, row int32, resources []store.Amount) {
	candidate := &c.candidate
	id := p.providers[row].uuid
	if mapping := &candidate.Providers[group]; !slices.Contains(*mapping, id) {
		*mapping = append(*mapping, id)
	}
	if len(resources) == 0 {
		return
	}
	at := slices.Index(c.rows, row)
	if at < 0 {
		at = len(c.rows)
		c.rows = append(c.rows, row)
		candidate.Uses = slices.Grow(candidate.Uses, 1)[:at+1]
		candidate.Uses[at] = Use{Provider: id, Resources: candidate.Uses[at].Resources[:0]}
		c.used.add(p, &p.providers[row], c.search)
	}
	candidate.Uses[at].add(resources)
}

// add adds amounts to the use of a provider.
func (u *Use) add(resources []store.Amount) {
	for _, resource := range resources {
		at := slices.IndexFunc(u.Resources, func(r store.Amount) bool { return r.Class == resource.Class })
		if at < 0 {
			u.Resources = append(u.Resources, resource)
			continue
		}
		u.Resources[at].Amount += resource.Amount
	}
}
