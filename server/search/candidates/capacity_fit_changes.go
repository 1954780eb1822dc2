package candidates

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// fitSettings are the settings of an inventory.
type fitSettings = db.CapacityFitInventoriesRow

// fitChanges are the changes of a query with ids instead of names.
type fitChanges struct {
	asked []FitChange
	ids   []fitChangeIDs
	// members are the conditions of member_of, by change. They belong to one search.
	members []bits
}

// fitChangeIDs are the ids of a change. root is that of Like or of InTree, 0 for none; aggregate is -1 without MemberOf.
type fitChangeIDs struct {
	root             int64
	class, aggregate int32
}

// hasSettings reports whether any change is one of inventories.
func (c *fitChanges) hasSettings() bool {
	for i := range c.asked {
		if c.asked[i].Like == nil {
			return true
		}
	}
	return false
}

// resolve resolves the names in the snapshot of a search.
func (c *fitChanges) resolve(s *candidateSearch) error {
	classes, aggregates, providers := []string{}, []uuid.UUID{}, []uuid.UUID{}
	for i := range c.asked {
		fitChange := &c.asked[i]
		if fitChange.Like == nil {
			classes = append(classes, fitChange.Class)
		}
		for _, provider := range []*uuid.UUID{fitChange.Like, fitChange.InTree} {
			if provider != nil {
				providers = append(providers, *provider)
			}
		}
		if fitChange.MemberOf != nil {
			aggregates = append(aggregates, *fitChange.MemberOf)
		}
	}
	found, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) (db.CapacityFitNamesRow, error) {
		return s.of.queries.CapacityFitNames(ctx, to, classes, aggregates, providers)
	})
	if err != nil {
		return err
	}
	return c.take(&found)
}

// take assigns the ids. The error is one of the first change that has any.
func (c *fitChanges) take(found *db.CapacityFitNamesRow) error {
	for i := range c.asked {
		fitChange, ids := &c.asked[i], fitChangeIDs{aggregate: -1}
		sharer := ""
		if fitChange.Like == nil {
			if ids.class = take(&found.ClassIds, 1)[0]; ids.class < 0 {
				return &ChangeError{Change: i, Unknown: UnknownClass}
			}
		}
		if fitChange.Like != nil || fitChange.InTree != nil {
			if ids.root, sharer = take(&found.RootIds, 1)[0], take(&found.SharerNames, 1)[0]; ids.root < 0 {
				return &ChangeError{Change: i, Unknown: UnknownTree}
			}
		}
		if fitChange.MemberOf != nil {
			if ids.aggregate = take(&found.AggregateIds, 1)[0]; ids.aggregate < 0 {
				return &ChangeError{Change: i, Unknown: UnknownAggregate}
			}
		}
		if fitChange.Like != nil && sharer != "" {
			return &ChangeError{Change: i, Sharer: sharer}
		}
		c.ids = append(c.ids, ids)
	}
	return nil
}

// prepare lets the pages of a search tell which providers are in the aggregates of changes.
func (c *fitChanges) prepare(s *candidateSearch) {
	c.members = make([]bits, len(c.asked))
	for i := range c.ids {
		if aggregate := c.ids[i].aggregate; aggregate >= 0 {
			s.require(&c.members[i], condition{MemberOf: idList{aggregate}})
		}
	}
}

// loadSettings reads the settings of the inventories of a page, and makes the changes. copied is the copy that the page has
// instead of a tree; nil for none.
func (f *fit) loadSettings(p *page, copied *fitCopy) error {
	s := f.search
	classes, providers := []int32{}, make([]int64, len(p.providers))
	for i := range f.sums.classes {
		classes = append(classes, f.sums.classes[i].id)
	}
	for i := range p.providers {
		providers[i] = p.providers[i].id
	}
	f.settings = map[usedClass]fitSettings{}
	if len(providers) == 0 || len(classes) == 0 {
		return nil
	}
	rows, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]fitSettings, error) {
		return s.of.queries.CapacityFitInventories(ctx, to, classes, providers)
	})
	if err != nil {
		return err
	}
	for _, fitSettings := range rows {
		row, known := p.places[fitSettings.ProviderID]
		if !known {
			continue
		}
		isCopy := copied != nil && p.providers[row].root == copied.root
		isChanged := f.changes.apply(p, row, &fitSettings, isCopy, copied)
		if isChanged || isCopy {
			s.setInventory(p, row, &fitSettings, isCopy)
		}
		f.settings[usedClass{fitSettings.ProviderID, fitSettings.ClassID}] = fitSettings
	}
	return nil
}

// apply makes the changes to the settings of an inventory. A copy has those of its original up to the change that made it;
// of later ones it has those that do not name a tree.
func (c *fitChanges) apply(p *page, row int32, of *fitSettings, isCopy bool, copied *fitCopy) (isChanged bool) {
	if c == nil {
		return false
	}
	for i := range c.asked {
		fitChange, ids := &c.asked[i], &c.ids[i]
		if fitChange.Like != nil || ids.class != of.ClassID {
			continue
		}
		if ids.root != 0 && (p.providers[row].root != ids.root || isCopy && i > copied.change) {
			continue
		}
		if member := &c.members[i]; ids.aggregate >= 0 && !p.meets(row, member) {
			if root, known := p.places[p.providers[row].root]; !known || !p.meets(root, member) {
				continue
			}
		}
		isChanged = true
		if fitChange.Ratio != nil {
			of.AllocationRatio = *fitChange.Ratio
		}
		if fitChange.Reserved != nil {
			of.Reserved = min(*fitChange.Reserved, of.Total)
		}
	}
	return isChanged
}

// setInventory computes an inventory of a page from its settings, as the database computes the columns capacity and free.
// Nothing of a copy is used.
func (s *candidateSearch) setInventory(p *page, row int32, of *fitSettings, isCopy bool) {
	inventory := p.inventoryOf(row, of.ClassID)
	if isCopy {
		inventory.used = 0
	}
	inventory.capacity = math.Trunc(float64(of.Total-of.Reserved) * of.AllocationRatio)
	inventory.free = int64(max(min(float64(of.MaxUnit), inventory.capacity-float64(inventory.used)), -1<<53))
	inventory.minUnit, inventory.stepSize = of.MinUnit, of.StepSize
	for number, amount := range s.amounts {
		if amount.Class != of.ClassID {
			continue
		}
		fits := inventory.free >= amount.Least && of.MinUnit <= amount.Amount && amount.Amount%of.StepSize == 0
		word := &p.providers[row].word
		if number >= wordBits {
			word = &p.more[number/wordBits-1][row]
		}
		if word.fits &^= bit(number); fits {
			word.fits |= bit(number)
		}
	}
}

// fitCopy is a tree that a change copies: its root, and the index of the change.
type fitCopy struct {
	root   int64
	change int
}

// searchCopies searches the copies of a change. isNamed and named are the trees that the query names by in_tree: a copy is none
// of them, but it can use the sharing providers of the first one.
func (f *fit) searchCopies(place int, isNamed bool, named []int64) error {
	if f.changes.asked[place].Like == nil {
		return nil
	}
	copied := &fitCopy{root: f.changes.ids[place].root, change: place}
	if isNamed && !slices.Contains(named[min(1, len(named)):], copied.root) {
		return nil
	}
	p, err := f.readCopied(copied)
	if p == nil || err != nil {
		return err
	}
	defer p.release()
	if len(p.leads) == 0 {
		return nil // the query excludes the root
	}
	f.builder.forget()
	copies := int64(f.changes.asked[place].Copies)
	each := copies
	if f.reachesShared(p, copied.root) {
		each = 1
	}
	f.isCopy, f.builder.ownLast = true, true
	defer func() { f.isCopy, f.builder.ownLast = false, false }()
	for ; copies > 0; copies -= each {
		f.builder.forget()
		if _, err := f.searchTree(p, copied.root, each); err != nil {
			return err
		}
	}
	return nil
}

// readCopied reads a tree, and makes a copy of it: nothing is used, and the query does not name it.
func (f *fit) readCopied(copied *fitCopy) (*page, error) {
	s := f.search
	s.leads = leads{given: []int64{copied.root}, named: true, probed: true, paired: true}
	s.chosen, s.pair = nil, nil
	query := *s.query
	query.NotInTree = nil
	s.query = &query
	p, err := s.next(1)
	if p == nil || err != nil {
		return nil, err
	}
	if err := f.loadSettings(p, copied); err != nil {
		return nil, err
	}
	for i := range p.providers {
		if p.providers[i].root != copied.root {
			continue
		}
		for number := range s.conditions {
			if s.conditions[number].Root == nil {
				continue
			}
			word := &p.providers[i].word
			if number >= wordBits {
				word = &p.more[number/wordBits-1][i]
			}
			word.met &^= bit(number)
		}
		for _, class := range f.classes {
			delete(f.taken, usedClass{p.providers[i].id, class}) // of the original, which no other tree can use
		}
	}
	return p, nil
}
