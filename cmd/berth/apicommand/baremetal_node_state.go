package apicommand

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

// nodeVerb is a command that starts a transition of the provision state.
type nodeVerb struct {
	name string
	// target is the verb of the API, finalState the state after it; empty: --wait is not supported.
	target, finalState string
	short, long        string
}

var nodeVerbs = []nodeVerb{
	{"manage", "manage", "manageable", "Make nodes manageable",
		`Set nodes to "manageable": from "enroll", after the driver has checked its driver info;
from "available", so that the server does not assign them; and from failed states.`},
	{"provide", "provide", "available", "Make nodes available for node allocations",
		`Clean nodes that are "manageable" and set them to "available".`},
	{"deploy", "active", "active", "Deploy nodes",
		`Deploy nodes that are "available" and set them to "active".`},
	{"undeploy", "deleted", "available", "Undeploy and clean nodes",
		`Tear down and clean nodes, and set them to "available". This unsets their instance and
deletes their node allocation.`},
	{"rebuild", "rebuild", "active", "Deploy active nodes again",
		`Deploy again nodes that are "active" or whose deployment failed. They keep their
instance and node allocation.`},
	{"adopt", "adopt", "active", "Adopt nodes that are in use",
		`Set nodes that are "manageable" to "active" without changing the software on them.
'berth baremetal allocation create --node' creates their node allocation.`},
	{"inspect", "inspect", "manageable", "Inspect the hardware of nodes",
		`Inspect the hardware of nodes that are "manageable". The driver of the node does it.`},
	{"abort", "abort", "", "Abort the current transition of nodes",
		`Abort the current transition of nodes, in states that permit it.`},
}

func bmNodeVerbCommand(f *frame.Frame, verb nodeVerb) *cobra.Command {
	command := &cobra.Command{
		Use:   verb.name + " NODE...",
		Short: verb.short,
		Long: verb.long + "\n\n" + "The server responds before the transition ends. With --wait the command waits until the nodes " +
			"are in a stable state; the exit code is 1 if that is another one. After an error the command continues with the other " +
			"nodes; the exit code is then 1.",
		Example: fmt.Sprintf("  berth baremetal node %[1]s rack-1\n  berth baremetal node %[1]s rack-1 rack-2 --wait --wait-timeout 10m", verb.name),
		Args:    cobra.MinimumNArgs(1),
	}
	if verb.finalState == "" {
		command.Example = fmt.Sprintf("  berth baremetal node %s rack-1", verb.name)
		command.Long = verb.long
		command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
		command.RunE = forEachNode(f, "aborting", func(ctx context.Context, service *baremetal.Client, node string) error {
			return service.NodeProvision(ctx, node, verb.target)
		})
		return command
	}
	wait := waitFlags(command, fmt.Sprintf("the nodes are %q", verb.finalState))
	command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	command.RunE = eachNodeThen(f, wait, func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeProvision(ctx, node, verb.target)
	}, func(ctx context.Context, service *baremetal.Client, node string, seen func(baremetal.Node)) (baremetal.Node, error) {
		return service.WaitForNode(ctx, node, verb.finalState, seen)
	})
	return command
}

// eachNodeThen calls begin for each node. With --wait it then calls end for each node, so that the
// transitions run concurrently.
func eachNodeThen(f *frame.Frame, wait waitOptions, begin func(context.Context, *baremetal.Client, string) error,
	end func(context.Context, *baremetal.Client, string, func(baremetal.Node)) (baremetal.Node, error),
) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		if err := wait.check(); err != nil {
			return err
		}
		failures := map[string]error{}
		if *wait.enabled {
			for _, node := range arguments {
				failures[node] = begin(ctx, service, node)
			}
		}
		return wait.limited(ctx, func(ctx context.Context) error {
			return f.ForEach(arguments, func(node string) error {
				if !*wait.enabled {
					if err := begin(ctx, service, node); err != nil {
						return unknownNode(ctx, service, node, err)
					}
					return f.Printf("request accepted for node %s", node)
				}
				if err := failures[node]; err != nil {
					return unknownNode(ctx, service, node, err)
				}
				return awaitNode(ctx, f, service, node, end)
			})
		})
	})
}

// awaitNode waits for a node with end, shows its state on a terminal and prints the final state.
func awaitNode(ctx context.Context, f *frame.Frame, service *baremetal.Client, node string,
	end func(context.Context, *baremetal.Client, string, func(baremetal.Node)) (baremetal.Node, error),
) error {
	line := newWaitLine(f)
	reached, err := end(ctx, service, node, func(seen baremetal.Node) {
		line.show("node %s: %s, %s", node, provisionState(seen), powerState(seen))
	})
	line.end()
	if err != nil {
		return err
	}
	return f.Printf("node %s is %s, %s", node, provisionState(reached), powerState(reached))
}

// powerState returns the power state of a node and, if set, its target.
func powerState(node baremetal.Node) string {
	state := "power unknown"
	if node.PowerState != nil {
		state = *node.PowerState
	}
	if node.TargetPowerState != nil {
		state += " -> " + *node.TargetPowerState
	}
	return state
}

func bmNodePowerCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "power",
		Short: "Power nodes on and off",
		Long:  `Power nodes on or off, or reboot them.`,
		Example: `  berth baremetal node power on rack-1 --wait
  berth baremetal node power off rack-1 --soft`,
	}, bmPowerCommand(f, "on", "power on", "", "Power on nodes"),
		bmPowerCommand(f, "off", "power off", "soft power off", "Power off nodes"),
		bmPowerCommand(f, "reboot", "rebooting", "soft rebooting", "Reboot nodes"))
}

func bmPowerCommand(f *frame.Frame, name, target, softTarget, short string) *cobra.Command {
	command := &cobra.Command{
		Use:   name + " NODE...",
		Short: short,
		Long: short + ". The server responds before the power state changes; --wait waits for the change. " +
			"After an error the command continues with the other nodes; the exit code is then 1.",
		Example: fmt.Sprintf("  berth baremetal node power %s rack-1 rack-2 --wait", name),
		Args:    cobra.MinimumNArgs(1),
	}
	soft := new(bool)
	if softTarget != "" {
		soft = command.Flags().Bool("soft", false, "whether the operating system shuts down first")
	}
	wait := waitFlags(command, "the nodes have the requested power state")
	command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	command.RunE = eachNodeThen(f, wait, func(ctx context.Context, service *baremetal.Client, node string) error {
		if *soft {
			return service.NodePower(ctx, node, softTarget)
		}
		return service.NodePower(ctx, node, target)
	}, func(ctx context.Context, service *baremetal.Client, node string, seen func(baremetal.Node)) (baremetal.Node, error) {
		return service.WaitForPower(ctx, node, seen)
	})
	return command
}

func bmNodeMaintenanceCommand(f *frame.Frame) *cobra.Command {
	set := &cobra.Command{
		Use:   "set NODE...",
		Short: "Put nodes into maintenance",
		Long: `Put nodes into maintenance. The server does not assign them to node allocations, and
permits deleting them with their node allocation in any state.`,
		Example: `  berth baremetal node maintenance set rack-1 --reason 'new disks'`,
		Args:    cobra.MinimumNArgs(1),
	}
	reason := set.Flags().String("reason", "", "`reason` of the maintenance")
	set.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	set.RunE = forEachNode(f, "set maintenance of", func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeMaintenanceSet(ctx, node, *reason)
	})
	unset := &cobra.Command{
		Use:     "unset NODE...",
		Short:   "Take nodes out of maintenance",
		Long:    `Take nodes out of maintenance. This also clears the reason and the fault.`,
		Example: `  berth baremetal node maintenance unset rack-1`,
		Args:    cobra.MinimumNArgs(1),
	}
	unset.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	unset.RunE = forEachNode(f, "unset maintenance of", func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeMaintenanceUnset(ctx, node)
	})
	return frame.Family(&cobra.Command{
		Use:   "maintenance",
		Short: "Set and unset maintenance of nodes",
		Long: `Set and unset maintenance of nodes. The server does not assign nodes in maintenance to
node allocations.`,
		Example: `  berth baremetal node maintenance set rack-1 --reason 'new disks'
  berth baremetal node maintenance unset rack-1`,
	}, set, unset)
}

func bmNodeValidateCommand(f *frame.Frame) *cobra.Command {
	return showing(f, &cobra.Command{
		Use:   "validate NODE",
		Short: "Validate the driver interfaces of a node",
		Long: `Validate the settings of each driver interface of a node. The result is yes, no with a
reason, or a dash if the driver lacks the interface. The exit code is 0 for all results.

The JSON is an object of the interfaces by name. Each has the members result, which is
null if the driver lacks the interface, and reason.`,
		Example: `  berth baremetal node validate rack-1`,
	}, completeNodes, (*baremetal.Client).NodeValidate, func(out io.Writer, format string, checked map[string]baremetal.Validation) error {
		table := [][]string{{"INTERFACE", "RESULT", "REASON"}}
		for _, name := range slices.Sorted(maps.Keys(checked)) {
			result := "-"
			if checked[name].Result != nil {
				result = yesNo(*checked[name].Result)
			}
			table = append(table, []string{name, result, optional(checked[name].Reason)})
		}
		return frame.PrintAs(out, format, checked, table)
	})
}
