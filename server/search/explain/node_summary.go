package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthd/berth/server/data/store"
)

// nodeShortForms are the summaries of explanations without details.
var nodeShortForms = map[Reason]string{
	Busy:           "No node of the class was free when the allocation was decided.",
	CandidateNodes: "None of the candidate nodes was free and of the class when the allocation was decided.",
	Traits:         "No available node of the class had all the traits when the allocation was decided.",
	Claimed:        "All nodes that fitted were claimed through Placement when the allocation was decided.",
	UnknownReason:  "The server computes other explanations now.",
}

// decisions are parts of last_error, and the reasons that they state.
var decisions = map[string]Reason{
	": no available nodes match the resource class ":   Busy,
	": none of the requested nodes are available and ": CandidateNodes,
	": no suitable nodes have the requested traits ":   Traits,
	": could not reserve any of ":                      Claimed,
}

// ShortNodeAllocation returns the short form of the explanation of a node allocation. Its reason is that of the decision.
func ShortNodeAllocation(asked *store.NodeAllocation) *NodeAllocation {
	reason := UnknownReason
	if asked.LastError != nil {
		for text, said := range decisions {
			if strings.Contains(*asked.LastError, text) {
				reason = said
			}
		}
	}
	return &NodeAllocation{Kind: "node_allocation", Reason: reason, Summary: nodeShortForms[reason], Incomplete: true}
}

// summary returns a paragraph for people: what fails, the nearest node, what would help, and what was counted.
func (j *nodeJudge) summary(allocation *NodeAllocation) string {
	texts := []string{j.first()}
	if len(allocation.Nearest) > 0 {
		var missing []string
		for _, nodeMissing := range allocation.Nearest[0].Missing {
			missing = append(missing, j.missingText(nodeMissing))
		}
		node := allocation.Nearest[0].Node
		name := node.UUID.String()
		if node.Name != nil {
			name = *node.Name
		}
		texts = append(texts, fmt.Sprintf("Nearest: %s lacks %s.", name, strings.Join(missing, " and ")))
	}
	for _, relaxation := range allocation.Relaxations[:min(2, len(allocation.Relaxations))] {
		how := map[string]string{"drop": "Without", "replace": "With"}[relaxation.Change]
		texts = append(texts, fmt.Sprintf("%s %s there would be %s.", how, relaxation.Value, plural(relaxation.Nodes, "node")))
	}
	if len(allocation.Relaxations) == 0 && allocation.Reason != Fits {
		texts = append(texts, "No single change of the request that was tried gives a node.")
	}
	if j.Limited {
		texts = append(texts, "Counted are only the nodes that you may list.")
	}
	return strings.Join(texts, " ")
}

// first returns the sentence about the first stage that no node passes.
func (j *nodeJudge) first() string {
	class := j.Asked.ResourceClass
	switch j.reason() {
	case Class:
		return fmt.Sprintf("No node has the resource class %s.", class)
	case Busy:
		return fmt.Sprintf("No node of class %s is free: %s.", class, j.statesText())
	case Owner:
		return fmt.Sprintf("No free node of class %s belongs to %s.", class, *j.Asked.Owner)
	case CandidateNodes:
		return fmt.Sprintf("None of the %s is free and of class %s.", plural(int64(len(j.Asked.CandidateNodes)), "candidate node"), class)
	case Traits:
		return j.firstOfTraits()
	case Claimed:
		if fit := j.funnel[j.firstEmpty()-1].Nodes; fit > 1 {
			return fmt.Sprintf("All %d nodes that fit are claimed through Placement.", fit)
		}
		return "The 1 node that fits is claimed through Placement."
	}
	if j.fits == 1 {
		return "1 node fits."
	}
	return fmt.Sprintf("%d nodes fit.", j.fits)
}

// statesText returns the numbers of nodes by state, the largest first.
func (j *nodeJudge) statesText() string {
	states := slices.SortedFunc(maps.Keys(j.states), func(a, b string) int {
		return cmp.Or(cmp.Compare(j.states[b], j.states[a]), cmp.Compare(a, b))
	})
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", j.states[state], state)
	}
	return strings.Join(states, ", ")
}

// firstOfTraits is the sentence about the first element of traits that leaves no node.
func (j *nodeJudge) firstOfTraits() string {
	at := j.firstEmpty()
	element, forbidden := strings.CutPrefix(j.funnel[at].Value, "!")
	element = expressionText(element)
	var with, unwanted []string
	for _, stage := range j.funnel[:at] {
		if name, not := strings.CutPrefix(stage.Value, "!"); stage.Stage == nodeStageTraits && not {
			unwanted = append(unwanted, name)
		} else if stage.Stage == nodeStageTraits {
			with = append(with, strings.TrimPrefix(expressionText(name), "the trait "))
		}
	}
	nodes := plural(j.funnel[at-1].Nodes, "available node")
	switch {
	case len(with)+len(unwanted) == 0 && forbidden:
		return fmt.Sprintf("All available nodes of class %s have the forbidden trait %s.", j.Asked.ResourceClass, strings.TrimPrefix(element, "the trait "))
	case len(with)+len(unwanted) == 0:
		return fmt.Sprintf("No available node of class %s has %s.", j.Asked.ResourceClass, element)
	}
	text := fmt.Sprintf("Of %s of class %s", nodes, j.Asked.ResourceClass)
	if len(with) > 0 {
		text += " with " + strings.Join(with, " and ")
	}
	if len(unwanted) > 0 {
		text += " without " + strings.Join(unwanted, " and ")
	}
	if forbidden {
		return text + ", all have the forbidden trait " + strings.TrimPrefix(element, "the trait ") + "."
	}
	return text + ", none has " + element + "."
}

// expressionText names a required trait, or any of several.
func expressionText(element string) string { return traitText(strings.TrimPrefix(element, "in:")) }

// missingText says what a node lacks.
func (j *nodeJudge) missingText(nodeMissing NodeMissing) string {
	switch nodeMissing.Step {
	case nodeStageAvailable:
		return fmt.Sprintf("the state available (it is %s)", nodeMissing.Value)
	case nodeStageNoInstance:
		return "an empty instance_uuid"
	case nodeStageNoMaintenance:
		return "the end of its maintenance"
	case nodeStagePowered:
		return "a known power state"
	case nodeStageOwner:
		return "the owner or lessee " + *j.Asked.Owner
	case nodeStageCandidateNodes:
		return "a place among the candidate nodes"
	case nodeStageUnclaimed:
		return "a free unit in Placement"
	}
	if name, forbidden := strings.CutPrefix(nodeMissing.Value, "!"); forbidden {
		return "the absence of the trait " + name
	}
	return expressionText(nodeMissing.Value)
}
