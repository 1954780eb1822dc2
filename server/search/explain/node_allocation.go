package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// NodeAllocation is the explanation of a node allocation, in the format of the API.
type NodeAllocation struct {
	Kind    string `json:"kind" enum:"node_allocation" doc:"Kind of the explanation." example:"node_allocation"`
	Reason  Reason `json:"reason" enum:"fits,class,busy,owner,candidate_nodes,traits,claimed,unknown" doc:"First group of conditions that no node meets; fits if a node meets all. unknown: only in the short form." example:"traits"`
	Summary string `json:"summary" doc:"Explanation in sentences." example:"No available node of class gold has the trait CUSTOM_B."`
	// The other members are missing in the short form.
	Sample              *NodeSample      `json:"sample,omitempty" doc:"What was looked at. The short form, when the server computes other explanations, has none of the following members except incomplete."`
	Funnel              []NodeStage      `json:"funnel,omitzero" nullable:"false" doc:"Number of nodes that pass each condition and all before it."`
	States              map[string]int64 `json:"states,omitzero" doc:"Number of nodes of the class by provision state." example:"{\"available\": 2}"`
	Conflicts           []NodeConflict   `json:"conflicts,omitzero" nullable:"false" doc:"What no node has, whatever is free."`
	Nearest             []NearNode       `json:"nearest,omitzero" nullable:"false" doc:"At most five nodes of the class that fail the fewest conditions."`
	Relaxations         []NodeRelaxation `json:"relaxations,omitzero" nullable:"false" doc:"Single changes of the request with which more nodes fit."`
	RelaxationsComplete *bool            `json:"relaxations_complete,omitempty" doc:"Whether all changes were tried."`
	Incomplete          bool             `json:"incomplete,omitempty" doc:"Present and true if something above is missing."`
	MadeAt              *time.Time       `json:"made_at,omitempty" doc:"Time of the explanation."`
	TookMS              *int64           `json:"took_ms,omitempty" doc:"Duration of its computation, in milliseconds." example:"4"`
}

// NodeSample is what an explanation of a node allocation looked at.
type NodeSample struct {
	Exact bool  `json:"exact" doc:"True: all numbers are exact." example:"true"`
	Nodes int64 `json:"nodes" doc:"Number of nodes that the caller may list." example:"5"`
}

// NodeStage is a condition, and the number of nodes that pass it and all before.
type NodeStage struct {
	Stage string `json:"stage" doc:"Name of the condition." example:"traits"`
	Value string `json:"value,omitempty" doc:"Resource class, or element of traits." example:"CUSTOM_B"`
	Nodes int64  `json:"nodes" doc:"Number of nodes." example:"2"`
}

// NodeConflict is what no node has.
type NodeConflict struct {
	Conflict string   `json:"conflict" enum:"class_not_offered,trait_unused" doc:"What is missing: the class, or a trait." example:"trait_unused"`
	Name     string   `json:"name" doc:"Class or trait; several traits of which one was requested are separated by commas." example:"CUSTOM_B"`
	Similar  []string `json:"similar" nullable:"false" doc:"At most three similar names that nodes have." example:"[]"`
}

// NearNode is a node that fails few conditions.
type NearNode struct {
	Node     NodeName      `json:"node" doc:"The node."`
	Distance int           `json:"distance" doc:"Number of conditions that it fails." example:"1"`
	Missing  []NodeMissing `json:"missing" nullable:"false" doc:"Conditions that it fails."`
}

// NodeName names a node.
type NodeName struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the node." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name *string   `json:"name" nullable:"true" doc:"Name of the node; null if it has none." example:"rack-1"`
}

// NodeMissing is a condition that a node fails.
type NodeMissing struct {
	Step  string `json:"step" doc:"Name of the condition." example:"traits"`
	Value string `json:"value,omitempty" doc:"Provision state of the node, or element of traits." example:"CUSTOM_B"`
}

// NodeRelaxation is a change of the request with which more nodes fit.
type NodeRelaxation struct {
	Change string `json:"change" enum:"drop,replace" doc:"Whether value is dropped, or replaces the value of the request." example:"drop"`
	Value  string `json:"value" doc:"Member of the request and its value." example:"traits=CUSTOM_B"`
	Nodes  int64  `json:"nodes" doc:"Number of nodes that fit with the change." example:"2"`
}

// The reasons of node allocations without a node, in the order of the stages. UnknownReason is that of a short form.
const (
	Class          Reason = "class"
	Busy           Reason = "busy"
	Owner          Reason = "owner"
	CandidateNodes Reason = "candidate_nodes"
	Traits         Reason = "traits"
	Claimed        Reason = "claimed"
	UnknownReason  Reason = "unknown"
)

// NodeReasons are the reasons of node allocations without a node, in the order of the stages.
var NodeReasons = []Reason{Class, Busy, Owner, CandidateNodes, Traits, Claimed}

// The stages of a node allocation after resource_class. The first six have this order in store.NodeGroup.Passed.
const (
	nodeStageAvailable      = "available"
	nodeStageNoInstance     = "no_instance"
	nodeStageNoMaintenance  = "no_maintenance"
	nodeStagePowered        = "powered"
	nodeStageOwner          = "owner"
	nodeStageCandidateNodes = "candidate_nodes"
	nodeStageTraits         = "traits"
	nodeStageUnclaimed      = "unclaimed"
)

var fixedStages = []string{nodeStageAvailable, nodeStageNoInstance, nodeStageNoMaintenance, nodeStagePowered, nodeStageOwner, nodeStageCandidateNodes}

// stagesOfState are the first stages of fixedStages: those of a free node.
const stagesOfState = 4

// NodeQuery is a node allocation, and the nodes that it is explained with.
type NodeQuery struct {
	Asked *store.NodeAllocation
	// Groups are all nodes that the caller may list, judged for the class of the allocation.
	Groups []store.NodeGroup
	// AreProviders is true where nodes are resource providers.
	AreProviders bool
	// Limited is true if the caller may not list all nodes.
	Limited bool
	// Similar are the nodes of the classes of SimilarClasses, judged for these; nil: unknown.
	Similar []store.NodeGroup
	// Traits are all traits of nodes that the caller may list; nil: unknown, or not needed.
	Traits []string
}

// TraitElements returns the elements of traits, each once.
func TraitElements(traits []string) []string {
	elements := []string{}
	for _, trait := range traits {
		if !slices.Contains(elements, trait) {
			elements = append(elements, trait)
		}
	}
	return elements
}

// SimilarClasses returns the classes with free nodes whose names are similar to that of the allocation.
func (q *NodeQuery) SimilarClasses() []string {
	return similarToAny([]string{q.Asked.ResourceClass}, q.classes(func(group *store.NodeGroup) bool {
		return !slices.Contains(group.Passed[:stagesOfState], false)
	}))
}

// classes returns the sorted classes of some groups.
func (q *NodeQuery) classes(of func(*store.NodeGroup) bool) []string {
	var names []string
	for i := range q.Groups {
		if group := &q.Groups[i]; group.Class != "" && of(group) {
			names = append(names, group.Class)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// NeedsTraits reports whether no node of the class has one of the required traits, so that Traits are needed.
func (q *NodeQuery) NeedsTraits() bool { return len(q.lacking()) > 0 }

// lacking returns the elements that require a trait that no node of the class has.
func (q *NodeQuery) lacking() (elements []string) {
	for i, element := range TraitElements(q.Asked.Traits) {
		if !strings.HasPrefix(element, "!") && !slices.ContainsFunc(q.ofClass(), func(group store.NodeGroup) bool { return group.Passed[len(fixedStages)+i] }) {
			elements = append(elements, element)
		}
	}
	return elements
}

// ofClass returns the groups of the class of the allocation.
func (q *NodeQuery) ofClass() (groups []store.NodeGroup) {
	for _, group := range q.Groups {
		if group.Class == q.Asked.ResourceClass && group.Class != "" {
			groups = append(groups, group)
		}
	}
	return groups
}

// ExplainNodeAllocation explains a node allocation.
func ExplainNodeAllocation(q *NodeQuery) *NodeAllocation {
	j := newNodeJudge(q)
	complete := q.Similar != nil
	allocation := &NodeAllocation{
		Kind: "node_allocation", Reason: j.reason(), Sample: &NodeSample{Exact: true, Nodes: j.all}, Funnel: j.funnel, States: j.states,
		Conflicts: j.conflicts(), Nearest: j.nearest(), Relaxations: j.relaxations(), RelaxationsComplete: &complete,
		Incomplete: !complete || q.Traits == nil && q.NeedsTraits(),
	}
	allocation.Summary = j.summary(allocation)
	return allocation
}
