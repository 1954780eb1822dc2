package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// wantedGroup is a CandidateGroup with ids for names; -1 stands for a name that
// nothing has.
type wantedGroup struct {
	*CandidateGroup
	classes     []int32
	required    [][]int32
	forbidden   []int32
	memberOf    [][]int32
	notMemberOf []int32
	// root is that of the tree to look in, 0 for any.
	root int64
}

// wantedIDs is a CandidateQuery with ids for names.
type wantedIDs struct {
	groups                      []wantedGroup
	rootRequired, rootForbidden []int32
	// sharing: some providers share their inventory with the trees of their
	// aggregates. sharingTraits is the id of the trait that says so.
	sharing       bool
	sharingTraits []int32
}

const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// candidateNames are all names of a query, in the order in which take gives the ids
// back.
func candidateNames(query *CandidateQuery) db.CandidateNamesParams {
	names := db.CandidateNamesParams{
		Classes: []string{}, Aggregates: []uuid.UUID{}, Trees: []uuid.UUID{},
		Traits: slices.Concat([]string{sharingTrait}, query.RootRequired, query.RootForbidden),
	}
	for i := range query.Groups {
		group := &query.Groups[i]
		for _, wanted := range group.Resources {
			names.Classes = append(names.Classes, wanted.Class)
		}
		names.Traits = slices.Concat(names.Traits, slices.Concat(group.Required...), group.Forbidden)
		names.Aggregates = slices.Concat(names.Aggregates, slices.Concat(group.MemberOf...), group.NotMemberOf)
		if group.InTree != nil {
			names.Trees = append(names.Trees, *group.InTree)
		}
	}
	return names
}

// identify puts the ids in the places of the names.
func identify(query *CandidateQuery, found db.CandidateNamesRow) *wantedIDs {
	ids := &wantedIDs{sharing: found.Sharing}
	ids.sharingTraits = take(&found.TraitIds, 1)
	ids.rootRequired = take(&found.TraitIds, len(query.RootRequired))
	ids.rootForbidden = take(&found.TraitIds, len(query.RootForbidden))
	for i := range query.Groups {
		group := &query.Groups[i]
		wanted := wantedGroup{CandidateGroup: group, classes: take(&found.ClassIds, len(group.Resources))}
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

// take cuts the first of some ids off.
func take[T any](from *[]T, count int) []T {
	taken := (*from)[:count:count]
	*from = (*from)[count:]
	return taken
}

// refusal is the error for the first unknown name of a query, with the place of its
// group, -1 for root_required; nil if all are known. Classes of a group come before
// its traits, required traits before forbidden ones.
func (w *wantedIDs) refusal(query *CandidateQuery) (group int, refused *Refused) {
	if refused := unknownTraits(query.RootRequired, w.rootRequired); refused != nil {
		return -1, refused
	}
	if refused := unknownTraits(query.RootForbidden, w.rootForbidden); refused != nil {
		return -1, refused
	}
	for i := range w.groups {
		group := &w.groups[i]
		if at := slices.Index(group.classes, -1); at >= 0 {
			return i, &Refused{Rule: ClassUnknown, Values: Values{Class: group.Resources[at].Class}}
		}
		refused := unknownTraits(slices.Concat(group.Required...), slices.Concat(group.required...))
		if refused == nil {
			refused = unknownTraits(group.Forbidden, group.forbidden)
		}
		if refused != nil {
			return i, refused
		}
	}
	return 0, nil
}

func unknownTraits(names []string, ids []int32) *Refused {
	unknown := unknownNames(names, ids)
	if unknown == nil {
		return nil
	}
	return &Refused{Rule: TraitUnknown, Values: Values{Traits: strings.Join(unknown, ", ")}}
}

// reports tells whether an unknown name is to be reported: group by group, the
// reference stops with an empty answer where one finds nothing, and never gets to
// the names of later ones. Each group before is asked for by itself; of the
// group with the name, if it is a trait, only the aggregates, below any root.
func (s *candidateSearch) reports(ctx context.Context, group int, refused *Refused) (bool, error) {
	if group < 0 {
		return true, nil
	}
	var asked []CandidateQuery
	belowRoots := func(group CandidateGroup) {
		asked = append(asked, CandidateQuery{
			Groups: []CandidateGroup{group}, RootRequired: s.query.RootRequired, RootForbidden: s.query.RootForbidden, Limit: 1,
		})
	}
	for _, before := range s.query.Groups[:group] {
		belowRoots(before)
	}
	if len(s.query.RootRequired)+len(s.query.RootForbidden) > 0 {
		belowRoots(CandidateGroup{Suffix: "any root"})
	}
	if failing := s.query.Groups[group]; refused.Rule == TraitUnknown && len(failing.MemberOf) > 0 {
		asked = append(asked, CandidateQuery{Groups: []CandidateGroup{{Suffix: "its aggregates", MemberOf: failing.MemberOf}}, Limit: 1})
	}
	for _, query := range asked {
		search := &candidateSearch{ctx: ctx, queries: s.queries, reading: s.reading, query: &query, names: s.names}
		found, err := search.any()
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
}
