package explain

import (
	"math"
	"slices"

	"github.com/berthd/berth/server/search/candidates"
)

// funnel returns the stages, each with the trees that pass it and all before.
func (e *explanationBuilder) funnel() []Stage {
	t := e.tally
	stages := []Stage{{Stage: "all", Trees: t.roots}}
	if e.inTree >= 0 {
		stages = append(stages, Stage{Stage: "in_tree", Trees: e.inTree})
	}
	if e.notInTree >= 0 {
		stages = append(stages, Stage{Stage: "not_in_tree", Trees: e.notInTree})
	}
	add := func(stage Stage, of func(*counts) int64) {
		stage.Trees = min(t.number(of), stages[len(stages)-1].Trees)
		stages = append(stages, stage)
	}
	for i, root := range e.r.roots {
		add(Stage{Stage: root.stage, Value: root.value}, func(c *counts) int64 { return c.afterRoots[i] })
	}
	for i := range e.r.query.Groups {
		add(Stage{Stage: "group", Group: &e.r.query.Groups[i].Suffix}, func(c *counts) int64 { return c.afterGroups[i] })
	}
	for i := range e.stages {
		add(Stage{Stage: e.stages[i].name}, func(c *counts) int64 { return c.afterStages[i] })
	}
	if last := &stages[len(stages)-1]; e.Found == 0 {
		last.Trees = 0
	} else if last.Trees = max(last.Trees, 1); !e.explanation.Sample.Exact {
		for i := len(stages) - 2; i >= 0 && stages[i].Trees == 0; i-- {
			stages[i].Trees = 1
		}
	}
	return stages
}

// parts returns what each part leaves.
func (e *explanationBuilder) parts() []Part {
	all := make([]Part, len(e.r.parts))
	for i := range e.r.parts {
		of := &e.r.parts[i]
		part := Part{Groups: e.r.suffixes(of.groups), Resources: map[string]int64{}, CanSplit: of.canSplit}
		for _, amount := range of.amounts {
			part.Resources[amount.Class] = amount.Amount
		}
		for j, step := range of.steps {
			shown := Step{
				Step: step.kind, Value: step.value,
				Providers: e.tally.number(func(c *counts) int64 { return c.parts[i].providers[j] }),
				Trees:     e.tally.number(func(c *counts) int64 { return c.parts[i].trees[j] }),
			}
			if j > 0 {
				shown.Providers, shown.Trees = min(shown.Providers, part.Steps[j-1].Providers), min(shown.Trees, part.Steps[j-1].Trees)
			}
			if step.isOfInventory() {
				shown.Class = of.amounts[step.at].Class
			}
			part.Steps = append(part.Steps, shown)
		}
		if of.canSplit {
			trees := e.tally.number(func(c *counts) int64 { return c.parts[i].splitTrees })
			part.SplitTrees = &trees
		}
		all[i] = part
	}
	return all
}

// addIsolatedConflicts adds the equal groups that must be apart and for which no tree has enough providers.
func (e *explanationBuilder) addIsolatedConflicts() {
	from := len(e.explanation.Conflicts)
	for i := range e.r.parts {
		of := &e.r.parts[i]
		for _, set := range e.r.isolatedSets() {
			apart := e.r.suffixes(slices.DeleteFunc(slices.Clone(of.groups), func(place int) bool { return !slices.Contains(set, place) }))
			isKnown := func(c Conflict) bool { return slices.Equal(c.Groups, apart) }
			most := e.tally.most[i]
			if of.suffixed && len(apart) > 1 && most < int64(len(apart)) && !slices.ContainsFunc(e.explanation.Conflicts[from:], isKnown) {
				e.explanation.Conflicts = append(e.explanation.Conflicts, Conflict{
					Conflict: "isolated_groups", Groups: apart, Amount: int64(len(apart)), Largest: &most,
				})
			}
		}
	}
}

// isolatedSets returns the sets of groups that need different providers.
func (q *parsedQuery) isolatedSets() [][]int {
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
func (e *explanationBuilder) nearest() []Tree {
	shown := []Tree{}
	for i := range e.tally.nearest {
		treeResult := &e.tally.nearest[i]
		shown = append(shown, Tree{
			Tree: treeResult.root.name, Distance: math.Round(treeResult.distance*1000) / 1000, Missing: e.missingOf(treeResult), Stage: treeResult.stage,
			FreedBy: treeResult.freedBy,
		})
	}
	return shown
}

// missingOf returns the conditions that a tree does not meet.
func (e *explanationBuilder) missingOf(of *treeResult) []Missing {
	all := []Missing{}
	for _, i := range of.failedRoots {
		all = append(all, Missing{Step: e.r.roots[i].stage, Value: e.r.roots[i].value})
	}
	for i := range of.parts {
		result, asked := &of.parts[i], &e.r.parts[i]
		groups := e.r.suffixes(asked.groups)
		if result.best == nil {
			for _, amount := range asked.amounts {
				all = append(all, Missing{Groups: groups, Step: stepInventory, Class: amount.Class})
			}
			continue
		}
		for _, failed := range result.best.failed {
			all = append(all, missingStep(groups, asked, result.best, &failed))
		}
	}
	return all
}

func missingStep(groups []string, asked *part, v *verdict, failed *failure) Missing {
	missing := Missing{Groups: groups, Step: failed.step.kind, Value: failed.step.value, Provider: &v.provider.name}
	if failed.step.isOfInventory() {
		amount := asked.amounts[failed.step.at]
		missing.Class = amount.Class
		if failed.step.kind != stepInventory {
			missing.Amount, missing.Gives = amount.Amount, &failed.gives
		}
	}
	return missing
}

// suffixes returns the suffixes of groups.
func (q *parsedQuery) suffixes(groups []int) []string { return suffixesOf(q.query, groups) }

func suffixesOf(query *candidates.Query, groups []int) []string {
	all := make([]string, len(groups))
	for i, place := range groups {
		all[i] = query.Groups[place].Suffix
	}
	return all
}
