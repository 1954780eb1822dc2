package store

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/berthd/berth/gen/db"
)

// knownNames are names by id that will never be others: those of standard classes,
// and of all traits. A trait is not renamed and its id not given to another, so this
// way round a custom one is as safe to remember as a standard one; the id of a name
// is not.
type knownNames struct {
	classes, traits names
}

// names are read without a lock, and replaced as a whole.
type names struct {
	byID atomic.Pointer[map[int32]string]
}

func (n *names) all() map[int32]string {
	if known := n.byID.Load(); known != nil {
		return *known
	}
	return nil
}

func (n *names) add(ids []int32, found []string) {
	for len(ids) > 0 {
		before := n.byID.Load()
		after := maps.Clone(n.all())
		if after == nil {
			after = map[int32]string{}
		}
		for i, id := range ids {
			after[id] = found[i]
		}
		if n.byID.CompareAndSwap(before, &after) {
			return
		}
	}
}

// learn looks up those names that some rows need and nobody knows yet.
func (s *candidateSearch) learn(rows []db.CandidateSummariesRow) error {
	knownClasses, knownTraits := s.names.classes.all(), s.names.traits.all()
	classes, traits := []int32{}, []int32{}
	for i := range rows {
		row := &rows[i]
		if row.ClassID >= 0 && row.CustomClass == "" && knownClasses[row.ClassID] == "" && !slices.Contains(classes, row.ClassID) {
			classes = append(classes, row.ClassID)
		}
		if i > 0 && rows[i-1].ID == row.ID {
			continue
		}
		for _, id := range row.TraitIds {
			if knownTraits[id] == "" && !slices.Contains(traits, id) {
				traits = append(traits, id)
			}
		}
	}
	if len(classes)+len(traits) == 0 {
		return nil
	}
	found, err := once(s.ctx, s.reading, func(ctx context.Context, to db.DBTX) (db.CandidateSummaryNamesRow, error) {
		return s.queries.CandidateSummaryNames(ctx, to, classes, traits)
	})
	if err != nil {
		return err
	}
	s.names.classes.add(classes, found.Classes)
	s.names.traits.add(traits, found.Traits)
	return nil
}
