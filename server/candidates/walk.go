package candidates

import (
	"context"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/candidates/combine"
)

// walkRows are the rows of one of the two statements.
type walkRows struct {
	tree []db.CandidateWalkSimpleRow
	all  []db.CandidateWalkGeneralRow
}

func (r *walkRows) len() int { return len(r.tree) + len(r.all) }

func (r *walkRows) at(place int) db.CandidateWalkGeneralRow {
	if r.all == nil {
		return db.CandidateWalkGeneralRow(r.tree[place])
	}
	return r.all[place]
}

// walk returns the query for a page.
func (s *candidateSearch) walk(page []int64) func(context.Context, db.DBTX) (walkRows, error) {
	slots, sets := encoded(s.parts), s.sets.texts()
	if s.usesSimpleWalk() {
		return func(ctx context.Context, to db.DBTX) (rows walkRows, err error) {
			rows.tree, err = s.queries.CandidateWalkSimple(ctx, to, db.CandidateWalkSimpleParams{
				Slots: slots, Roots: page, RootRequired: s.ids.rootRequired, RootForbidden: s.ids.rootForbidden,
				Sets: sets, Marks: marks(s.count),
			})
			return rows, err
		}
	}
	subtrees := encoded(s.subtrees)
	return func(ctx context.Context, to db.DBTX) (rows walkRows, err error) {
		rows.all, err = s.queries.CandidateWalkGeneral(ctx, to, db.CandidateWalkGeneralParams{
			Slots: slots, Roots: page, RootRequired: s.ids.rootRequired, RootForbidden: s.ids.rootForbidden,
			Subtrees: subtrees, Sharing: s.ids.sharing, SharingTraits: s.ids.sharingTraits,
			Sets: sets, Marks: marks(s.count),
		})
		return rows, err
	}
}

// usesSimpleWalk reports whether CandidateWalkSimple suffices.
func (s *candidateSearch) usesSimpleWalk() bool {
	return !s.ids.sharing && len(s.subtrees) == 0 && !slices.ContainsFunc(s.parts, func(p slotPart) bool { return p.Class == noClass })
}

// trees builds trees from rows, which are in the order of roots, slots, providers.
func (s *candidateSearch) trees(rows walkRows, page []int64) []*candidateTree {
	parents := map[int64]int64{}
	if len(s.subtrees) > 0 {
		for _, row := range rows.all {
			parents[row.ProviderID] = row.ParentID
		}
	}
	var trees []*candidateTree
	var tree *candidateTree
	places := map[int64]int{}
	for i := range rows.len() {
		row := rows.at(i)
		if row.Slot < 0 {
			continue // the row only contains the parent of a provider
		}
		if tree == nil || tree.Anchor != row.RootID {
			tree = &candidateTree{Tree: combine.Tree{Anchor: row.RootID, Options: make([][]combine.Option, s.count)}}
			trees = append(trees, tree)
			clear(places)
		}
		place, known := places[row.ProviderID]
		if !known {
			place = len(tree.Providers)
			places[row.ProviderID] = place
			provider := combine.Provider{ID: row.ProviderID, Root: row.TreeID, Shared: row.Shares}
			if len(s.subtrees) > 0 {
				provider.Path = pathOf(row.ProviderID, parents)
			}
			tree.Providers = append(tree.Providers, provider)
			tree.uuids = append(tree.uuids, row.Uuid)
		}
		fits := &tree.Options[row.Slot]
		if row.Position == 0 {
			*fits = append(*fits, combine.Option{Provider: place, Met: parseTraitSets(row.Met)})
		}
		last := &(*fits)[len(*fits)-1]
		last.Free = append(last.Free, row.Free)
	}
	if !slices.IsSorted(page) {
		order := make(map[int64]int, len(page))
		for i, root := range page {
			order[root] = i
		}
		slices.SortFunc(trees, func(a, b *candidateTree) int { return order[a.Anchor] - order[b.Anchor] })
	}
	return trees
}

// parseTraitSets returns the indices of the trait sets that are met.
func parseTraitSets(marks string) (met []int32) {
	for i, mark := range marks {
		if mark == '1' {
			met = append(met, int32(i))
		}
	}
	return met
}

// pathOf returns a provider and its ancestors.
func pathOf(id int64, parents map[int64]int64) []int64 {
	var path []int64
	for ; id != 0; id = parents[id] {
		path = append(path, id)
	}
	return path
}
