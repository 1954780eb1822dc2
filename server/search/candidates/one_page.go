package candidates

import (
	"context"

	"github.com/berthd/berth/server/data/postgres"
)

// listInOnePage returns the result if one statement outside of a transaction finds all candidates that the query wants.
// It returns nil if not: names may be unknown or renamed, or the page may have too few candidates.
func (s *Search) listInOnePage(ctx context.Context, conn *postgres.Conn, query Query) (*Result, error) {
	names := s.knownNames()
	if query.Limit == 0 || query.Limit > maxPageSize || names == nil {
		return nil, nil
	}
	search := s.newSearch(ctx, &query, names)
	var known bool
	if search.ids, known = names.resolve(&query); !known {
		return nil, nil
	}
	if !search.prepare() || search.words() > 1 || s.maxTrees() < search.firstPage() {
		return nil, nil
	}
	kind := search.kind()
	found, hinted := s.hints.of(kind)
	if found.pair != nil {
		return nil, nil
	}
	if hinted {
		search.follow(&found)
	}
	p, err := search.readOnly(conn)
	if p == nil || err != nil {
		return nil, err
	}
	result := newResult(search)
	result.found = p
	if err := result.keepAll(); err != nil {
		return nil, err
	}
	if result.count < query.Limit && !search.leads.isOver {
		if hinted {
			s.hints.forget(kind) // it no longer leads to enough candidates
		}
		return nil, nil
	}
	search.remember()
	return result, nil
}

// readOnly reads a page outside of a transaction. It returns nil if the names or the sharing providers are not those
// that the server remembers.
func (s *candidateSearch) readOnly(conn *postgres.Conn) (*page, error) {
	args, _ := s.leads.next(s.pageSize(s.query.Limit))
	p := newPage()
	if err := postgres.EachRow(s.ctx, conn, s.pageQuery(&args, 0), p.read); err != nil {
		return nil, err
	}
	p.arrange()
	classes, traits := s.names.missingNames(p)
	shares := false
	for i := range p.leads {
		shares = shares || p.leads[i].shares && (s.chosen != nil || s.query.isByCapacity())
	}
	if p.nameChanges != s.names.changes || p.sharing != s.ids.sharing || len(classes)+len(traits) > 0 || shares {
		return nil, nil
	}
	s.count(p, &args)
	s.keepNewTrees(p)
	return p, nil
}
