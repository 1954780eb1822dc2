package candidates

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// nameCache holds immutable names by id: those of standard classes, and of all traits. A trait is never renamed and its
// id never reused, so the name of an id is safe to cache for custom traits as well; the id of a name is not.
type nameCache struct {
	classes, traits names
	// closed is the value of Pool.ClosedConns when the cache was created.
	closed int64
}

// knownNames returns the cache. It is empty after a connection was closed: a database that lost acknowledged writes may
// assign an id to another name.
func (s *Search) knownNames() *nameCache {
	closed := s.pool.ClosedConns()
	known := s.names.Load()
	if known == nil || known.closed != closed {
		known = &nameCache{closed: closed}
		s.names.Store(known)
	}
	return known
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

// isCustom reports whether an id is that of a class that can be renamed and deleted.
func isCustom(class int32) bool { return class >= 10000 }

// loadMissingNames queries the names that the rows need and the cache lacks.
func (s *candidateSearch) loadMissingNames(rows []db.CandidateSummariesRow) error {
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
	query := func(ctx context.Context, to db.DBTX) (db.CandidateSummaryNamesRow, error) {
		return s.queries.CandidateSummaryNames(ctx, to, classes, traits)
	}
	found, err := postgres.QueryOnce(s.ctx, s.snapshot, query)
	if err != nil {
		return err
	}
	s.names.classes.add(classes, found.Classes)
	s.names.traits.add(traits, found.Traits)
	return nil
}
