package candidates

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
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
	search *candidateSearch
	found  []*candidateTree
	used   usedTrees
	// count is how many candidates were yielded; seen are those that could appear again with another anchor.
	count int
	seen  map[string]bool
	made  Candidate
	// places are the indices of the providers in made.Uses; key is the buffer for the next key of seen.
	places []int
	key    []byte
}

// Close cancels a page in progress and releases the connection.
func (c *Result) Close() error {
	if sent := c.search.sent; sent != nil {
		_ = sent.Close() // its results are not needed
	}
	return c.search.snapshot.Close()
}

// All yields the candidates. A yielded candidate is valid until the next one. An error ends the sequence.
func (c *Result) All() iter.Seq2[*Candidate, error] {
	each := c.depthFirst
	if c.search.query.interleavesTrees() {
		each = c.breadthFirst
	}
	return func(yield func(*Candidate, error) bool) {
		if err := each(func(one *Candidate) bool { return yield(one, nil) }); err != nil {
			yield(nil, postgres.StreamError(c.search.ctx, err))
		}
	}
}

// depthFirst yields all candidates of one tree, then all of the next.
func (c *Result) depthFirst(yield func(*Candidate) bool) error {
	if len(c.found) == 0 {
		return nil
	}
	walk := c.search.plan.NewSearch()
	for len(c.found) > 0 {
		for _, tree := range c.found {
			walk.Reset(&tree.Tree)
			for walk.Next() {
				if !c.yieldNew(tree, walk.Chosen(), yield) {
					return nil
				}
			}
			if err := walk.Err(); err != nil {
				return err
			}
		}
		if err := c.loadTrees(); err != nil {
			return err
		}
	}
	return nil
}

// pausedSearch is a search that is paused while other trees have their turn.
type pausedSearch struct {
	tree *candidateTree
	walk *combine.Search
}

// breadthFirst yields one candidate of each tree in turn: first one of each tree as the trees arrive, up to a window of
// them, then the others of those trees.
func (c *Result) breadthFirst(yield func(*Candidate) bool) error {
	for len(c.found) > 0 {
		var round []pausedSearch
		for len(c.found) > 0 && len(round) < c.search.query.window() {
			for _, tree := range c.found {
				round = append(round, pausedSearch{tree, c.search.plan.NewSearch()})
				round[len(round)-1].walk.Reset(&tree.Tree)
			}
			fresh := round[len(round)-len(c.found):]
			going, stop, err := c.takeOneFromEach(fresh, yield)
			if stop || err != nil {
				return err
			}
			round = round[:len(round)-len(fresh)+going]
			c.found = nil
			if len(round) < c.search.query.window() {
				err = c.loadTrees()
			}
			if err != nil {
				return err
			}
		}
		for len(round) > 0 {
			going, stop, err := c.takeOneFromEach(round, yield)
			if stop || err != nil {
				return err
			}
			round = round[:going]
		}
		if c.found == nil {
			if err := c.loadTrees(); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOneFromEach yields one candidate of each search, and moves the searches that had one to the front. It returns
// their number, and whether the consumer wants no more.
func (c *Result) takeOneFromEach(round []pausedSearch, yield func(*Candidate) bool) (going int, stop bool, err error) {
	for _, one := range round {
		taken := false
		for !taken && one.walk.Next() {
			before := c.count
			if !c.yieldNew(one.tree, one.walk.Chosen(), yield) {
				return 0, true, nil
			}
			taken = c.count > before // the candidate was new
		}
		if err := one.walk.Err(); err != nil {
			return 0, false, err
		}
		if taken {
			round[going] = one
			going++
		}
	}
	return going, false, nil
}

// loadTrees gets the next trees.
func (c *Result) loadTrees() (err error) {
	c.found, err = c.search.next(max(0, c.search.query.Limit-c.count))
	return err
}

// yieldNew yields the choice of a search, unless it was yielded before. It reports whether the consumer wants more.
func (c *Result) yieldNew(tree *candidateTree, chosen []int, yield func(*Candidate) bool) bool {
	if c.wasYielded(tree, chosen) {
		return true
	}
	c.shape(tree, chosen)
	c.count++
	c.search.tally.Candidates++
	return yield(&c.made) && c.count != c.search.query.Limit
}

// wasYielded reports whether the same candidate was yielded before. Only candidates of sharing providers alone can have
// several anchors.
func (c *Result) wasYielded(tree *candidateTree, chosen []int) bool {
	c.key = c.key[:0]
	for _, place := range chosen {
		provider := &tree.Providers[place]
		if !provider.Shared {
			return false
		}
		c.key = binary.BigEndian.AppendUint64(c.key, uint64(provider.ID))
	}
	if c.seen[string(c.key)] {
		return true
	}
	c.seen[string(c.key)] = true
	return false
}

// shape writes the choice into made, and records the used trees.
func (c *Result) shape(tree *candidateTree, chosen []int) {
	c.places = c.places[:0]
	made := &c.made
	made.Uses = made.Uses[:0]
	groups := len(c.search.query.Groups)
	made.Providers = slices.Grow(made.Providers[:0], groups)[:groups]
	for i := range made.Providers {
		made.Providers[i] = made.Providers[i][:0]
	}
	for i, place := range chosen {
		want := &c.search.wants[i]
		id := tree.uuids[place]
		if mapping := &made.Providers[want.group]; !slices.Contains(*mapping, id) {
			*mapping = append(*mapping, id)
		}
		if len(want.resources) == 0 {
			continue
		}
		at := slices.Index(c.places, place)
		if at < 0 {
			at = len(c.places)
			c.places = append(c.places, place)
			made.Uses = slices.Grow(made.Uses, 1)[:at+1]
			made.Uses[at] = Use{Provider: id, Resources: made.Uses[at].Resources[:0]}
			c.used.add(&tree.Providers[place])
		}
		made.Uses[at].add(want.resources)
	}
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
