package candidates

import (
	"math"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// placer finds a placement of several members for one query. It searches one tree after the other, never goes back on its
// choices in earlier trees, and deducts what chosen members use of providers that several trees can use. If this places too
// few members although other choices may place more, an exhaustiveSearch decides.
type placer struct {
	search   *candidateSearch
	builder  treeBuilder
	relation Relation
	// wanted is the number of members; members are those that are placed. For RelationTogether these are the most of one tree.
	wanted  int
	members []ClaimCandidate
	// isExact is true as long as no other choice in earlier trees can place more members.
	isExact bool
	// taken is what the members use.
	taken usage
	// classes are those of the query, and needs what one member uses of each.
	classes []int32
	needs   []int64
	copies  copiesCache
	walk    *treeWalk
	// upper is the upper bound of the visited trees.
	upper placementBound
	// isTrial limits the search for a first member of a tree like that for further ones.
	isTrial bool
	// spent is the work for further members, also of earlier queries, in intervals of package combine; most is its limit.
	spent, most int64
}

// The limits of the work for further members in one attempt, and for all queries of a search, in intervals of package
// combine; those of an exhaustiveSearch are the same. All of it took up to 2 s. A tree whose attempt ends has fewer members than it could have, and the placement is
// not exact.
const (
	maxTrialIntervals     = 64
	maxPlacementIntervals = 1024
)

// usage is amounts by provider and class.
type usage map[usedClass]int64

type usedClass struct {
	provider int64
	class    int32
}

// add adds what candidates use, times a sign.
func (u usage) add(of []ClaimCandidate, sign int64) {
	for i := range of {
		for _, use := range of[i].Uses {
			key := usedClass{use.ProviderID, use.ClassID}
			if u[key] += sign * use.Amount; u[key] == 0 {
				delete(u, key)
			}
		}
	}
}

// newPlacer returns a placer after some work for further members of earlier queries.
func newPlacer(search *candidateSearch, options *PlacementOptions, spent int64) *placer {
	result := &placer{
		search: search, builder: treeBuilder{search: search}, relation: options.Relation, wanted: options.Members, isExact: true,
		taken: usage{}, copies: copiesCache{}, most: maxPlacementIntervals, spent: spent,
	}
	if budget := search.query.Budget; budget > 0 {
		result.most = min(result.most, budget/combine.StopInterval)
	}
	return result
}

// place places as many members as it can.
func (p *placer) place() error {
	s := p.search
	fits, err := s.begin()
	if !fits || err != nil {
		return err
	}
	p.countNeeds()
	if p.relation == RelationNone && s.query.Order.By == OrderSpread {
		return p.placeInTurn()
	}
	return p.eachTree(func(tree *candidateTree) (isDone bool, err error) {
		switch p.relation {
		case RelationApart:
			p.addToBound(tree, 1)
			err = p.fill(tree, 1)
		case RelationTogether:
			err = p.takeLarger(tree)
		default:
			p.addToBound(tree, p.wanted)
			err = p.fill(tree, p.wanted-len(p.members))
		}
		return len(p.members) == p.wanted, err
	})
}

// eachTree visits the trees of the lead in which each slot has a provider. A tree is valid during its visit.
func (p *placer) eachTree(visit func(*candidateTree) (isDone bool, err error)) error {
	s := p.search
	defer s.closeSent()
	for {
		found, err := s.next(p.wanted - len(p.members))
		if found == nil && err == nil {
			err = s.checkGivenUp(len(p.members))
		}
		if found == nil || err != nil {
			return err
		}
		for i := range found.leads {
			s.unused = len(found.leads) - i - 1
			p.builder.forget()
			tree := p.builder.build(found, found.leads[i].root)
			if tree == nil {
				continue
			}
			isDone, err := visit(tree)
			if isDone || err != nil {
				found.release()
				return err
			}
		}
		found.release()
	}
}

// fill places as many members in a tree as fit, up to a limit.
func (p *placer) fill(tree *candidateTree, limit int) error {
	found, err := p.largest(tree, 1, limit)
	if err != nil {
		return err
	}
	if len(found) < limit {
		if err := p.checkExact(tree, len(found)+1); err != nil {
			return err
		}
	}
	p.keep(found)
	return nil
}

// keep adds members.
func (p *placer) keep(found []ClaimCandidate) {
	p.members = append(p.members, found...)
	p.taken.add(found, 1)
	p.search.tally.Candidates += len(found)
}

// takeLarger takes the members of a tree if they are more than those of all trees before.
func (p *placer) takeLarger(tree *candidateTree) error {
	found, err := p.largest(tree, len(p.members)+1, p.wanted)
	if len(found) > len(p.members) {
		p.members = found
		p.search.tally.Candidates += len(found)
	}
	return err
}

// placeInTurn gives each tree one member in turn. If all trees have one and members are left, it reads these trees again,
// which are fewer than members.
func (p *placer) placeInTurn() error {
	var turns []*turn
	err := p.eachTree(func(tree *candidateTree) (isDone bool, err error) {
		placed := len(p.members)
		p.addToBound(tree, p.wanted)
		if err := p.fill(tree, 1); err != nil {
			return false, err
		}
		if len(p.members) > placed {
			turns = append(turns, &turn{root: tree.Anchor, members: p.members[placed:]})
		}
		return len(p.members) == p.wanted, nil
	})
	if err != nil || len(p.members) == p.wanted || len(turns) == 0 {
		return err
	}
	pages, err := p.readAgain(turns)
	for _, page := range pages {
		defer page.release()
	}
	if err != nil {
		return err
	}
	return p.takeTurns(turns)
}

// turn is a tree with members, and whether it can have no more.
type turn struct {
	root    int64
	tree    *candidateTree
	members []ClaimCandidate
	isFull  bool
}

// readAgain reads trees, and keeps their pages.
func (p *placer) readAgain(turns []*turn) (pages []*page, err error) {
	s, known := p.search, map[int64]*turn{}
	s.leads, s.chosen, s.pair = leads{named: true, probed: true, paired: true}, nil, nil
	for _, turn := range turns {
		s.leads.given = append(s.leads.given, turn.root)
		known[turn.root] = turn
	}
	for {
		found, err := s.next(len(turns))
		if found == nil || err != nil {
			return pages, err
		}
		pages = append(pages, found)
		builder := &treeBuilder{search: s} // the trees keep its memory
		for i := range found.leads {
			if tree := builder.build(found, found.leads[i].root); tree != nil {
				kept := *tree
				known[kept.Anchor].tree = &kept
			}
		}
	}
}

// takeTurns gives each tree one more member in turn, until all members are placed or all trees are full.
func (p *placer) takeTurns(turns []*turn) error {
	count := len(p.members)
	for isOver := false; !isOver && count < p.wanted; {
		isOver = true
		for _, turn := range turns {
			if turn.isFull || count == p.wanted {
				continue
			}
			p.taken.add(turn.members, -1)
			more, err := p.largest(turn.tree, len(turn.members)+1, len(turn.members)+1)
			if err == nil && more == nil {
				turn.isFull = true
				err = p.checkExact(turn.tree, len(turn.members)+1)
			}
			if err != nil {
				return err
			}
			if more != nil {
				turn.members, isOver = more, false
				count++
			}
			p.taken.add(turn.members, 1)
		}
	}
	p.members = p.members[:0:0]
	for _, turn := range turns {
		p.members = append(p.members, turn.members...)
	}
	return nil
}

// checkExact finds out whether a tree that does not have a number of members would have them without those of other trees.
func (p *placer) checkExact(tree *candidateTree, count int) error {
	if !p.isExact || !p.isTaken(tree) {
		return nil
	}
	taken := p.taken
	p.taken = usage{}
	found, err := p.largest(tree, count, count)
	p.taken = taken
	if found != nil {
		p.isExact = false
	}
	return err
}

// isTaken reports whether members use any provider that a tree can use.
func (p *placer) isTaken(tree *candidateTree) bool {
	for i := range tree.Providers {
		for _, class := range p.classes {
			if p.taken[usedClass{tree.Providers[i].ID, class}] != 0 {
				return true
			}
		}
	}
	return false
}

// placementBound is an upper bound of the members that any placement has. Each requirement of a member is served by one
// provider, so the members are at most those that all providers together can serve with one requirement. A provider that
// several trees can use counts once; those of a tree count up to the most members of the tree.
type placementBound struct {
	// members is the sum of the most members of each tree; sums are by requirement.
	members int64
	sums    []int64
	seen    map[servedBy]bool
}

// servedBy is a requirement and a provider that can serve it.
type servedBy struct {
	want     int
	provider int64
}

// addToBound adds a tree that has at most a number of members. It is only needed if providers share.
func (p *placer) addToBound(tree *candidateTree, limit int) {
	s := p.search
	if !s.ids.sharing {
		return
	}
	if p.upper.sums == nil {
		p.upper = placementBound{sums: make([]int64, len(s.asked.Requirements)), seen: map[servedBy]bool{}}
	}
	taken := p.taken
	p.taken = usage{}
	defer func() { p.taken = taken }()
	most := int64(p.bound(tree, limit))
	p.upper.members = sumOf(p.upper.members, most)
	for want := range s.asked.Requirements {
		sum := &p.upper.sums[want]
		if s.splitOf(want) >= 0 {
			*sum = sumOf(*sum, most)
			continue
		}
		own := int64(0)
		slot := s.asked.Requirements[want].Slot
		for i, option := range tree.Options[slot] {
			provider := &tree.Providers[option.Provider]
			key := servedBy{want, provider.ID}
			switch count := p.countOn(tree, slot, want, i); {
			case !provider.Shared:
				own = sumOf(own, count)
			case most > 0 && !p.upper.seen[key]:
				p.upper.seen[key] = true
				*sum = sumOf(*sum, count)
			}
		}
		*sum = sumOf(*sum, min(own, most))
	}
}

// countOn returns for how many members an option of a tree can serve a requirement.
func (p *placer) countOn(tree *candidateTree, slot, want, option int) int64 {
	count := int64(math.MaxInt64)
	for _, use := range p.search.asked.Requirements[want].Uses {
		if use.Amount > 0 {
			count = min(count, max(0, p.freeOf(tree, tree.Options[slot][option].Provider, use.Class)/use.Amount))
		}
	}
	return count
}

// atMost returns the number of members that no placement exceeds, up to those wanted.
func (p *placer) atMost() int {
	most := min(int64(p.wanted), p.upper.members)
	for _, sum := range p.upper.sums {
		most = min(most, sum)
	}
	return int(most)
}

// mayPlaceMore reports whether an exhaustiveSearch can place more members. A class that several providers of a tree can share
// is divided only if no provider has the whole amount, so members must not leave a provider to others for it.
func (p *placer) mayPlaceMore() bool {
	if len(p.members) == p.wanted || p.isExact || p.relation == RelationTogether || !p.search.ids.sharing {
		return false
	}
	p.isExact = len(p.members) >= p.atMost()
	return !p.isExact && len(p.search.splits) == 0
}
