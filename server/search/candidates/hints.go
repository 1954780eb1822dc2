package candidates

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hints remember, for kinds of queries, which predicate led to trees last time and how many candidates these had, so that
// the first page of the next query of that kind is the right one. They determine which candidates a limit keeps, never
// whether a candidate is valid or whether there are enough.
type hints struct {
	mu    sync.Mutex
	kinds map[queryKind]hint
	// passing are the kinds of which most trees passed the filter of the statement, with the time when the hint ends.
	passing map[queryKind]time.Time
}

// hint is what the last search of a kind found.
type hint struct {
	since time.Time
	// chosen is the predicate that led, pair the two predicates that did; both are nil if all trees were searched. leads and
	// candidates are how many the searches with this hint used and found.
	chosen            *predicate
	pair              *pair
	leads, candidates int
	// starts are some positions in the order of free capacity, from which randomized searches begin.
	starts []position
}

const (
	// hintAge limits how long a search relies on a hint: later the cloud may have other free trees.
	hintAge = time.Minute
	// maxHints limits memory. Beyond, all are forgotten.
	maxHints = 1000
	// maxHintIDs limits the traits and aggregates of the predicate in a hint.
	maxHintIDs = 64
	// maxStarts limits the positions of a hint.
	maxStarts = 128
)

// of returns the hint for a kind.
func (h *hints) of(kind queryKind) (hint, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, known := h.kinds[kind]
	if known && time.Since(found.since) > hintAge {
		delete(h.kinds, kind)
		known = false
	}
	return found, known
}

// remember stores what a search found.
func (h *hints) remember(kind queryKind, found hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kinds == nil || len(h.kinds) >= maxHints {
		h.kinds = map[queryKind]hint{}
	}
	if known, has := h.kinds[kind]; has {
		found.since = known.since
	} else {
		found.since = time.Now()
	}
	h.kinds[kind] = found
}

// forget removes the hint for a kind.
func (h *hints) forget(kind queryKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.kinds, kind)
}

// mostPass reports whether most trees passed the filter of the last query of the kind.
func (h *hints) mostPass(kind queryKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.passing[kind])
}

// rememberMostPass stores that most trees pass.
func (h *hints) rememberMostPass(kind queryKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passing == nil || len(h.passing) >= maxHints {
		h.passing = map[queryKind]time.Time{}
	}
	h.passing[kind] = time.Now().Add(hintAge)
}

// queryKind identifies queries that differ in their limit and NotInTree only. It is the hash of all else, because queries can be long.
type queryKind [sha256.Size]byte

// kind returns the kind of the query.
func (s *candidateSearch) kind() queryKind {
	flags := []byte{'d', 'a', 'a'}
	if s.query.BreadthFirst {
		flags[0] = 'b'
	}
	if s.query.Isolate {
		flags[1] = 'i'
	}
	if s.query.OnePerTree {
		flags[2] = 'o'
	}
	if s.ids.sharing {
		flags = append(flags, 'h')
	}
	if s.query.Extended {
		flags = append(flags, encoded([]any{
			s.asked.Isolated, s.asked.Subtrees, setList(s.ids.rootMemberOf), idList(s.ids.rootNotMemberOf), s.query.LimitPerTree, s.query.Order, s.slotFlags(),
		})...)
	}
	for i := range s.asked.Requirements { // equal groups share a slot, but need several providers with isolation
		kind := byte('u')
		if s.asked.Requirements[i].Suffixed {
			kind = 's'
		}
		flags = strconv.AppendInt(append(flags, kind), int64(s.asked.Requirements[i].Slot), 10)
	}
	return sha256.Sum256(slices.Concat(
		flags, encoded(s.conditions), encoded(s.amounts), encoded(s.slotParts()), encoded(s.subtrees),
		[]byte(idList(s.ids.rootRequired).String()), []byte(idList(s.ids.rootForbidden).String())))
}

// slotFlags returns what distinguishes slots of extended queries with equal conditions and amounts.
func (s *candidateSearch) slotFlags() (all []bool) {
	for i := range s.slots {
		all = append(all, s.slots[i].exists)
	}
	return all
}

// follow begins with the trees of a hint. A randomized search begins at a random place among them.
func (s *candidateSearch) follow(found *hint) {
	s.hint = found
	if s.chosen = found.chosen; s.chosen == nil {
		return
	}
	s.leads = s.treesOf(s.chosen)
	s.leads.probed = true
	if s.rng != nil && len(found.starts) > 0 {
		start := found.starts[s.rng.IntN(len(found.starts))]
		s.leads.at, s.leads.start, s.leads.wraps = start, start, true
		s.starts = slices.Clone(found.starts)
	}
}

// addStarts keeps positions of a page for the next randomized search. Hosts of equal free capacity are as probable as
// others: a random amount of free capacity would lead to the first of them.
func (s *candidateSearch) addStarts(p *page) {
	for i := range p.leads {
		at := position{p.leads[i].position, p.leads[i].provider}
		if len(s.starts) < maxStarts {
			s.starts = append(s.starts, at)
		} else {
			s.starts[s.rng.IntN(maxStarts)] = at
		}
	}
}

// followPair begins with the trees of the pair of a hint, if it has one.
func (s *candidateSearch) followPair() error {
	if s.leads.named || s.query.Limit == 0 {
		return nil
	}
	found, has := s.of.hints.of(s.kind())
	if !has || found.pair == nil {
		return nil
	}
	valid, err := s.isOfTree(found.pair)
	if valid {
		s.hint = &found
		s.startPair(found.pair.fromStart())
	}
	return err
}

// remember stores a hint for the next query of the kind. Queries that find enough candidates in the first trees need
// none.
func (s *candidateSearch) remember() {
	if s.isAside || s.query.Limit == 0 || s.query.isOrdered() || s.leads.named || s.pages < 2 && s.chosen == nil && s.pair == nil && s.hint == nil {
		return
	}
	if s.chosen != nil && len(s.chosen.Traits)+len(s.chosen.Aggregates) > maxHintIDs {
		return
	}
	found := hint{
		chosen: s.chosen.clone(), pair: s.pair.fromStart(),
		leads: max(0, s.foundLeads-s.before.leads-s.unused), candidates: s.tally.Candidates - s.before.candidates, starts: s.starts,
	}
	if s.hint != nil {
		found.leads, found.candidates = found.leads+s.hint.leads, found.candidates+s.hint.candidates
	}
	s.of.hints.remember(s.kind(), found)
}
