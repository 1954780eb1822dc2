package bruteforce

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// stageKind is the position of a stage in the funnel.
type stageKind int

const (
	treeStage stageKind = iota
	rootStage
	groupStage
	combinationStage
)

// funnelStage is a stage of the funnel, with the number of anchors that pass it and all before.
type funnelStage struct {
	explain.Stage
	kind   stageKind
	passes func(anchor *Provider) bool
	left   int
}

func (e *explainer) funnelStages() []*funnelStage {
	stages := []*funnelStage{{Stage: explain.Stage{Stage: "all"}, passes: func(*Provider) bool { return true }}}
	if slices.ContainsFunc(e.request.groups, func(g *group) bool { return g.inTree != "" }) {
		stages = append(stages, &funnelStage{Stage: explain.Stage{Stage: "in_tree"}, passes: e.servesNamedTrees})
	}
	if len(e.request.notInTree) > 0 {
		isLeft := func(anchor *Provider) bool { return !e.isExcluded(anchor) }
		stages = append(stages, &funnelStage{Stage: explain.Stage{Stage: "not_in_tree"}, passes: isLeft})
	}
	stages = append(stages, e.rootStages()...)
	for _, g := range e.request.groups {
		stages = append(stages, &funnelStage{Stage: explain.Stage{Stage: "group", Group: &g.suffix}, kind: groupStage,
			passes: func(anchor *Provider) bool { return e.meetsGroup(g, anchor) }})
	}
	return append(stages, e.combinationStages()...)
}

// servesNamedTrees reports whether an anchor can serve each group that names a tree.
func (e *explainer) servesNamedTrees(anchor *Provider) bool {
	return !slices.ContainsFunc(e.request.groups, func(g *group) bool {
		canServe := func(p *Provider) bool {
			return e.reaches(anchor, p) && e.isInTreeOf(p, g.inTree) && (g.suffix != "" || !e.isForeign(anchor, p))
		}
		return g.inTree != "" && !slices.ContainsFunc(e.Providers, canServe)
	})
}

func (e *explainer) rootStages() []*funnelStage {
	var stages []*funnelStage
	add := func(stage, value string, passes func(root *Provider) bool) {
		stages = append(stages, &funnelStage{Stage: explain.Stage{Stage: stage, Value: value}, kind: rootStage, passes: passes})
	}
	for _, trait := range e.request.rootRequired {
		add("root_required", trait, func(root *Provider) bool { return root.hasTrait(trait) })
	}
	for _, trait := range e.request.rootForbidden {
		add("root_required", "!"+trait, func(root *Provider) bool { return !root.hasTrait(trait) })
	}
	for _, anyOf := range e.request.rootMemberOf {
		add("root_member_of", anyOfValue(anyOf), func(root *Provider) bool { return root.isInAnyOf(anyOf) })
	}
	if forbidden := e.request.rootNotMemberOf; forbidden != nil {
		add("root_member_of", "!"+anyOfValue(forbidden), func(root *Provider) bool { return !root.isInAnyOf(forbidden) })
	}
	return stages
}

// anyOfValue returns the value of a parameter for any one of several names.
func anyOfValue(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "in:" + strings.Join(names, ",")
}

func (e *explainer) meetsGroup(g *group, anchor *Provider) bool {
	return !slices.ContainsFunc(e.parts, func(p *explainedPart) bool {
		return slices.Contains(p.groups, g) && !e.isMetAt(p, anchor)
	})
}

// combinationStages returns the stages that need a choice of providers for several groups. Each searches with the
// constraints up to its own.
func (e *explainer) combinationStages() []*funnelStage {
	var stages []*funnelStage
	add := func(stage string, isPresent bool, passes func(anchor *Provider) bool) {
		if isPresent {
			stages = append(stages, &funnelStage{Stage: explain.Stage{Stage: stage}, kind: combinationStage, passes: passes})
		}
	}
	with := func(narrow func(r *request)) func(*Provider) bool {
		r := *e.request
		narrow(&r)
		return func(anchor *Provider) bool {
			return e.hasChoice(&r, anchor, func(combination []solution) bool { return e.minor >= 29 || e.usesEachTreeOnce(combination) })
		}
	}
	unbound := func(r *request) { r.policy, r.isolated, r.subtrees = "", nil, nil }
	hasUnsuffixed := e.request.hasGroup("")
	add("traits", hasUnsuffixed && e.request.group("").required != nil && e.needsTraitsTogether(e.request.group("")),
		func(anchor *Provider) bool {
			alone := &request{groups: []*group{e.request.group("")}, canSplit: e.request.canSplit, isExtended: e.request.isExtended}
			// A class that other groups need too is split over more providers, which can have more traits.
			return e.hasChoice(alone, anchor, func([]solution) bool { return true }) || with(unbound)(anchor)
		})
	add("one_per_tree", e.minor < 29, func(anchor *Provider) bool {
		s := &search{Deployment: e.Deployment, request: e.request}
		return slices.ContainsFunc(slices.Collect(product(s.allSolutions(anchor))), e.usesEachTreeOnce)
	})
	add("sums", e.canExceedSums(), with(unbound))
	add("isolate", e.request.policy == "isolate" || e.request.isolated != nil, with(func(r *request) { r.subtrees = nil }))
	add("same_subtree", e.request.subtrees != nil, with(func(*request) {}))
	add("candidates", true, with(func(*request) {}))
	return stages
}

// canExceedSums reports whether two groups request one class, or a class can be split.
func (e *explainer) canExceedSums() bool {
	seen := map[string]bool{}
	for _, g := range e.request.groups {
		for class := range g.resources {
			if seen[class] {
				return true
			}
			seen[class] = true
		}
	}
	return len(e.request.canSplit) > 0
}

// hasChoice reports whether an anchor has a candidate for a request with fewer constraints.
func (e *explainer) hasChoice(r *request, anchor *Provider, accepts func(combination []solution) bool) bool {
	s := &search{Deployment: e.Deployment, request: r}
	for combination := range product(s.allSolutions(anchor)) {
		if s.isAcceptable(combination) && accepts(combination) {
			return true
		}
	}
	return len(r.canSplit) > 0 && len(s.splitCandidates(anchor)) > 0
}

// usesEachTreeOnce reports whether all providers of a combination are in different trees
// (docs/contract/allocation-candidates.md#microversions-below-129).
func (e *explainer) usesEachTreeOnce(combination []solution) bool {
	var uses []use
	for _, chosen := range combination {
		uses = append(uses, chosen.uses...)
	}
	roots := map[*Provider]bool{}
	for _, provider := range contributing(uses) {
		roots[e.Root(provider)] = true
	}
	return len(roots) == len(contributing(uses))
}

// countStages filters the anchors stage by stage.
func (e *explainer) countStages() {
	left := e.Roots()
	for _, stage := range e.stages {
		left = slices.DeleteFunc(slices.Clone(left), func(anchor *Provider) bool { return !stage.passes(anchor) })
		stage.left = len(left)
		if stage.kind == treeStage {
			e.looked = left
		}
		if stage.kind <= rootStage {
			e.anchors = left
		}
	}
}

func (e *explainer) funnel() []explain.Stage {
	var shown []explain.Stage
	for _, stage := range e.stages {
		stage.Stage.Trees = int64(stage.left)
		shown = append(shown, stage.Stage)
	}
	return shown
}
