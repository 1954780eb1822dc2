package candidates

import (
	"cmp"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// page is the rows of CandidatePage or CandidatePageGeneral: some trees with their providers and inventories.
type page struct {
	// nameChanges is the counter of renamed and deleted names; sharing is true if any provider shares its inventory.
	nameChanges int64
	sharing     bool
	// leads are in the order of the search.
	leads   []lead
	reached []reach
	// providers are in the order of their trees and ids, inventories in the order of providers and classes. They contain
	// no pointers, so that the garbage collector need not read them.
	providers             []provider
	inventories, unsorted []inventory
	// more are the conditions and amounts beyond the first word, by word and provider.
	more [][]word
	// places are the indices of providers by id.
	places map[int64]int32
	// lists are the different lists of traits, and listOf their indices by encoding.
	lists  []traitList
	listOf map[string]int32
}

// lead is a root, and the provider that led to it.
type lead struct {
	root, provider, position int64
	// shares is true if further trees can use the provider; excluded if the root is not one that the query accepts.
	shares, excluded bool
}

// reach is a sharing provider that a tree can use.
type reach struct{ root, provider int64 }

// span is a part of a list.
type span struct{ start, end int32 }

// word is the conditions that a provider meets and the amounts that fit in its inventories, see bits.
type word struct{ met, fits int64 }

// provider is a provider of a tree.
type provider struct {
	id, root, parent int64
	revision         int64
	uuid             uuid.UUID
	word             word
	// traits is the index of its list.
	traits      int32
	inventories span
	// tree is the part of the page that has the tree, if the provider is its root.
	tree span
}

// inventory is an inventory of a provider.
type inventory struct {
	provider   int64
	class      int32
	capacity   float64
	used, free int64
	fits       int64
	// minUnit and stepSize are known if several providers can share an amount of the class; else they are 0.
	minUnit, stepSize int64
}

// traitList is the traits that some providers have.
type traitList struct {
	ids   []int32
	names []string
}

// pages pools the memory of pages.
var pages = sync.Pool{New: func() any { return &page{places: map[int64]int32{}, listOf: map[string]int32{}} }}

// newPage returns a page without rows.
func newPage() *page { return pages.Get().(*page) }

// maxPooledProviders limits the memory of a page that the pool keeps.
const maxPooledProviders = 16 * maxPageSize

// release makes the memory of the page available for others.
func (p *page) release() {
	if p == nil || cap(p.providers) > maxPooledProviders || cap(p.inventories) > 2*maxPooledProviders {
		return
	}
	clear(p.places)
	clear(p.listOf)
	*p = page{
		leads: p.leads[:0], providers: p.providers[:0], inventories: p.inventories[:0], unsorted: p.unsorted[:0],
		places: p.places, lists: p.lists[:0], listOf: p.listOf,
	}
	pages.Put(p)
}

// arrange sorts the providers of each tree by id, and the inventories of each provider by class.
func (p *page) arrange() {
	byTree := func(a, b provider) int { return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.id, b.id)) }
	if !slices.IsSortedFunc(p.providers, byTree) {
		slices.SortFunc(p.providers, byTree)
	}
	for i := range p.providers {
		p.places[p.providers[i].id] = int32(i)
	}
	for start := 0; start < len(p.providers); {
		end := start + 1
		for end < len(p.providers) && p.providers[end].root == p.providers[start].root {
			end++
		}
		if root, known := p.places[p.providers[start].root]; known {
			p.providers[root].tree = span{int32(start), int32(end)}
		}
		start = end
	}
	p.arrangeInventories()
	if !slices.IsSortedFunc(p.reached, byReach) {
		slices.SortFunc(p.reached, byReach)
	}
}

func byReach(a, b reach) int {
	return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.provider, b.provider))
}

// arrangeInventories moves the inventories of each provider together, merges the rows of one inventory, and records in
// the providers which amounts fit.
func (p *page) arrangeInventories() {
	for i := range p.unsorted {
		p.providers[p.places[p.unsorted[i].provider]].inventories.end++
	}
	at := int32(0)
	for i := range p.providers {
		count := p.providers[i].inventories.end
		p.providers[i].inventories = span{at, at}
		at += count
	}
	p.inventories = slices.Grow(p.inventories[:0], len(p.unsorted))[:len(p.unsorted)]
	for i := range p.unsorted {
		row := &p.unsorted[i]
		of := &p.providers[p.places[row.provider]]
		of.word.fits |= row.fits
		p.insert(of, row)
	}
}

// insert adds an inventory to those of its provider, unless an earlier row, for another amount, did.
func (p *page) insert(of *provider, row *inventory) {
	own := p.inventories[of.inventories.start : of.inventories.end+1]
	place := len(own) - 1
	for place > 0 && own[place-1].class > row.class {
		place--
	}
	if place > 0 && own[place-1].class == row.class {
		if row.stepSize > 0 {
			own[place-1].minUnit, own[place-1].stepSize = row.minUnit, row.stepSize
		}
		return
	}
	copy(own[place+1:], own[place:])
	own[place] = *row
	of.inventories.end++
}

// merge adds which further conditions and amounts the providers meet, from a query for the same trees.
func (p *page) merge(further *page) {
	words := make([]word, len(p.providers))
	for i := range further.providers {
		if place, known := p.places[further.providers[i].id]; known {
			words[place] = further.providers[i].word
		}
	}
	p.more = append(p.more, words)
}

// meets reports whether a provider meets all of some conditions.
func (p *page) meets(row int32, all *bits) bool {
	if p.providers[row].word.met&all.first != all.first {
		return false
	}
	for i, word := range all.more {
		if p.more[i][row].met&word != word {
			return false
		}
	}
	return true
}

// fits reports whether all of some amounts fit in the inventories of a provider.
func (p *page) fits(row int32, all *bits) bool {
	if p.providers[row].word.fits&all.first != all.first {
		return false
	}
	for i, word := range all.more {
		if p.more[i][row].fits&word != word {
			return false
		}
	}
	return true
}

// inventoryOf returns the inventory of a class, which the provider has.
func (p *page) inventoryOf(row int32, class int32) *inventory {
	i := p.providers[row].inventories.start
	for p.inventories[i].class != class {
		i++
	}
	return &p.inventories[i]
}

// tree returns the root of a tree; nil if the page lacks the tree.
func (p *page) tree(root int64) *provider {
	if place, known := p.places[root]; known {
		return &p.providers[place]
	}
	return nil
}

const (
	// sampleSize is the number of trees from which the search estimates selectivity.
	sampleSize = 12
	// maxPageSize is the default of Thresholds.PageSize.
	maxPageSize = 1000
	// minShuffledPage is the minimum size of a page that the search shuffles.
	minShuffledPage = 128
	// minRarePage is the minimum number of providers to fetch; several may be in one tree.
	minRarePage = 64
)

// firstPage estimates how many trees the limit needs: several groups find several combinations in a tree.
func (s *candidateSearch) firstPage() int {
	suffixed := 0
	for i := range s.query.Groups {
		if s.query.Groups[i].Suffix != "" && !s.query.isCondition(i) {
			suffixed++
		}
	}
	each := 1
	switch {
	case s.query.BreadthFirst:
	case len(s.query.Subtrees) > 0:
		each = 2
	case suffixed > 2:
		each = 8
	case suffixed == 2:
		each = 4
	}
	if s.query.Limit == 0 && s.pages == 0 && s.filters() {
		return minRarePage // it shows whether the filter pays
	}
	if s.query.Limit == 0 {
		return maxPageSize / 2
	}
	if s.query.LimitPerTree > 0 {
		each = min(each, s.query.LimitPerTree)
	}
	return min((s.query.Limit+each-1)/each, maxPageSize)
}

// pageSize returns the number of trees of the next page.
func (s *candidateSearch) pageSize(wanted int) int {
	return min(s.estimatedPageSize(wanted), s.of.thresholds.PageSize, s.of.maxTrees())
}

// estimatedPageSize estimates the next page from the yield of the trees so far.
func (s *candidateSearch) estimatedPageSize(wanted int) int {
	first := s.firstPage()
	switch {
	case s.hint != nil && s.hint.candidates > 0:
		needed := (wanted*s.hint.leads + s.hint.candidates - 1) / s.hint.candidates
		needed += needed/4 + 1
		if s.rng != nil && s.chosen != nil && s.leads.kind != leadFree {
			needed = max(needed, minShuffledPage) // the lead has no random start, so the search shuffles
		}
		return min(needed, maxPageSize)
	case s.query.Limit == 0 || s.tally.Roots == 0:
		return s.atLeast(first)
	case s.tally.Candidates == 0:
		return s.atLeast(min(2*s.tally.Roots, maxPageSize))
	}
	// A few trees too many cost less than another page.
	needed := (wanted*s.tally.Roots+s.tally.Candidates-1)/s.tally.Candidates + 2
	return s.atLeast(min(needed+needed/2, max(first, 3*s.tally.Roots), maxPageSize))
}

// atLeast returns the size of a page whose roots may repeat: several providers of a tree can meet a predicate. Pages that
// the search shuffles are larger.
func (s *candidateSearch) atLeast(most int) int {
	switch {
	case s.chosen == nil:
		return most
	case s.rng != nil:
		return max(most, minShuffledPage)
	default:
		return max(most, minRarePage)
	}
}
