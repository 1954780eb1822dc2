package store

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/server/combine"
)

// CandidateQuery is a question for allocation candidates: what is wanted, in
// groups, and how the groups relate (the wire contract, section CANDIDATES).
type CandidateQuery struct {
	// Groups are in the order of their first appearance in the query string.
	Groups []CandidateGroup
	// Isolate: no two suffixed groups on one provider.
	Isolate bool
	// Subtrees are sets of places in Groups: of the providers that satisfy a set,
	// one is an ancestor of all others.
	Subtrees [][]int
	// RootRequired and RootForbidden are traits of the anchor.
	RootRequired, RootForbidden []string
	// OnePerTree drops candidates that use two providers of one tree (below 1.29).
	OnePerTree bool
	// Limit ends the answer after so many candidates; 0: never.
	Limit int
	// BreadthFirst takes one candidate of each tree in turn, instead of all of one
	// tree and then all of the next.
	BreadthFirst bool
	// Randomize shuffles trees, and the candidates of each. With a limit the trees that
	// are looked at together also take turns: a sample of one tree would be none.
	Randomize bool
}

// spreads tells whether trees take turns.
func (q *CandidateQuery) spreads() bool { return q.BreadthFirst || q.Randomize && q.Limit > 0 }

// window is how many trees take turns, at least: breadth first as many as there are,
// but for a bound, since their searches are kept in memory; otherwise those of a page.
func (q *CandidateQuery) window() int {
	if q.BreadthFirst {
		return 1000
	}
	return 1
}

// endless is more candidates than any answer has. Limits are cut to it, so that one
// can reckon with them.
const endless = 1 << 40

// CandidateGroup is what one provider must have, or, without a suffix, what the
// providers of a tree must have together.
type CandidateGroup struct {
	// Suffix is empty for the group that may be spread over providers.
	Suffix string
	// Resources may be empty for a suffixed group: it then takes nothing from its
	// provider.
	Resources []Amount
	// Required and MemberOf are sets: any of the inner, all of the outer.
	Required [][]string
	MemberOf [][]uuid.UUID
	// Forbidden and NotMemberOf exclude.
	Forbidden   []string
	NotMemberOf []uuid.UUID
	// InTree is any provider of the tree to look in.
	InTree *uuid.UUID
}

// Candidate is one way to satisfy all groups at once.
type Candidate struct {
	// Uses are the amounts by provider, those of different groups added up.
	Uses []CandidateUse
	// Providers are those that satisfy each group, in the order of the groups.
	Providers [][]uuid.UUID
}

// CandidateUse is what a candidate takes from one provider.
type CandidateUse struct {
	Provider  uuid.UUID
	Resources []Amount
}

// Candidates are the answer to a CandidateQuery on its way from the database.
type Candidates struct {
	search *candidateSearch
	found  []*candidateTree
	used   usedTrees
	// count is how many candidates were yielded, seen which of those could come
	// again with another anchor.
	count int
	seen  map[string]bool
	made  Candidate
	// places are those of the providers in made.Uses, key is seen's next.
	places []int
	key    []byte
}

// CandidateList starts to look for candidates. When it returns, the first of them
// have been found, so that an error can still be told. The caller reads All to its
// end, then Summaries, and closes the candidates in any case.
//
// It refuses with TraitUnknown and ClassUnknown.
func (s *Store) CandidateList(ctx context.Context, query CandidateQuery) (*Candidates, error) {
	return anywhere(ctx, s, func(conn *pgxpool.Conn) (*Candidates, error) {
		of := &snapshot{conn: conn}
		made, err := s.candidates(ctx, of, query)
		if err != nil {
			_ = of.close() // the error that matters is err
		}
		return made, err
	})
}

func (s *Store) candidates(ctx context.Context, reading *snapshot, query CandidateQuery) (*Candidates, error) {
	query.Limit = min(query.Limit, endless)
	made := &Candidates{
		seen:   map[string]bool{},
		used:   usedTrees{known: map[int64]bool{}, onlyThem: query.OnePerTree},
		search: &candidateSearch{ctx: ctx, queries: s.queries, reading: reading, query: &query, names: s.names.Load()},
	}
	if query.Randomize {
		made.search.dice = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	fits, err := made.search.begin()
	if fits && err == nil {
		made.found, err = made.search.next(query.Limit)
	}
	return made, err
}

// Close frees the connection.
func (c *Candidates) Close() error {
	if sent := c.search.sent; sent != nil {
		_ = sent.done() // nobody waits for it any more
	}
	return c.search.reading.close()
}

// All yields the candidates. What is yielded is valid until the next. An error
// ends it.
func (c *Candidates) All() iter.Seq2[*Candidate, error] {
	each := c.depthFirst
	if c.search.query.spreads() {
		each = c.breadthFirst
	}
	return func(yield func(*Candidate, error) bool) {
		if err := each(func(one *Candidate) bool { return yield(one, nil) }); err != nil {
			yield(nil, broken(c.search.ctx, err))
		}
	}
}

// depthFirst takes all candidates of one tree, then all of the next.
func (c *Candidates) depthFirst(yield func(*Candidate) bool) error {
	if len(c.found) == 0 {
		return nil
	}
	walk := c.search.plan.NewSearch()
	for len(c.found) > 0 {
		for _, tree := range c.found {
			walk.Reset(&tree.Tree)
			for walk.Next() {
				if !c.offer(tree, walk.Chosen(), yield) {
					return nil
				}
			}
			if err := walk.Err(); err != nil {
				return err
			}
		}
		if err := c.more(); err != nil {
			return err
		}
	}
	return nil
}

// standing is a search that waits for its turn.
type standing struct {
	tree *candidateTree
	walk *combine.Search
}

// breadthFirst takes one candidate of each tree in turn: the first of each as the
// trees come, up to a window of them, then the others of those.
func (c *Candidates) breadthFirst(yield func(*Candidate) bool) error {
	for len(c.found) > 0 {
		var round []standing
		for len(c.found) > 0 && len(round) < c.search.query.window() {
			for _, tree := range c.found {
				round = append(round, standing{tree, c.search.plan.NewSearch()})
				round[len(round)-1].walk.Reset(&tree.Tree)
			}
			fresh := round[len(round)-len(c.found):]
			going, stop, err := c.turn(fresh, yield)
			if stop || err != nil {
				return err
			}
			round = round[:len(round)-len(fresh)+going]
			c.found = nil
			if len(round) < c.search.query.window() {
				err = c.more()
			}
			if err != nil {
				return err
			}
		}
		for len(round) > 0 {
			going, stop, err := c.turn(round, yield)
			if stop || err != nil {
				return err
			}
			round = round[:going]
		}
		if c.found == nil {
			if err := c.more(); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn takes one candidate of each search, and moves those that had one to the
// front. It says how many had, and whether nothing more is wanted.
func (c *Candidates) turn(round []standing, yield func(*Candidate) bool) (going int, stop bool, err error) {
	for _, one := range round {
		taken := false
		for !taken && one.walk.Next() {
			before := c.count
			if !c.offer(one.tree, one.walk.Chosen(), yield) {
				return 0, true, nil
			}
			taken = c.count > before // it was none that is known already
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

// more gets the next trees.
func (c *Candidates) more() (err error) {
	c.found, err = c.search.next(max(0, c.search.query.Limit-c.count))
	return err
}

// offer yields what a search has chosen, unless it has been seen. It says whether
// more is wanted.
func (c *Candidates) offer(tree *candidateTree, chosen []int, yield func(*Candidate) bool) bool {
	if c.again(tree, chosen) {
		return true
	}
	c.shape(tree, chosen)
	c.count++
	c.search.tally.Candidates++
	return yield(&c.made) && c.count != c.search.query.Limit
}

// again tells whether the same was yielded before. Only what is made of sharing
// providers alone can have several anchors.
func (c *Candidates) again(tree *candidateTree, chosen []int) bool {
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

// shape writes what was chosen into made, and notes the trees.
func (c *Candidates) shape(tree *candidateTree, chosen []int) {
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
			made.Uses[at] = CandidateUse{Provider: id, Resources: made.Uses[at].Resources[:0]}
			c.used.add(&tree.Providers[place])
		}
		made.Uses[at].add(want.resources)
	}
}

// add takes more of a provider.
func (u *CandidateUse) add(resources []Amount) {
	for _, one := range resources {
		at := slices.IndexFunc(u.Resources, func(r Amount) bool { return r.Class == one.Class })
		if at < 0 {
			u.Resources = append(u.Resources, one)
			continue
		}
		u.Resources[at].Amount += one.Amount
	}
}
