package candidates

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

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
	answer := postgres.EnqueueEachRow(b, s.pageQuery(&args, word), further.read)
	if err := b.Send(s.ctx); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := errors.Join(answer(s.ctx), b.Close()); err != nil {
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
		Sharing:   s.ids.sharing, Slots: encoded(s.slotParts()), Subtrees: encoded(s.subtrees), Filtered: word == 0 && len(s.subtrees) > 0 && !s.query.isUnfiltered,
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
