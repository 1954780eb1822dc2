package bruteforce

import (
	"slices"

	"github.com/berthd/berth/server/search/explain"
)

// explainer computes the explanation of a query (docs/contract/berth/explain.md).
type explainer struct {
	*search
	answer *Response
	minor  int
	parts  []*explainedPart
	// wanted are the single things that the query asks for.
	wanted []*wantedThing
	stages []*funnelStage
	// looked are the anchors that in_tree leaves, anchors those that pass all stages before the groups.
	looked, anchors []*Provider
	// shortfalls are those of all looked anchors without candidates, the nearest first.
	shortfalls []*shortfall
}

// Explain returns the explanation of a query at a minor version from 10 to 39, or at Berth, in the exact mode and without
// made_at and took_ms; nil for a query that is refused.
func (d *Deployment) Explain(rawQuery string, minor int) *explain.Explanation {
	answer := d.Ask(rawQuery, minor)
	if answer.Refused != "" {
		return nil
	}
	e := &explainer{search: &search{Deployment: d, request: answer.request}, answer: answer, minor: minor}
	e.parts = e.partsOfRequest()
	e.wanted = e.wantedThings()
	e.stages = e.funnelStages()
	e.countStages()
	e.shortfalls = e.allShortfalls()
	made := &explain.Explanation{
		Kind: "candidates", Sample: &explain.Sample{Exact: true, LookedAt: int64(len(e.looked)), Trees: int64(len(e.Roots()))},
		Funnel: e.funnel(), Parts: e.shownParts(), Facts: e.facts(), Conflicts: e.conflicts(), Nearest: e.nearest(),
	}
	changes := e.changes()
	isComplete := len(changes) <= maxChanges
	made.Relaxations = e.relaxations(changes[:min(len(changes), maxChanges)])
	made.RelaxationsComplete = &isComplete
	made.Reason = e.reason()
	made.Summary = e.summary(made)
	return made
}

// reason returns the first reason that applies (docs/contract/berth/explain.md#reasons).
func (e *explainer) reason() explain.Reason {
	if len(e.answer.Candidates) > 0 {
		return explain.Fits
	}
	hasTree := false
	for _, g := range e.request.groups {
		hasTree = hasTree || g.inTree != ""
		if g.inTree != "" && e.Find(g.inTree) == nil {
			return explain.InTree
		}
	}
	if thing := e.firstUnavailable(); thing != nil && !hasTree {
		return thing.reason()
	}
	for _, stage := range e.stages {
		if stage.kind != combinationStage && stage.left == 0 {
			return explain.NoTree
		}
	}
	return explain.Together
}

// firstUnavailable returns the first thing that no provider has, wherever it is.
func (e *explainer) firstUnavailable() *wantedThing {
	for _, thing := range e.wanted {
		if !slices.ContainsFunc(e.Providers, thing.isAt) {
			return thing
		}
	}
	return nil
}

func countOf[T any](of []T, isCounted func(T) bool) int64 {
	count := int64(0)
	for _, each := range of {
		if isCounted(each) {
			count++
		}
	}
	return count
}
