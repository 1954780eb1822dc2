package explain

import (
	"context"
	"reflect"
	"slices"

	"github.com/berthd/berth/server/search/candidates"
)

// The stages at which the groups of a tree have to go together.
const (
	stageTraits      = "traits"
	stageOnePerTree  = "one_per_tree"
	stageSums        = "sums"
	stageIsolate     = "isolate"
	stageSameSubtree = "same_subtree"
	stageCandidates  = "candidates"
)

// combination is a stage at which the groups of a tree have to go together: the query with the constraints up to it.
type combination struct {
	name  string
	query candidates.Query
	// or is another query: a tree that has candidates of it passes too. Nil if there is none.
	or         *candidates.Query
	ignoreSums bool
	// isWhole is true if the query is the one that is explained, as far as it matters for one tree.
	isWhole bool
}

// combinationStages returns the stages that apply.
func (q *parsedQuery) combinationStages() (all []combination) {
	whole := ofOneTree(q.query)
	unbound := whole
	unbound.Subtrees, unbound.Isolated, unbound.Isolate = nil, nil, false
	if len(q.sets) > 0 {
		all = append(all, q.traitStage(unbound))
	}
	if whole.OnePerTree {
		all = append(all, combination{name: stageOnePerTree, query: unbound, ignoreSums: true})
	}
	if q.hasSums() {
		all = append(all, combination{name: stageSums, query: unbound})
	}
	apart := unbound
	if whole.Isolate || len(whole.Isolated) > 0 {
		apart.Isolate, apart.Isolated = whole.Isolate, whole.Isolated
		all = append(all, combination{name: stageIsolate, query: apart})
	}
	if len(whole.Subtrees) > 0 {
		all = append(all, combination{name: stageSameSubtree, query: whole})
	}
	all = append(all, combination{name: stageCandidates, query: whole})
	for i := range all {
		all[i].isWhole = !all[i].ignoreSums && all[i].or == nil && reflect.DeepEqual(all[i].query, whole)
	}
	return all
}

// ofOneTree returns a query without what matters only for the order and the number of its candidates.
func ofOneTree(of *candidates.Query) candidates.Query {
	query := *of
	query.Limit, query.LimitPerTree, query.Order, query.Randomize, query.BreadthFirst = 0, 0, candidates.Order{}, false, false
	return query
}

// traitStage is the stage of the unsuffixed group by itself. The classes that it splits can be spread further for the sums
// of all groups, over more providers with more traits.
func (q *parsedQuery) traitStage(unbound candidates.Query) combination {
	alone := unbound
	alone.OnePerTree = false
	alone.RootRequired, alone.RootForbidden, alone.RootMemberOf, alone.RootNotMemberOf = nil, nil, nil, nil
	alone.Groups = slices.DeleteFunc(slices.Clone(unbound.Groups), func(g candidates.Group) bool { return g.Suffix != "" })
	result := combination{name: stageTraits, query: alone}
	switch {
	case len(alone.Groups) == len(unbound.Groups) && !unbound.OnePerTree:
		result.query = unbound
	case len(q.query.CanSplit) > 0:
		result.or = &unbound
	}
	return result
}

// hasSums reports whether two groups ask for one class, or an amount can be split.
func (q *parsedQuery) hasSums() bool {
	asked := map[string]bool{}
	for _, group := range q.query.Groups {
		for _, resource := range group.Resources {
			if asked[resource.Class] {
				return true
			}
			asked[resource.Class] = true
		}
	}
	return len(q.query.CanSplit) > 0
}

// combine evaluates the stages for trees that meet all parts.
func (e *explanationBuilder) combine(ctx context.Context, met []treeResult, into *counts) error {
	isWhole := false
	for i := range e.stages {
		stage := &e.stages[i]
		if len(met) == 0 {
			return nil
		}
		if !isWhole || !stage.isWhole { // otherwise the stage before had the same query
			with, err := e.treesWith(ctx, stage, met)
			if err != nil {
				return err
			}
			met = e.keepPassing(met, with, stage.name)
			isWhole = stage.isWhole
		}
		into.afterStages[i] += int64(len(met))
	}
	return nil
}

// treesWith returns the roots of the trees that pass a stage.
func (e *explanationBuilder) treesWith(ctx context.Context, stage *combination, of []treeResult) (map[int64]bool, error) {
	with := map[int64]bool{}
	if stage.isWhole && e.Found == 0 {
		return with, nil
	}
	queries := []candidates.Query{stage.query}
	if stage.or != nil {
		queries = append(queries, *stage.or)
	}
	for _, query := range queries {
		roots := []int64{}
		for i := range of {
			if !with[of[i].root.id] {
				roots = append(roots, of[i].root.id)
			}
		}
		if len(roots) == 0 {
			break
		}
		found, givenUp, err := e.search.TreesWithCandidates(ctx, e.in, query, roots, stage.ignoreSums)
		if err != nil {
			return nil, err
		}
		for _, root := range givenUp {
			e.givenUp[root] = true
		}
		for _, root := range found {
			with[root] = true
		}
	}
	return with, nil
}

// keepPassing returns the trees that pass a stage. The others are trees without candidates, except for those that the search
// has given up.
func (e *explanationBuilder) keepPassing(of []treeResult, with map[int64]bool, stage string) (passing []treeResult) {
	for _, treeResult := range of {
		if with[treeResult.root.id] {
			passing = append(passing, treeResult)
			continue
		}
		if e.givenUp[treeResult.root.id] {
			continue
		}
		treeResult.stage = stage
		e.tally.keepNearest(treeResult)
	}
	return passing
}
