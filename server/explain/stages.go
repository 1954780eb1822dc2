package explain

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/berthd/berth/server/candidates"
)

// combination is a stage at which the groups of a tree have to go together: the query with the constraints up to it.
type combination struct {
	name       string
	query      candidates.Query
	ignoreSums bool
}

// combinationStages returns the stages that apply.
func (q *question) combinationStages() (all []combination) {
	query := *q.query
	subtrees, isolated, isolate := query.Subtrees, query.Isolated, query.Isolate
	// A condition stays one, whatever the constraints are.
	query.Subtrees, query.Isolated, query.Isolate = nil, nil, false
	onePerTree := query.OnePerTree
	query.OnePerTree = false
	if len(q.sets) > 0 {
		whole := query
		whole.Groups = slices.DeleteFunc(slices.Clone(query.Groups), func(g candidates.Group) bool { return g.Suffix != "" })
		all = append(all, combination{"traits", whole, false})
	}
	if query.OnePerTree = onePerTree; onePerTree {
		all = append(all, combination{"one_per_tree", query, true})
	}
	if q.hasSums() {
		all = append(all, combination{"sums", query, false})
	}
	if isolate || len(isolated) > 0 {
		query.Isolate, query.Isolated = isolate, isolated
		all = append(all, combination{"isolate", query, false})
	}
	if len(subtrees) > 0 {
		query.Subtrees = subtrees
		all = append(all, combination{"same_subtree", query, false})
	}
	return append(all, combination{"candidates", *q.query, false})
}

// hasSums reports whether two groups ask for one class, or an amount can be split.
func (q *question) hasSums() bool {
	asked := map[string]int{}
	for _, group := range q.query.Groups {
		for _, one := range group.Resources {
			asked[one.Class]++
			if asked[one.Class] > 1 {
				return true
			}
		}
	}
	return len(q.query.CanSplit) > 0
}

// combinations evaluates the stages for the trees that have a provider for each part.
func (e *explaining) combinations(ctx context.Context) ([]Stage, error) {
	var stages []Stage
	slices.SortFunc(e.tally.met, func(a, b treeResult) int { return cmp.Compare(a.root.id, b.root.id) })
	left := make([]int64, 0, len(e.tally.met))
	for _, one := range e.tally.met {
		left = append(left, one.root.id)
	}
	e.failedAt = map[int64]string{}
	for _, stage := range e.r.combinationStages() {
		with := []int64{}
		if len(left) > 0 {
			found, err := e.search.TreesWithCandidates(ctx, e.in, stage.query, left, stage.ignoreSums)
			if err != nil {
				return nil, err
			}
			with = append(with, found...)
		}
		for _, root := range left {
			if !slices.Contains(with, root) && e.failedAt[root] == "" {
				e.failedAt[root] = stage.name
			}
		}
		left = with
		stages = append(stages, Stage{Stage: stage.name, Trees: e.estimate(int64(len(left)))})
	}
	return stages, nil
}

// estimate extrapolates a number of judged trees to all.
func (e *explaining) estimate(count int64) int64 {
	if e.made.Sample.Exact || e.tally.all == 0 {
		return count
	}
	return int64(math.Round(float64(count) * float64(e.roots) / float64(e.tally.all)))
}

// funnel returns the stages before the combinations.
func (e *explaining) funnel() []Stage {
	stages := []Stage{{Stage: "all", Trees: e.roots}}
	if e.inTree >= 0 {
		stages = append(stages, Stage{Stage: "in_tree", Trees: e.inTree})
	}
	for i, one := range e.r.roots {
		stages = append(stages, Stage{Stage: one.stage, Value: one.value, Trees: e.estimate(e.tally.afterRoots[i])})
	}
	for i := range e.r.query.Groups {
		suffix := e.r.query.Groups[i].Suffix
		stages = append(stages, Stage{Stage: "group", Group: &suffix, Trees: e.estimate(e.tally.afterGroups[i])})
	}
	return stages
}

// parts returns what each part leaves.
func (e *explaining) parts() []Part {
	all := make([]Part, len(e.r.parts))
	for i := range e.r.parts {
		of, counted := &e.r.parts[i], &e.tally.parts[i]
		made := Part{Groups: e.r.suffixes(of.groups), Resources: map[string]int64{}, CanSplit: of.canSplit}
		for _, one := range of.amounts {
			made.Resources[one.Class] = one.Amount
		}
		for j, one := range of.steps {
			shown := Step{Step: one.kind, Value: one.value, Providers: e.estimate(counted.providers[j]), Trees: e.estimate(counted.trees[j])}
			if one.isOfInventory() {
				shown.Class = of.amounts[one.at].Class
			}
			made.Steps = append(made.Steps, shown)
		}
		if of.canSplit {
			trees := e.estimate(counted.splitTrees)
			made.SplitTrees = &trees
		}
		all[i] = made
	}
	return all
}

// isolatedConflicts adds the equal groups that must be apart and for which no tree has enough providers.
func (e *explaining) isolatedConflicts() {
	for i := range e.r.parts {
		of := &e.r.parts[i]
		count := 0
		for _, set := range e.r.isolatedSets() {
			both := 0
			for _, place := range of.groups {
				if slices.Contains(set, place) {
					both++
				}
			}
			count = max(count, both)
		}
		if most := e.tally.parts[i].most; of.suffixed && count > 1 && most < int64(count) {
			e.made.Conflicts = append(e.made.Conflicts, Conflict{
				Conflict: "isolated_groups", Groups: e.r.suffixes(of.groups), Amount: int64(count), Largest: &most,
			})
		}
	}
}

// isolatedSets returns the sets of groups that need different providers.
func (q *question) isolatedSets() [][]int {
	if !q.query.Isolate {
		return q.query.Isolated
	}
	var all []int
	for place, group := range q.query.Groups {
		if group.Suffix != "" {
			all = append(all, place)
		}
	}
	return [][]int{all}
}

// nearest returns the trees that fail by least.
func (e *explaining) nearest() []Tree {
	all := slices.Clone(e.tally.nearest)
	for _, one := range e.tally.met {
		if e.failedAt[one.root.id] != "" {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b treeResult) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.root.id, b.root.id))
	})
	shown := []Tree{}
	for _, one := range all[:min(len(all), nearestTrees)] {
		made := Tree{Tree: one.root.name, Distance: math.Round(one.distance*1000) / 1000, Missing: e.missing(&one), Stage: e.failedAt[one.root.id]}
		shown = append(shown, made)
	}
	return shown
}

// missing returns the conditions that a tree does not meet.
func (e *explaining) missing(of *treeResult) []Missing {
	all := []Missing{}
	for _, i := range of.failedRoots {
		all = append(all, Missing{Step: e.r.roots[i].stage, Value: e.r.roots[i].value})
	}
	for i := range of.parts {
		result, asked := &of.parts[i], &e.r.parts[i]
		groups := e.r.suffixes(asked.groups)
		switch {
		case result.best == nil:
			for _, one := range asked.amounts {
				all = append(all, Missing{Groups: groups, Step: stepInventory, Class: one.Class})
			}
		case result.best.distance == 0 && !result.met: // the parts of a split amount do not add up
			sum := result.sum
			all = append(all, Missing{Groups: groups, Step: stepUsed, Class: asked.amounts[0].Class, Amount: asked.amounts[0].Amount, Gives: &sum, Provider: &result.best.provider.name})
		default:
			for _, failed := range result.best.failed {
				all = append(all, e.missingStep(groups, asked, result.best, &failed))
			}
		}
	}
	return all
}

func (e *explaining) missingStep(groups []string, asked *part, v *verdict, failed *failure) Missing {
	made := Missing{Groups: groups, Step: failed.step.kind, Value: failed.step.value, Provider: &v.provider.name}
	if failed.step.isOfInventory() {
		one := asked.amounts[failed.step.at]
		made.Class = one.Class
		if failed.step.kind != stepInventory {
			made.Amount, made.Gives = one.Amount, &failed.gives
		}
	}
	return made
}
