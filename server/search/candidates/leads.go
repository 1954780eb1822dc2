package candidates

import (
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/store"
)

// Names of leads: how a page finds its trees. See CandidatePage.
const (
	leadNone      = "none"
	leadID        = "id"
	leadRandom    = "random"
	leadFree      = "free"
	leadTrait     = "trait"
	leadAggregate = "aggregate"
	leadCount     = "count"
	leadPack      = "pack"
)

// leads finds the roots of the trees to search, page by page, each once.
type leads struct {
	kind  string
	class int32
	ids   []int32
	// at is the position after which the next page begins, until the one where it ends. wraps is true if the pages
	// continue at the beginning after the last position, up to start: the same page, or for traits and aggregates the next.
	at, until, start position
	wraps            bool
	// isOver is true after the last page.
	isOver bool
	// given are roots to search before any others; named is true if the query names all trees.
	given []int64
	named bool
	// probed is true after the selectivity of the predicates was queried.
	probed bool
	// paired is true after the search has looked for a pair of predicates, or if it does not.
	paired bool
	// known are the roots of earlier pages, nil if no page repeats them. history are the same roots in their order, also
	// of earlier leads, until paired.
	known   map[int64]bool
	history []int64
}

// position is a place in the order of a lead.
type position struct{ place, id int64 }

var lastPosition = position{math.MaxInt64, math.MaxInt64}

// allTrees leads to all trees in the order of their ids. A randomized search begins behind a random root: trees
// with consecutive ids are in few blocks of the database, and two searches at once rarely have the same ones.
func (s *candidateSearch) allTrees() leads {
	if s.query.isByCapacity() {
		return s.treesInOrder()
	}
	all := treesFrom(0)
	if s.rng == nil {
		all.probed, all.paired = s.query.isOrdered(), s.query.isOrdered()
		return all
	}
	all.kind, all.at, all.wraps = leadRandom, position{int64(s.rng.Uint64()), 0}, true
	return all
}

// treesFrom leads to all trees with greater ids, in the order of ids.
func treesFrom(id int64) leads {
	return leads{kind: leadID, at: position{0, id}, until: lastPosition}
}

// treesInOrder leads to the trees in an order by free capacity.
func (s *candidateSearch) treesInOrder() leads {
	class := s.orderedClass()
	if s.query.Order.By == OrderPack {
		return leads{kind: leadPack, class: class, at: position{s.leastOrdered - 1, math.MaxInt64}, known: map[int64]bool{}, probed: true, paired: true}
	}
	return leads{
		kind: leadFree, class: class, at: lastPosition, until: position{s.leastOrdered, 0}, known: map[int64]bool{}, probed: true, paired: true,
	}
}

// orderedClass returns the class of an order by free capacity.
func (s *candidateSearch) orderedClass() int32 {
	place := slices.IndexFunc(s.wants[s.first].resources, func(a store.Amount) bool { return a.Class == s.query.Order.Class })
	return s.slots[s.asked.Requirements[s.first].Slot].classes[place]
}

// cutBehindSharing lets an ordered page end with the first provider that shares: all trees that can use it come next.
func (s *candidateSearch) cutBehindSharing(p *page, args *db.CandidatePageParams) {
	if !s.query.isByCapacity() || args.Lead == leadNone {
		return
	}
	if at := slices.IndexFunc(p.leads, func(item lead) bool { return item.shares }); at >= 0 {
		p.leads = p.leads[:at+1]
		args.MaxRows = int32(len(p.leads))
	}
}

// treesOf leads to the trees that meet a predicate.
func (s *candidateSearch) treesOf(wanted *predicate) leads {
	all := leads{known: map[int64]bool{}, until: lastPosition}
	switch {
	case wanted.Count > 0:
		all.kind, all.class, all.at = leadCount, *wanted.Class, position{wanted.Count, 0}
		return all
	case wanted.Class != nil:
		all.kind, all.class, all.at, all.until = leadFree, *wanted.Class, lastPosition, position{wanted.Amount, 0}
		return all
	case wanted.Traits != nil:
		all.kind, all.ids = leadTrait, wanted.Traits
	default:
		all.kind, all.ids = leadAggregate, wanted.Aggregates
	}
	if s.rng != nil && wanted.firstRoot < wanted.lastRoot {
		all.start = position{wanted.firstRoot - 1 + s.rng.Int64N(wanted.lastRoot-wanted.firstRoot+1), math.MaxInt64}
		all.at, all.wraps = all.start, true
	}
	return all
}

// isNew reports whether no earlier page had a root.
func (l *leads) isNew(root int64) bool {
	if l.known != nil {
		before := len(l.known)
		if l.known[root] = true; len(l.known) == before {
			return false
		}
	}
	if !l.paired && !l.named {
		l.history = append(l.history, root)
	}
	return true
}

// next returns the arguments for the next page of at most most roots. ok is false after the last page.
func (l *leads) next(most int) (args db.CandidatePageParams, ok bool) {
	args = db.CandidatePageParams{
		Lead: leadNone, Roots: []int64{}, MaxRows: int32(most), RootRequired: []int32{}, RootForbidden: []int32{},
		AfterPosition: l.at.place, AfterID: l.at.id, UntilPosition: l.until.place, UntilID: l.until.id,
		StartPosition: l.start.place, StartID: l.start.id, Wraps: l.wraps, ClassID: l.class,
	}
	if count := min(most, len(l.given)); count > 0 {
		args.Roots = l.given[:count:count]
		l.given = l.given[count:]
		return args, true
	}
	if l.isOver || l.named {
		return args, false
	}
	args.Lead = l.kind
	return args, true
}

// areOver reports whether no page follows.
func (l *leads) areOver() bool { return len(l.given) == 0 && (l.isOver || l.named) }

// take moves behind a page that was returned for these arguments.
func (l *leads) take(found []lead, args *db.CandidatePageParams) {
	if args.Lead == leadNone {
		return
	}
	if len(found) < int(args.MaxRows) {
		l.isOver = true
		if l.wraps && (l.kind == leadTrait || l.kind == leadAggregate) {
			l.isOver, l.wraps, l.at, l.until = false, false, position{}, l.start
		}
		return
	}
	if l.kind == leadRandom {
		l.kind, l.start = leadID, position{0, found[0].root - 1}
	}
	last := found[len(found)-1]
	l.at = position{last.position, last.provider}
	if l.wraps && l.isBehindStart(l.at) {
		l.wraps, l.until = false, l.start
	}
}

// isBehindStart reports whether a position comes after the end of the order: pages have continued at its beginning.
func (l *leads) isBehindStart(at position) bool {
	if l.kind == leadFree { // descending
		return at.place > l.start.place || at.place == l.start.place && at.id >= l.start.id
	}
	return at.place < l.start.place || at.place == l.start.place && at.id <= l.start.id
}

// leave continues with another lead, and skips the trees that were searched already.
func (l *leads) leave(to leads) {
	if to.known == nil {
		to.known = map[int64]bool{}
	}
	for _, root := range l.history {
		to.known[root] = true
	}
	to.probed, to.paired, to.history = true, l.paired, l.history
	*l = to
}

// sample returns the first of all roots.
func (l *leads) sample() []int64 {
	return append([]int64{}, l.history[:min(sampleSize, len(l.history))]...)
}
