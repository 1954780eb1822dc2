package candidates

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// ClaimOptions are the options of FindForClaim.
type ClaimOptions struct {
	// Limit is how many candidates to find, at least 1.
	Limit int
	// MayUseReplica permits a replica for the search. Without it, the search runs on the primary.
	MayUseReplica bool
	// Freed counts as free: what the consumer gives back when it gets a candidate, each provider and class once. The trees of
	// its providers come first.
	Freed []FreedAmount
	// Look, unless nil, runs in the snapshot of the search before the queries. Its error ends the search. It does not run if
	// a single statement outside of a transaction found candidates.
	Look func(ctx context.Context, in *postgres.Snapshot) error
	// Refuse, unless nil, runs in the snapshot of a search that found nothing, after its turn. Its error is the error of FindForClaim. It must
	// not acquire another connection.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *ClaimSearch) error
}

// FreedAmount is an allocation that counts as free.
type FreedAmount struct {
	ProviderID int64 `json:"provider"`
	ClassID    int32 `json:"class"`
	Amount     int64 `json:"amount"`
}

// ClaimSearch is what FindForClaim found: candidates of one query, or none of any.
type ClaimSearch struct {
	// Query is the index of the query that has the candidates; that of the last one if there are none.
	Query int
	// Candidates are in the order in which to try them. Without any, nothing fitted at the moment of the snapshot.
	Candidates []ClaimCandidate
	// Reason is why the last query found nothing; empty if there are candidates.
	Reason EmptyReason
}

// ClaimCandidate is a candidate with all that a claim compares under locks.
type ClaimCandidate struct {
	// RootID and Root are the anchor.
	RootID int64
	Root   uuid.UUID
	// Uses are the amounts: each provider and class once, in the order of their ids.
	Uses []ClaimUse
	// Mappings are the providers that serve each group, by suffix.
	Mappings map[string][]uuid.UUID
	// Guards are the rows that the candidate rests on: every provider of Mappings, the anchor, and the providers of in_tree. In
	// the order of ids.
	Guards []ClaimGuard
	// Links are the providers of other trees: each shares with the tree of the anchor through an aggregate. In the order of
	// ids.
	Links []ClaimLink
}

// ClaimUse is an amount of a class on a provider.
type ClaimUse struct {
	ProviderID int64
	Provider   uuid.UUID
	ClassID    int32
	Class      string
	Amount     int64
}

// ClaimGuard is a provider and the revision that it had in the snapshot.
type ClaimGuard struct{ ProviderID, Revision int64 }

// ClaimLink is a sharing provider that the tree of an anchor can use.
type ClaimLink struct{ RootID, ProviderID int64 }

// QueryError is the error of one of several queries: a *store.RuleViolation with TraitNotFound or ClassNotFound for an
// unknown name, or a fault if the search exceeds its budget.
type QueryError struct {
	Query int
	Err   error
}

func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the index of the query.
func (e *QueryError) Unwrap() error { return e.Err }

// claimCandidates adds all candidates of a result to others.
func (c *Result) claimCandidates(found []ClaimCandidate) ([]ClaimCandidate, error) {
	err := c.each(func(p *page, picks []int32, parts []part) bool {
		found = append(found, c.claimCandidate(p, picks, parts))
		return true
	})
	return found, err
}

// claimCandidate returns the candidate of a choice. It shares no memory with the page.
func (c *Result) claimCandidate(p *page, picks []int32, parts []part) ClaimCandidate {
	s, anchor := c.search, p.tree(c.anchor)
	shaper := &claimShaper{search: s, page: p, ClaimCandidate: ClaimCandidate{
		RootID: anchor.id, Root: anchor.uuid, Mappings: map[string][]uuid.UUID{},
		Guards: []ClaimGuard{{anchor.id, anchor.revision}},
	}}
	for i := range s.ids.groups {
		if group := &s.ids.groups[i]; group.InTree != nil {
			shaper.guardTree(anchor, group)
		}
	}
	for i, row := range picks {
		if want := &s.wants[i]; row >= 0 {
			shaper.serve(want.group, row)
			for j, resource := range want.resources {
				shaper.use(row, s.asked.Requirements[i].Uses[j].Class, resource)
			}
		}
	}
	for _, part := range parts {
		of := &s.splits[part.split]
		shaper.serve(s.wants[of.want].group, part.row)
		shaper.use(part.row, of.class, store.Amount{Class: of.amount.Class, Amount: part.amount})
	}
	return shaper.sorted()
}

// claimShaper is a candidate while its parts are collected.
type claimShaper struct {
	ClaimCandidate
	search *candidateSearch
	page   *page
}

// guardTree adds the provider that in_tree of a group names: it can leave the tree without a change of other providers. If
// it has left between the two statements of a search, the guard is one that no provider meets. A provider in the tree of a
// sharing provider is only guarded if the page has it.
func (m *claimShaper) guardTree(anchor *provider, group *resolvedGroup) {
	tree := m.page.tree(group.root)
	if tree == nil {
		return
	}
	guard := ClaimGuard{-1, -1}
	for i := tree.tree.start; i < tree.tree.end; i++ {
		if provider := &m.page.providers[i]; provider.uuid == *group.InTree {
			guard = ClaimGuard{provider.id, provider.revision}
		}
	}
	if (guard.ProviderID >= 0 || tree == anchor) && !slices.Contains(m.Guards, guard) {
		m.Guards = append(m.Guards, guard)
	}
}

// serve adds a provider to those that serve a group.
func (m *claimShaper) serve(group int, row int32) {
	provider, suffix := &m.page.providers[row], m.search.query.Groups[group].Suffix
	if !slices.Contains(m.Mappings[suffix], provider.uuid) {
		m.Mappings[suffix] = append(m.Mappings[suffix], provider.uuid)
	}
	if guard := (ClaimGuard{provider.id, provider.revision}); !slices.Contains(m.Guards, guard) {
		m.Guards = append(m.Guards, guard)
		if provider.root != m.RootID {
			m.Links = append(m.Links, ClaimLink{m.RootID, provider.id})
		}
	}
}

// use adds an amount of a class on a provider.
func (m *claimShaper) use(row int32, class int32, of store.Amount) {
	provider := &m.page.providers[row]
	at := slices.IndexFunc(m.Uses, func(u ClaimUse) bool { return u.ProviderID == provider.id && u.ClassID == class })
	if at >= 0 {
		m.Uses[at].Amount += of.Amount
		return
	}
	m.Uses = append(m.Uses, ClaimUse{ProviderID: provider.id, Provider: provider.uuid, ClassID: class, Class: of.Class, Amount: of.Amount})
}

// sorted returns the candidate with its lists in the order of ids.
func (m *claimShaper) sorted() ClaimCandidate {
	slices.SortFunc(m.Uses, func(a, b ClaimUse) int {
		return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.ClassID, b.ClassID))
	})
	slices.SortFunc(m.Guards, func(a, b ClaimGuard) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	slices.SortFunc(m.Links, func(a, b ClaimLink) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return m.ClaimCandidate
}
