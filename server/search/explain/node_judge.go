package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/server/data/store"
)

// nodeJudge counts the nodes of a class that pass the stages of a node allocation.
type nodeJudge struct {
	*NodeQuery
	// stages are those after resource_class, with the element of a traits stage as value.
	stages []NodeStage
	groups []store.NodeGroup
	all    int64
	funnel []NodeStage
	states map[string]int64
	// fits is the number of nodes that pass all stages.
	fits int64
}

func newNodeJudge(q *NodeQuery) *nodeJudge {
	j := &nodeJudge{NodeQuery: q, groups: q.ofClass(), states: map[string]int64{}}
	for _, group := range q.Groups {
		j.all += group.Nodes
	}
	for _, name := range fixedStages {
		j.stages = append(j.stages, NodeStage{Stage: name})
	}
	for _, element := range TraitElements(q.Asked.Traits) {
		j.stages = append(j.stages, NodeStage{Stage: nodeStageTraits, Value: element})
	}
	if q.AreProviders {
		j.stages = append(j.stages, NodeStage{Stage: nodeStageUnclaimed})
	}
	j.funnel = append([]NodeStage{{Stage: "all", Nodes: j.all}, {Stage: "resource_class", Value: q.Asked.ResourceClass}}, j.stages...)
	for _, group := range j.groups {
		j.states[group.State] += group.Nodes
		for i := range j.funnel[1:] {
			if i > 0 && !group.Passed[i-1] {
				break
			}
			j.funnel[1+i].Nodes += group.Nodes
		}
	}
	j.fits = j.funnel[len(j.funnel)-1].Nodes
	return j
}

// reasons are the reasons of the stages that no node passes.
var reasons = map[string]Reason{
	"all": Class, "resource_class": Class, nodeStageAvailable: Busy, nodeStageNoInstance: Busy, nodeStageNoMaintenance: Busy, nodeStagePowered: Busy,
	nodeStageOwner: Owner, nodeStageCandidateNodes: CandidateNodes, nodeStageTraits: Traits, nodeStageUnclaimed: Claimed,
}

// firstEmpty returns the index of the first stage of the funnel that no node passes, -1 if there is none.
func (j *nodeJudge) firstEmpty() int {
	return slices.IndexFunc(j.funnel, func(stage NodeStage) bool { return stage.Nodes == 0 })
}

func (j *nodeJudge) reason() Reason {
	if at := j.firstEmpty(); at >= 0 {
		return reasons[j.funnel[at].Stage]
	}
	return Fits
}

func (j *nodeJudge) conflicts() []NodeConflict {
	conflicts := []NodeConflict{}
	if len(j.groups) == 0 {
		known := j.classes(func(*store.NodeGroup) bool { return true })
		conflicts = append(conflicts, NodeConflict{"class_not_offered", j.Asked.ResourceClass, similarToAny([]string{j.Asked.ResourceClass}, known)})
	}
	if j.Traits == nil {
		return conflicts
	}
	// Traits of the request are no suggestions.
	var others []string
	for _, trait := range j.Traits {
		if !slices.ContainsFunc(j.Asked.Traits, func(element string) bool { return slices.Contains(store.TraitExpressionNames(element), trait) }) {
			others = append(others, trait)
		}
	}
	for _, element := range j.lacking() {
		names := store.TraitExpressionNames(element)
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(j.Traits, name) }) {
			conflicts = append(conflicts, NodeConflict{"trait_unused", strings.Join(names, ","), similarToAny(names, others)})
		}
	}
	return conflicts
}

// maxNearest is how many of the nearest nodes are shown.
const maxNearest = 5

// nearest returns the nodes of the class that fail the fewest stages, at least one.
func (j *nodeJudge) nearest() []NearNode {
	type found struct {
		id int64
		NearNode
	}
	var all []found
	for _, group := range j.groups {
		missing := j.missing(&group)
		if len(missing) == 0 {
			continue
		}
		for _, node := range group.First {
			named := NodeName{UUID: node.UUID}
			if node.Name != "" {
				named.Name = &node.Name
			}
			all = append(all, found{node.ID, NearNode{named, len(missing), missing}})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.id, b.id)) })
	nearest := []NearNode{}
	for _, found := range all[:min(len(all), maxNearest)] {
		nearest = append(nearest, found.NearNode)
	}
	return nearest
}

// missing returns the stages that the nodes of a group fail.
func (j *nodeJudge) missing(group *store.NodeGroup) (missing []NodeMissing) {
	for i, passed := range group.Passed {
		if passed {
			continue
		}
		nodeMissing := NodeMissing{Step: j.stages[i].Stage, Value: j.stages[i].Value}
		if nodeMissing.Step == nodeStageAvailable {
			nodeMissing.Value = group.State
		}
		missing = append(missing, nodeMissing)
	}
	return missing
}

// without returns how many nodes pass all stages but one.
func (j *nodeJudge) without(stage int) (nodes int64) {
	for _, group := range j.groups {
		if at := slices.Index(group.Passed, false); at < 0 || at == stage && !slices.Contains(group.Passed[at+1:], false) {
			nodes += group.Nodes
		}
	}
	return nodes
}

// relaxations returns the changes with which more nodes fit: without one trait, the owner or the candidate nodes, or with
// a similar class.
func (j *nodeJudge) relaxations() []NodeRelaxation {
	helps := []NodeRelaxation{}
	try := func(change, value string, nodes int64) {
		if nodes > j.fits {
			helps = append(helps, NodeRelaxation{change, value, nodes})
		}
	}
	for i, stage := range j.stages {
		if stage.Stage == nodeStageTraits {
			try("drop", "traits="+stage.Value, j.without(i))
		}
	}
	if owner := j.Asked.Owner; owner != nil {
		try("drop", "owner="+*owner, j.without(slices.Index(fixedStages, nodeStageOwner)))
	}
	if candidates := j.Asked.CandidateNodes; len(candidates) > 0 {
		var names []string
		for _, candidate := range candidates {
			names = append(names, candidate.String())
		}
		try("drop", "candidate_nodes="+strings.Join(names, ","), j.without(slices.Index(fixedStages, nodeStageCandidateNodes)))
	}
	for _, class := range j.SimilarClasses() {
		var nodes int64
		for _, group := range j.Similar {
			if group.Class == class && !slices.Contains(group.Passed, false) {
				nodes += group.Nodes
			}
		}
		try("replace", fmt.Sprintf("resource_class=%s", class), nodes)
	}
	return helps
}
