package apicommand

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

func bmAllocationExplainCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "explain ALLOCATION",
		Short: "Explain why no node fits a node allocation",
		Long: `Explain a node allocation with the nodes as they are now: how many nodes pass each
condition, up to the first that none passes, which nodes fail the fewest conditions, and
which changes of the request would help. It counts only nodes that you may list. Of an
allocation with a node it shows whether another one would fit. The exit code is 0 if the
server has explained the allocation.

The command requires a server of Berth with extensions 1.2. The JSON object is the
response of the server.`,
		Example: `  berth baremetal allocation explain web
  berth baremetal allocation explain web --output json | jq -r .reason`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.NodeAllocationExplain(ctx, arguments[0])
		if err != nil {
			return err
		}
		if frame.IsDocument(*format) {
			return frame.PrintAs(f.Stdout, *format, found, nil)
		}
		return nodeExplanationText(&found).print(f.Stdout)
	})
	return command
}

// nodeExplanationText returns an explanation as lines of at most 80 columns where names permit it.
func nodeExplanationText(of *baremetal.Explanation) *explanationText {
	text := &explanationText{width: explanationWidth}
	if of.Reason == fitsReason {
		text.addf("Fits.")
	} else {
		text.addf("Nothing fits: %s", of.Reason)
	}
	text.wrap("", of.Summary)
	if of.Incomplete {
		text.addf("The explanation is incomplete: the service had no time for the rest.")
	}
	if len(of.Funnel) > 0 {
		text.section("NODES")
	}
	for _, stage := range of.Funnel {
		text.addf("%8d  %s", stage.Nodes, nodeStageText(stage.Stage, stage.Value))
		if stage.Nodes == 0 {
			break
		}
	}
	text.nearestNodes(of.Nearest)
	if len(of.Relaxations) > 0 {
		text.section("WOULD FIT")
	}
	for _, relaxation := range of.Relaxations {
		how := "without"
		if relaxation.Change == "replace" {
			how = "with"
		}
		text.addf("%8d  %s %s", relaxation.Nodes, how, relaxation.Value)
	}
	return text
}

// nearestNodes adds the nodes that fail the fewest conditions.
func (e *explanationText) nearestNodes(nearest []baremetal.NearNode) {
	if len(nearest) > 0 {
		e.section("NEAREST")
	}
	widest := 0
	for _, near := range nearest {
		widest = max(widest, terminal.Cells(nodeLabel(near.Node)))
	}
	for _, near := range nearest {
		var missing []string
		for _, item := range near.Missing {
			missing = append(missing, nodeMissingText(item))
		}
		e.wrap("  "+pad(nodeLabel(near.Node), widest+2), strings.Join(missing, ", "))
	}
}

func nodeLabel(node baremetal.NodeName) string {
	if node.Name != nil {
		return terminal.Safe(*node.Name)
	}
	return node.UUID.String()
}

// nodeStageText describes the nodes that pass a condition.
func nodeStageText(stage, value string) string {
	switch stage {
	case "resource_class":
		return "of class " + value
	case "no_instance":
		return "without an instance"
	case "no_maintenance":
		return "not in maintenance"
	case "powered":
		return "with a known power state"
	case "owner":
		return "that the owner may use"
	case "candidate_nodes":
		return "among the candidate nodes"
	case "unclaimed":
		return "not claimed through Placement"
	case "traits":
		if trait, forbidden := strings.CutPrefix(value, "!"); forbidden {
			return "without " + trait
		}
		return "with " + traitElementText(value)
	}
	return stage // all, available, and stages of later versions
}

// nodeMissingText describes a condition that a node fails.
func nodeMissingText(missing baremetal.Missing) string {
	switch missing.Step {
	case "available":
		return "is " + missing.Value
	case "no_instance":
		return "has an instance"
	case "no_maintenance":
		return "is in maintenance"
	case "powered":
		return "has no known power state"
	case "owner":
		return "has another owner"
	case "candidate_nodes":
		return "is no candidate node"
	case "unclaimed":
		return "has no free unit in Placement"
	case "traits":
		if trait, forbidden := strings.CutPrefix(missing.Value, "!"); forbidden {
			return "has the trait " + trait
		}
		return strings.Replace("has no "+traitElementText(missing.Value), "no one", "none", 1)
	}
	return missing.Step
}

// traitElementText describes an element of traits that is not forbidden.
func traitElementText(element string) string {
	if list, several := strings.CutPrefix(element, "in:"); several {
		return "one of " + strings.ReplaceAll(list, ",", ", ")
	}
	return element
}
