package candidates

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/store"
)

// resolvedGroup is a Group with ids instead of names; -1 stands for a name that no row has.
type resolvedGroup struct {
	*Group
	classes     []int32
	required    [][]int32
	forbidden   []int32
	memberOf    [][]int32
	notMemberOf []int32
	// root is the root of the tree to search; 0 for any.
	root int64
}

// resolvedQuery is a Query with ids instead of names.
type resolvedQuery struct {
	groups                      []resolvedGroup
	rootRequired, rootForbidden []int32
	rootMemberOf                [][]int32
	rootNotMemberOf             []int32
	// sharing is true if some providers share their inventory with the trees of their aggregates. sharingTraits is the
	// id of the trait MISC_SHARES_VIA_AGGREGATE.
	sharing       bool
	sharingTraits []int32
}

const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// candidateNames returns all names of a query, in the order in which take returns the ids.
func candidateNames(query *Query) db.CandidateNamesParams {
	names := db.CandidateNamesParams{
		Classes: []string{}, Trees: []uuid.UUID{},
		Aggregates: slices.Concat([]uuid.UUID{}, slices.Concat(query.RootMemberOf...), query.RootNotMemberOf),
		Traits:     slices.Concat([]string{sharingTrait}, query.RootRequired, query.RootForbidden),
	}
	for i := range query.Groups {
		group := &query.Groups[i]
		for _, wanted := range group.Resources {
			names.Classes = append(names.Classes, wanted.Class)
		}
		names.Traits = append(append(names.Traits, slices.Concat(group.Required...)...), group.Forbidden...)
		names.Aggregates = append(append(names.Aggregates, slices.Concat(group.MemberOf...)...), group.NotMemberOf...)
		if group.InTree != nil {
			names.Trees = append(names.Trees, *group.InTree)
		}
	}
	return names
}

// resolveNames replaces the names by ids.
func resolveNames(query *Query, found db.CandidateNamesRow) *resolvedQuery {
	ids := &resolvedQuery{sharing: found.Sharing}
	ids.sharingTraits = take(&found.TraitIds, 1)
	ids.rootRequired = take(&found.TraitIds, len(query.RootRequired))
	ids.rootForbidden = take(&found.TraitIds, len(query.RootForbidden))
	for _, set := range query.RootMemberOf {
		ids.rootMemberOf = append(ids.rootMemberOf, take(&found.AggregateIds, len(set)))
	}
	ids.rootNotMemberOf = take(&found.AggregateIds, len(query.RootNotMemberOf))
	for i := range query.Groups {
		group := &query.Groups[i]
		wanted := resolvedGroup{Group: group, classes: take(&found.ClassIds, len(group.Resources))}
		for _, set := range group.Required {
			wanted.required = append(wanted.required, take(&found.TraitIds, len(set)))
		}
		wanted.forbidden = take(&found.TraitIds, len(group.Forbidden))
		for _, set := range group.MemberOf {
			wanted.memberOf = append(wanted.memberOf, take(&found.AggregateIds, len(set)))
		}
		wanted.notMemberOf = take(&found.AggregateIds, len(group.NotMemberOf))
		if group.InTree != nil {
			wanted.root = take(&found.TreeIds, 1)[0]
		}
		ids.groups = append(ids.groups, wanted)
	}
	return ids
}

// take removes the first ids from a slice and returns them.
func take[T any](from *[]T, count int) []T {
	taken := (*from)[:count:count]
	*from = (*from)[count:]
	return taken
}

// firstUnknownName returns the error for the first unknown name of a query, and the index of its group, -1 for
// root_required; nil if all are known. Classes of a group come before its traits, required traits before forbidden
// ones.
func (w *resolvedQuery) firstUnknownName(query *Query) (group int, refused *store.RuleViolation) {
	if refused := store.UnknownTraits(query.RootRequired, w.rootRequired); refused != nil {
		return -1, refused
	}
	if refused := store.UnknownTraits(query.RootForbidden, w.rootForbidden); refused != nil {
		return -1, refused
	}
	for i := range w.groups {
		group := &w.groups[i]
		if at := slices.Index(group.classes, -1); at >= 0 {
			return i, &store.RuleViolation{Rule: store.ClassNotFound, Values: store.Values{Class: group.Resources[at].Class}}
		}
		refused := store.UnknownTraits(slices.Concat(group.Required...), slices.Concat(group.required...))
		if refused == nil {
			refused = store.UnknownTraits(group.Forbidden, group.forbidden)
		}
		if refused != nil {
			return i, refused
		}
	}
	return 0, nil
}

// mustReportUnknown reports whether an unknown name is an error. It always is for extended queries. OpenStack Placement processes one group after the
// other. It returns no candidates as soon as one group finds no provider, and never resolves the names of later groups.
// So this searches each earlier group by itself. Of the group with the name, if that is a trait, it searches only the
// aggregates, below any root.
func (s *candidateSearch) mustReportUnknown(ctx context.Context, group int, refused *store.RuleViolation) (bool, error) {
	if group < 0 || s.query.Extended {
		return true, nil
	}
	var queries []Query
	belowRoots := func(group Group) {
		queries = append(queries, Query{
			Groups: []Group{group}, RootRequired: s.query.RootRequired, RootForbidden: s.query.RootForbidden, Limit: 1,
		})
	}
	for _, before := range s.query.Groups[:group] {
		belowRoots(before)
	}
	if len(s.query.RootRequired)+len(s.query.RootForbidden) > 0 {
		belowRoots(Group{Suffix: "any root"})
	}
	if failing := s.query.Groups[group]; refused.Rule == store.TraitNotFound && len(failing.MemberOf) > 0 {
		queries = append(queries, Query{Groups: []Group{{Suffix: "its aggregates", MemberOf: failing.MemberOf}}, Limit: 1})
	}
	for _, query := range queries {
		search := &candidateSearch{ctx: ctx, of: s.of, snapshot: s.snapshot, query: &query, names: s.names, spending: &spending{}}
		found, err := search.any()
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
}
