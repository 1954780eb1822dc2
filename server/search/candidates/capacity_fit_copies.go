package candidates

import "slices"

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
