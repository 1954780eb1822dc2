package candidates

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

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
		if values[columnList] != nil {
			p.setUnits(int8sOf(values[columnList]))
		}
	case values[columnUUID] != nil:
		p.providers = append(p.providers, provider{
			id: id, root: int8Of(values[columnRoot]), parent: int8Of(values[columnParent]), uuid: uuid.UUID(values[columnUUID]),
			traits: p.traitsOf(values[columnTraits]), word: word{met: flags}, revision: int8Of(values[columnUsed]),
		})
	case values[columnBits] != nil:
		p.nameChanges, p.sharing = flags, int8Of(values[columnFree]) != 0
		p.setLeads(int8sOf(values[columnList]))
	default:
		p.setReached(int8sOf(values[columnList]))
	}
	return nil
}

// setUnits decodes min_unit and step_size of the newest inventory.
func (p *page) setUnits(list []int64) {
	newest := &p.unsorted[len(p.unsorted)-1]
	newest.minUnit, newest.stepSize = list[0], list[1]
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
		if list != nil {
			p.setUnits(int8sIn(*list))
		}
	case row.Uuid != nil:
		key := idList(row.TraitIds).String()
		list, known := p.listOf[key]
		if !known {
			list = p.addList(key, row.TraitIds)
		}
		p.providers = append(p.providers, provider{
			id: valueOf(row.ID), root: valueOf(row.RootID), parent: valueOf(row.ParentID), uuid: *row.Uuid, traits: list, word: word{met: valueOf(flags)},
			revision: valueOf(row.Used),
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

// readWord queries which further conditions and amounts the providers of a page meet.
func (s *candidateSearch) readWord(p *page, word int) error {
	further := newPage()
	defer further.release()
	roots := []int64{}
	for i := range p.providers {
		if p.providers[i].tree.end > 0 {
			roots = append(roots, p.providers[i].id)
		}
	}
	args := db.CandidatePageParams{Lead: leadNone, Roots: roots, RootRequired: []int32{}, RootForbidden: []int32{}, NotInTree: []uuid.UUID{}}
	b := s.snapshot.Batch()
	readRows := postgres.EnqueueEachRow(b, s.pageQuery(&args, word), further.read)
	if err := b.Send(s.ctx); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := errors.Join(readRows(s.ctx), b.Close()); err != nil {
		return err
	}
	further.arrange()
	p.merge(further)
	return nil
}

// pageQuery returns the query for a page. Only the first word of conditions and amounts determines the trees.
func (s *candidateSearch) pageQuery(args *db.CandidatePageParams, word int) func(context.Context, db.DBTX) error {
	args.Conditions, args.Amounts = encoded(wordOf(s.conditions, word)), encoded(wordOf(s.amounts, word))
	if word == 0 {
		args.RootRequired, args.RootForbidden = append([]int32{}, s.ids.rootRequired...), append([]int32{}, s.ids.rootForbidden...)
		args.NotInTree = slices.Concat([]uuid.UUID{}, s.query.NotInTree)
	}
	if s.usesSimplePage(args) || word > 0 && len(s.query.freed) == 0 {
		return func(ctx context.Context, to db.DBTX) error {
			_, err := s.of.queries.CandidatePage(ctx, to, *args)
			return err
		}
	}
	general := db.CandidatePageGeneralParams{
		Conditions: args.Conditions, Amounts: args.Amounts, Roots: args.Roots, Lead: args.Lead, AfterID: args.AfterID, MaxRows: args.MaxRows,
		AfterPosition: args.AfterPosition, UntilPosition: args.UntilPosition, UntilID: args.UntilID,
		StartPosition: args.StartPosition, StartID: args.StartID, Wraps: args.Wraps, ClassID: args.ClassID,
		LeadIds: append([]int32{}, s.leads.ids...), RootRequired: args.RootRequired, RootForbidden: args.RootForbidden,
		NotInTree: args.NotInTree,
		Sharing:   s.ids.sharing, Slots: encoded(s.slotParts()), Subtrees: encoded(s.subtrees), Filtered: word == 0 && s.filters(),
		RootMemberOf: setList(s.ids.rootMemberOf).texts(), RootNotMemberOf: append([]int32{}, s.ids.rootNotMemberOf...),
		Frees: len(s.query.freed) > 0, Freed: encoded(slices.Concat([]FreedAmount{}, s.query.freed)),
		SubtreeSlots: s.subtreeSlots, Marks: allBits(len(s.slots)), SubtreeMarks: allBits(len(s.subtrees)),
	}
	return func(ctx context.Context, to db.DBTX) error {
		_, err := s.of.queries.CandidatePageGeneral(ctx, to, general)
		return err
	}
}

// usesSimplePage reports whether CandidatePage suffices.
func (s *candidateSearch) usesSimplePage(args *db.CandidatePageParams) bool {
	isSimple := args.Lead != leadTrait && args.Lead != leadAggregate && args.Lead != leadCount && args.Lead != leadPack
	further := len(s.subtrees) + len(s.splits) + len(s.ids.rootMemberOf) + len(s.ids.rootNotMemberOf) + len(s.query.freed)
	return !s.ids.sharing && further == 0 && isSimple
}
