package candidates

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
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

// Columns of CandidatePage and CandidatePageGeneral.
const (
	columnID = iota
	columnRoot
	columnParent
	columnUUID
	columnTraits
	columnBits
	columnClass
	columnCapacity
	columnUsed
	columnFree
	columnList
)

// read adds a row.
func (p *page) read(rows pgx.Rows) error {
	if rows.FieldDescriptions()[0].Format != pgx.BinaryFormatCode {
		return p.scan(rows)
	}
	values := rows.RawValues()
	id, flags := int8Of(values[columnID]), int8Of(values[columnBits])
	switch {
	case values[columnClass] != nil:
		p.unsorted = append(p.unsorted, inventory{
			provider: id, fits: flags, class: int32(binary.BigEndian.Uint32(values[columnClass])),
			capacity: math.Float64frombits(binary.BigEndian.Uint64(values[columnCapacity])),
			used:     int8Of(values[columnUsed]), free: int8Of(values[columnFree]),
		})
	case values[columnUUID] != nil:
		p.providers = append(p.providers, provider{
			id: id, root: int8Of(values[columnRoot]), parent: int8Of(values[columnParent]), uuid: uuid.UUID(values[columnUUID]),
			traits: p.traitsOf(values[columnTraits]), word: word{met: flags},
		})
	case values[columnBits] != nil:
		p.nameChanges, p.sharing = flags, int8Of(values[columnFree]) != 0
		p.setLeads(int8sOf(values[columnList]))
	default:
		p.setReached(int8sOf(values[columnList]))
	}
	return nil
}

// setLeads decodes the list of roots.
func (p *page) setLeads(list []int64) {
	p.leads = slices.Grow(p.leads[:0], len(list)/4)
	for ; len(list) > 0; list = list[4:] {
		p.leads = append(p.leads, lead{
			root: list[0], provider: list[1], position: list[2], excluded: list[3]&1 != 0, shares: list[3]&2 != 0,
		})
	}
}

// setReached decodes the list of sharing providers.
func (p *page) setReached(list []int64) {
	for ; len(list) > 0; list = list[2:] {
		p.reached = append(p.reached, reach{root: list[0], provider: list[1]})
	}
}

// int8Of decodes a bigint; null is 0.
func int8Of(value []byte) int64 {
	if value == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(value))
}

// int8sOf decodes a bigint[] of any number of dimensions, one element after the other. The header has the number of
// dimensions, a flag, the type, and the length and lower bound of each dimension; before each element is its size.
func int8sOf(value []byte) []int64 {
	if len(value) < 12 {
		return nil
	}
	list := make([]int64, 0, len(value)/12)
	for at := 12 + 8*int(binary.BigEndian.Uint32(value)) + 4; at+8 <= len(value); at += 12 {
		list = append(list, int8Of(value[at:]))
	}
	return list
}

// traitsOf decodes an int[], once for each different list, and returns its index.
func (p *page) traitsOf(value []byte) int32 {
	if list, known := p.listOf[string(value)]; known {
		return list
	}
	var ids []int32
	for at := 24; at+4 <= len(value); at += 8 { // see int8sOf
		ids = append(ids, int32(binary.BigEndian.Uint32(value[at:])))
	}
	return p.addList(string(value), ids)
}

func (p *page) addList(key string, ids []int32) int32 {
	at := int32(len(p.lists))
	p.lists, p.listOf[key] = append(p.lists, traitList{ids: ids}), at
	return at
}

// scan adds a row in the text format, which connections through some poolers use.
func (p *page) scan(rows pgx.Rows) error {
	var row db.CandidatePageRow
	var flags, free *int64
	var list *string
	err := rows.Scan(&row.ID, &row.RootID, &row.ParentID, &row.Uuid, &row.TraitIds, &flags, &row.ClassID, &row.Capacity, &row.Used, &free, &list)
	if err != nil {
		return err
	}
	switch {
	case row.ClassID != nil:
		p.unsorted = append(p.unsorted, inventory{
			provider: valueOf(row.ID), fits: valueOf(flags), class: *row.ClassID,
			capacity: valueOf(row.Capacity), used: valueOf(row.Used), free: valueOf(free),
		})
	case row.Uuid != nil:
		key := idList(row.TraitIds).String()
		list, known := p.listOf[key]
		if !known {
			list = p.addList(key, row.TraitIds)
		}
		p.providers = append(p.providers, provider{
			id: valueOf(row.ID), root: valueOf(row.RootID), parent: valueOf(row.ParentID), uuid: *row.Uuid, traits: list, word: word{met: valueOf(flags)},
		})
	case flags != nil:
		p.nameChanges, p.sharing = *flags, valueOf(free) != 0
		p.setLeads(int8sIn(valueOf(list)))
	default:
		p.setReached(int8sIn(valueOf(list)))
	}
	return nil
}

// int8sIn parses the text of a bigint[] of any number of dimensions.
func int8sIn(text string) (list []int64) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '-' && (r < '0' || r > '9') }) {
		number, _ := strconv.ParseInt(word, 10, 64) // PostgreSQL wrote it
		list = append(list, number)
	}
	return list
}

// valueOf returns the value of a nullable column; null is zero.
func valueOf[T any](value *T) (found T) {
	if value != nil {
		found = *value
	}
	return found
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
