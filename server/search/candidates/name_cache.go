package candidates

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// nameCache holds the names of classes and traits by id, and the ids of names. It is valid as long as no trait or class
// is renamed or deleted, which the database counts. Names that do not exist are not in it, because they can be created.
type nameCache struct {
	// changes is the count; closed is the value of Pool.ClosedConns when the cache was created.
	changes, closed int64
	classes, traits names
	// classIDs and traitIDs are by name, aggregateIDs by UUID. Aggregates are never deleted.
	classIDs, traitIDs, aggregateIDs sync.Map
	stored                           atomic.Int64
	// sharing is whether any provider shared its inventory when a query last looked.
	sharing atomic.Bool
}

// maxCachedIDs limits the memory of the cache. Further names are resolved by each query.
const maxCachedIDs = 100_000

// knownNames returns the cache, nil if there is none. It is dropped after a connection was closed: a database that lost
// acknowledged writes may assign an id to another name.
func (s *Search) knownNames() *nameCache {
	known := s.names.Load()
	if known != nil && known.closed != s.pool.ClosedConns() {
		return nil
	}
	return known
}

// namesSince returns the cache for a count of changes, empty if the present one is for another. closed is the value of
// Pool.ClosedConns before the count was read.
func (s *Search) namesSince(changes, closed int64) *nameCache {
	known := s.knownNames()
	if known == nil || known.changes != changes {
		known = &nameCache{changes: changes, closed: closed}
		s.names.Store(known)
	}
	return known
}

// learnNames stores the ids of a query's names. closed is as in namesSince.
func (s *candidateSearch) learnNames(found *db.CandidateNamesRow, closed int64) {
	s.names = s.of.namesSince(found.NameChanges, closed)
	s.names.sharing.Store(found.Sharing)
	asked := candidateNames(s.query)
	for i, name := range asked.Classes {
		s.names.store(&s.names.classIDs, name, found.ClassIds[i])
	}
	for i, name := range asked.Traits {
		s.names.store(&s.names.traitIDs, name, found.TraitIds[i])
	}
	for i, name := range asked.Aggregates {
		s.names.store(&s.names.aggregateIDs, name, found.AggregateIds[i])
	}
}

func (n *nameCache) store(ids *sync.Map, name any, id int32) {
	if id < 0 || n.stored.Load() >= maxCachedIDs {
		return
	}
	if text, isText := name.(string); isText {
		name = strings.Clone(text) // the name may be a part of a long query string
	}
	if _, known := ids.LoadOrStore(name, id); !known {
		n.stored.Add(1)
	}
}

// resolve returns the ids of a query's names; ok is false if one is not in the cache. in_tree is never in it, because
// providers are deleted often.
func (n *nameCache) resolve(query *Query) (ids *resolvedQuery, ok bool) {
	asked := candidateNames(query)
	row := db.CandidateNamesRow{Sharing: n.sharing.Load()}
	ok = len(asked.Trees) == 0
	for i, name := range asked.Traits {
		id, known := n.traitIDs.Load(name)
		if !known && (i > 0 || row.Sharing) {
			return nil, false
		}
		if !known {
			id = int32(-1) // without the trait, no provider shares
		}
		row.TraitIds = append(row.TraitIds, id.(int32))
	}
	row.ClassIds, ok = idsOf(&n.classIDs, asked.Classes, ok)
	row.AggregateIds, ok = idsOf[uuid.UUID](&n.aggregateIDs, asked.Aggregates, ok)
	if !ok {
		return nil, false
	}
	return resolveNames(query, row), true
}

// idsOf returns the ids of some names. ok is false if it was before, or if one is not in the cache.
func idsOf[T any](known *sync.Map, of []T, ok bool) (ids []int32, stillOK bool) {
	for _, name := range of {
		id, found := known.Load(name)
		if !found {
			return nil, false
		}
		ids = append(ids, id.(int32))
	}
	return ids, ok
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

// missingNames returns the ids in a page whose names are not in the cache, and names the traits of the page.
func (n *nameCache) missingNames(p *page) (classes, traits []int32) {
	knownClasses, knownTraits := n.classes.all(), n.traits.all()
	last := int32(-1)
	for i := range p.providers {
		// Between those of two providers, the list can have inventories of an earlier page.
		of := p.providers[i].inventories
		for j := of.start; j < of.end; j++ {
			if class := p.inventories[j].class; class != last {
				last = class
				if knownClasses[class] == "" && !slices.Contains(classes, class) {
					classes = append(classes, class)
				}
			}
		}
	}
	for i := range p.lists {
		list := &p.lists[i]
		list.names = list.names[:0]
		for _, trait := range list.ids {
			name := knownTraits[trait]
			if name == "" && !slices.Contains(traits, trait) {
				traits = append(traits, trait)
			}
			list.names = append(list.names, name)
		}
	}
	return classes, traits
}

// loadMissingNames queries the names that a page needs and the cache lacks.
func (s *candidateSearch) loadMissingNames(p *page) error {
	classes, traits := s.names.missingNames(p)
	if len(classes)+len(traits) == 0 {
		return nil
	}
	found, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) (db.CandidateSummaryNamesRow, error) {
		return s.of.queries.CandidateSummaryNames(ctx, to, append([]int32{}, classes...), append([]int32{}, traits...))
	})
	if err != nil {
		return err
	}
	s.names.classes.add(classes, found.Classes)
	s.names.traits.add(traits, found.Traits)
	s.names.missingNames(p)
	return nil
}
