package candidates

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// Candidate is one way to satisfy all groups at once.
type Candidate struct {
	// Uses are the amounts by provider, summed over the groups.
	Uses []Use
	// Providers are those that satisfy each group, in the order of the groups.
	Providers [][]uuid.UUID
}

// Use is what a candidate allocates on one provider.
type Use struct {
	Provider  uuid.UUID
	Resources []store.Amount
}

// Result streams the candidates of a Query from the database. It is not safe for concurrent use.
type Result struct {
	search  *candidateSearch
	builder treeBuilder
	// found is the page at hand.
	found *page
	// kept are all candidates, if one page had them: for each the rows of the providers for all requirements.
	kept   []int32
	isKept bool
	// keptAnchors are the roots of the trees of each.
	keptAnchors []int64
	// keptParts are the shared amounts of each, if the query can split any.
	keptParts [][]part
	used      usedTrees
	// count is how many candidates were found; seen are those that could appear again with another anchor.
	count     int
	seen      map[string]bool
	candidate Candidate
	// anchor is the root of the tree of the candidate that is passed on.
	anchor int64
	// rows are the rows of the providers in made.Uses, picks those of the providers for all requirements; key is the
	// buffer for the next key of seen.
	rows, picks []int32
	key         []byte
}

func newResult(search *candidateSearch) *Result {
	return &Result{search: search, builder: treeBuilder{search: search}}
}

// Snapshot returns the snapshot of the search, nil if one statement found all candidates.
func (c *Result) Snapshot() *postgres.Snapshot { return c.search.snapshot }

// Close cancels a page in progress and releases the connection.
func (c *Result) Close() error {
	c.search.closeSent()
	if c.found != nil && !slices.Contains(c.used.pages, c.found) {
		c.used.pages = append(c.used.pages, c.found)
	}
	for _, p := range c.used.pages {
		p.release()
	}
	c.found, c.kept, c.used = nil, nil, usedTrees{}
	if c.search.snapshot == nil {
		return nil
	}
	return c.search.snapshot.Close()
}

// All yields the candidates. A yielded candidate is valid until the next one. An error ends the sequence.
func (c *Result) All() iter.Seq2[*Candidate, error] {
	return func(yield func(*Candidate, error) bool) {
		err := c.each(func(p *page, picks []int32, parts []part) bool {
			c.shape(p, picks, parts)
			return yield(&c.candidate, nil)
		})
		if err == nil {
			err = c.search.checkGivenUp(c.count)
		}
		if err != nil {
			yield(nil, postgres.StreamError(c.search.ctx, err))
		}
	}
}

// choice receives the rows of the providers for all requirements, -1 for those with a shared amount, and the parts of
// these. It reports whether the consumer wants more.
type choice func(p *page, picks []int32, parts []part) bool

// each passes on the choices of all candidates.
func (c *Result) each(take choice) error {
	switch {
	case c.isKept:
		wants := len(c.search.wants)
		for i := range len(c.kept) / wants {
			var parts []part
			if c.keptParts != nil {
				parts = c.keptParts[i]
			}
			c.anchor = c.keptAnchors[i]
			if !take(c.found, c.kept[i*wants:(i+1)*wants], parts) {
				break
			}
		}
		return nil
	case c.search.query.interleavesTrees():
		return c.breadthFirst(take)
	default:
		return c.depthFirst(take)
	}
}

// keepAll finds all candidates in the page at hand.
func (c *Result) keepAll() error {
	p := c.found
	c.kept = make([]int32, 0, c.search.query.Limit*len(c.search.wants))
	err := c.each(func(_ *page, picks []int32, parts []part) bool {
		c.kept, c.keptAnchors = append(c.kept, picks...), append(c.keptAnchors, c.anchor)
		if len(c.search.splits) > 0 {
			c.keptParts = append(c.keptParts, slices.Clone(parts))
		}
		return true
	})
	c.found, c.isKept = p, true
	return err
}

// depthFirst yields all candidates of one tree, then all of the next.
func (c *Result) depthFirst(take choice) error {
	if c.found == nil {
		return nil
	}
	walk := c.search.newWalk()
	for c.found != nil {
		for i := range c.found.leads {
			c.builder.forget()
			c.search.unused = len(c.found.leads) - i - 1
			tree := c.builder.build(c.found, c.found.leads[i].root)
			if tree == nil {
				continue
			}
			walk.reset(tree)
			for before := c.count; !c.isLastOfTree(c.count-before) && walk.next(); {
				if !c.takeNew(walk, take) {
					return nil
				}
			}
			if walk.err != nil {
				return walk.err
			}
		}
		if done := c.found; c.search.snapshot != nil && !slices.Contains(c.used.pages, done) {
			done.release()
		}
		if err := c.loadPage(); err != nil {
			return err
		}
	}
	return nil
}

// isLastOfTree reports whether a tree has as many candidates as the query wants of each.
func (c *Result) isLastOfTree(taken int) bool {
	return c.search.query.LimitPerTree > 0 && taken >= c.search.query.LimitPerTree
}

// pausedSearch is a search that is paused while other trees have their turn, and how many candidates it had.
type pausedSearch struct {
	*treeWalk
	taken int
}

// breadthFirst yields one candidate of each tree in turn: first one of each tree as the trees arrive, up to a window of
// them, then the others of those trees.
func (c *Result) breadthFirst(take choice) error {
	for c.found != nil {
		var round []pausedSearch
		for started := 0; c.found != nil && started < c.search.query.window(); {
			paused, taken, stop, err := c.start(take)
			if stop || err != nil {
				return err
			}
			round, started = append(round, paused...), started+taken
			if err := c.loadPage(); err != nil {
				return err
			}
		}
		for len(round) > 0 {
			going, stop, err := c.takeOneFromEach(round, take)
			if stop || err != nil {
				return err
			}
			round = round[:going]
		}
	}
	return nil
}

// start yields one candidate of each tree of the page at hand, and pauses the searches of trees that may have another. taken
// is the number of trees that had one, and may have another or not. Trees of paused searches get memory of their own, the others share theirs:
// most hosts have one candidate.
func (c *Result) start(take choice) (paused []pausedSearch, taken int, stop bool, err error) {
	builder, walk := treeBuilder{search: c.search}, c.search.newWalk()
	for i := range c.found.leads {
		c.search.unused = min(c.search.unused, len(c.found.leads)-i-1)
		before := builder.used()
		tree := builder.build(c.found, c.found.leads[i].root)
		if tree == nil {
			builder.reuse(before)
			continue
		}
		walk.reset(tree)
		had, stop, err := c.takeOne(walk, take)
		if stop || err != nil {
			return nil, 0, stop, err
		}
		if !had {
			builder.reuse(before)
			continue
		}
		if taken++; walk.isLast() {
			builder.reuse(before)
		} else if !c.isLastOfTree(1) {
			kept := *tree
			walk.tree = &kept
			paused, walk = append(paused, pausedSearch{treeWalk: walk, taken: 1}), c.search.newWalk()
		}
	}
	return paused, taken, false, nil
}

// takeOne yields one candidate of a search. It reports whether there was one, and whether the consumer wants no more.
func (c *Result) takeOne(walk *treeWalk, take choice) (had, stop bool, err error) {
	for !had && walk.next() {
		before := c.count
		if !c.takeNew(walk, take) {
			return false, true, nil
		}
		had = c.count > before // the candidate was new
	}
	return had, false, walk.err
}

// takeOneFromEach yields one candidate of each search, and moves the searches that had one to the front. It returns
// their number, and whether the consumer wants no more.
func (c *Result) takeOneFromEach(round []pausedSearch, take choice) (going int, stop bool, err error) {
	for i, pausedSearch := range round {
		c.search.unused = min(c.search.unused, len(round)-i-1)
		taken, stop, err := c.takeOne(pausedSearch.treeWalk, take)
		if stop || err != nil {
			return 0, stop, err
		}
		if pausedSearch.taken++; taken && !c.isLastOfTree(pausedSearch.taken) {
			round[going] = pausedSearch
			going++
		}
	}
	return going, false, nil
}

// loadPage gets the next page. After the last one, it remembers what the search found.
func (c *Result) loadPage() (err error) {
	c.found, err = c.search.next(max(0, c.search.query.Limit-c.count))
	if c.found == nil && err == nil {
		c.search.remember()
	}
	return err
}

// takeNew passes on the choice of a search, unless it was passed on before. It reports whether the consumer wants more.
func (c *Result) takeNew(walk *treeWalk, take choice) bool {
	tree := walk.tree
	if c.wasTaken(walk) {
		return true
	}
	c.count++
	c.search.tally.Candidates++
	c.anchor = tree.Anchor
	c.picks = c.picks[:0]
	for _, place := range walk.chosen {
		row := int32(-1)
		if place >= 0 {
			row = tree.rows[place]
		}
		c.picks = append(c.picks, row)
	}
	if c.count != c.search.query.Limit {
		return take(tree.page, c.picks, walk.parts)
	}
	c.search.remember()
	take(tree.page, c.picks, walk.parts)
	return false
}

// wasTaken reports whether the same candidate was passed on before. Only candidates of sharing providers alone can have
// several anchors.
func (c *Result) wasTaken(walk *treeWalk) bool {
	c.key = c.key[:0]
	for i, place := range walk.chosen {
		if place < 0 || c.search.slots[c.search.asked.Requirements[i].Slot].exists {
			continue
		}
		provider := &walk.tree.Providers[place]
		if !provider.Shared {
			return false
		}
		c.key = binary.BigEndian.AppendUint64(c.key, uint64(provider.ID))
	}
	for _, part := range walk.parts {
		provider := &walk.tree.page.providers[part.row]
		if !c.search.isSharing(walk.tree.page, provider) {
			return false
		}
		c.key = binary.BigEndian.AppendUint64(c.key, uint64(provider.id))
		c.key = binary.BigEndian.AppendUint64(c.key, uint64(part.split))
		c.key = binary.BigEndian.AppendUint64(c.key, uint64(part.amount))
	}
	if c.seen[string(c.key)] {
		return true
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[string(c.key)] = true
	return false
}

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
