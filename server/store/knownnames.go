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

// isCustom tells the ids of classes that can be renamed and deleted.
func isCustom(class int32) bool { return class >= 10000 }

// learn looks up those names that some rows need and nobody knows yet.
func (s *candidateSearch) learn(rows []db.CandidateSummariesRow) error {
	knownClasses, knownTraits := s.names.classes.all(), s.names.traits.all()
	classes, traits := []int32{}, []int32{}
	for i := range rows {
		for _, class := range rows[i].ClassIds {
			if !isCustom(class) && knownClasses[class] == "" && !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
		for _, trait := range rows[i].TraitIds {
			if knownTraits[trait] == "" && !slices.Contains(traits, trait) {
				traits = append(traits, trait)
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
