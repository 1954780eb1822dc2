package apicommand

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/frame"
)

// nodeVerb is something that a node can be asked to do and that takes its time.
type nodeVerb struct {
	name string
	// target is the word of the API, ends the state that it leads to.
	target, ends string
	short, long  string
}

var nodeVerbs = []nodeVerb{
	{"manage", "manage", "manageable", "Take nodes under control",
		`Take nodes under control: from "enroll", after a check of what the driver was told, from
"available", so that they are not given away, and from failures.`},
	{"provide", "provide", "available", "Make nodes available for allocations",
		`Clean nodes that are "manageable" and make them "available".`},
	{"deploy", "active", "active", "Put nodes to use",
		`Deploy nodes that are "available"; they are "active" afterwards.`},
	{"undeploy", "deleted", "available", "Clean nodes up after use",
		`Tear nodes down and clean them. Who has them, the allocation included, is forgotten; they
are "available" afterwards.`},
	{"rebuild", "rebuild", "active", "Deploy nodes once more",
		`Deploy nodes once more that are "active", or whose deployment failed; who has them stays.`},
	{"adopt", "adopt", "active", "Take nodes over that are in use",
		`Make nodes that are "manageable" "active" without touching what runs on them. Their
allocation is made with 'berth baremetal allocation create --node'.`},
	{"inspect", "inspect", "manageable", "Find out what nodes have",
		`Let the driver find out what nodes have that are "manageable".`},
	{"abort", "abort", "", "Break off what nodes are doing",
		`Break off what nodes are doing, where that is possible.`},
}

func bmNodeVerbCommand(f *frame.Frame, verb nodeVerb) *cobra.Command {
	command := &cobra.Command{
		Use:   verb.name + " NODE...",
		Short: verb.short,
		Long: verb.long + "\n\n" + frame.Wrap("The service answers before it is done; with --wait the command ends when the nodes have come "+
			"to rest, and the exit code is 1 if that is in another state. One that refuses does not keep the others from their turn."),
		Example: fmt.Sprintf("  berth baremetal node %[1]s rack-1\n  berth baremetal node %[1]s rack-1 rack-2 --wait --wait-timeout 10m", verb.name),
		Args:    cobra.MinimumNArgs(1),
	}
	if verb.ends == "" {
		command.Example = fmt.Sprintf("  berth baremetal node %s rack-1", verb.name)
		command.Long = verb.long
		command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
		command.RunE = forEachNode(f, "asked", func(ctx context.Context, service *baremetal.Client, node string) error {
			return service.NodeProvision(ctx, node, verb.target)
		})
		return command
	}
	wait := waitFlags(command, fmt.Sprintf("the nodes are %q", verb.ends))
	command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	command.RunE = eachNodeThen(f, wait, func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeProvision(ctx, node, verb.target)
	}, func(ctx context.Context, service *baremetal.Client, node string, seen func(baremetal.Node)) (baremetal.Node, error) {
		return service.WaitForNode(ctx, node, verb.ends, seen)
	})
	return command
}

// eachNodeThen begins something with each node and then, if that is wanted, waits for
// each. All are begun first, so that they go on side by side.
func eachNodeThen(f *frame.Frame, wait waiting, begin func(context.Context, *baremetal.Client, string) error,
	end func(context.Context, *baremetal.Client, string, func(baremetal.Node)) (baremetal.Node, error),
) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, nil, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		if err := wait.check(); err != nil {
			return err
		}
		refused := map[string]error{}
		if *wait.wanted {
			for _, node := range arguments {
				refused[node] = begin(ctx, service, node)
			}
		}
		return wait.limited(ctx, func(ctx context.Context) error {
			return f.ForEach(arguments, func(node string) error {
				if !*wait.wanted {
					if err := begin(ctx, service, node); err != nil {
						return unknownNode(ctx, service, node, err)
					}
					return f.Printf("begun with node %s", node)
				}
				if err := refused[node]; err != nil {
					return unknownNode(ctx, service, node, err)
				}
				return awaitNode(ctx, f, service, node, end)
			})
		})
	})
}

func awaitNode(ctx context.Context, f *frame.Frame, service *baremetal.Client, node string,
	end func(context.Context, *baremetal.Client, string, func(baremetal.Node)) (baremetal.Node, error),
) error {
	line := newWaitingLine(f)
	reached, err := end(ctx, service, node, func(seen baremetal.Node) {
		line.show("node %s: %s, %s", node, provisionState(seen), powerState(seen))
	})
	line.end()
	if err != nil {
		return err
	}
	return f.Printf("node %s is %s, %s", node, provisionState(reached), powerState(reached))
}

// powerState is the state of a node's power, and where it is going.
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
		Short: "Switch nodes on and off",
		Long:  `Switch nodes on and off, or off and on again.`,
		Example: `  berth baremetal node power on rack-1 --wait
  berth baremetal node power off rack-1 --soft`,
	}, bmPowerCommand(f, "on", "power on", "", "Switch nodes on"),
		bmPowerCommand(f, "off", "power off", "soft power off", "Switch nodes off"),
		bmPowerCommand(f, "reboot", "rebooting", "soft rebooting", "Switch nodes off and on again"))
}

func bmPowerCommand(f *frame.Frame, name, target, softly, short string) *cobra.Command {
	command := &cobra.Command{
		Use:   name + " NODE...",
		Short: short,
		Long: frame.Wrap(short + ". The service answers before it is done; --wait waits for it. " +
			"One that refuses does not keep the others from their turn."),
		Example: fmt.Sprintf("  berth baremetal node power %s rack-1 rack-2 --wait", name),
		Args:    cobra.MinimumNArgs(1),
	}
	soft := new(bool)
	if softly != "" {
		soft = command.Flags().Bool("soft", false, "ask the operating system of the machine, instead of cutting the power")
	}
	wait := waitFlags(command, "the power is as wanted")
	command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	command.RunE = eachNodeThen(f, wait, func(ctx context.Context, service *baremetal.Client, node string) error {
		if *soft {
			return service.NodePower(ctx, node, softly)
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
		Long: `Put nodes into maintenance: they are not given away, and can be deleted, with their
allocation, in any state.`,
		Example: `  berth baremetal node maintenance set rack-1 --reason 'new disks'`,
		Args:    cobra.MinimumNArgs(1),
	}
	reason := set.Flags().String("reason", "", "the `reason`")
	set.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	set.RunE = forEachNode(f, "put into maintenance:", func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeMaintenanceSet(ctx, node, *reason)
	})
	unset := &cobra.Command{
		Use:     "unset NODE...",
		Short:   "Take nodes out of maintenance",
		Long:    `Take nodes out of maintenance. The reason, and a fault, are forgotten.`,
		Example: `  berth baremetal node maintenance unset rack-1`,
		Args:    cobra.MinimumNArgs(1),
	}
	unset.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	unset.RunE = forEachNode(f, "taken out of maintenance:", func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeMaintenanceUnset(ctx, node)
	})
	return frame.Family(&cobra.Command{
		Use:   "maintenance",
		Short: "Put nodes into maintenance and take them out",
		Long:  `Put nodes into maintenance, where they are not given away, and take them out again.`,
		Example: `  berth baremetal node maintenance set rack-1 --reason 'new disks'
  berth baremetal node maintenance unset rack-1`,
	}, set, unset)
}

func bmNodeValidateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "validate NODE",
		Short: "Check whether a node's driver knows what it needs",
		Long: `Check each interface of a node's driver: yes, no with the reason, or a dash where the
driver has no such interface. The exit code is 0 whatever the result.

The JSON is an object of the interfaces by their names, with the members result, which
is null where there is no such interface, and reason.`,
		Example: `  berth baremetal node validate rack-1`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		checked, err := service.NodeValidate(ctx, arguments[0])
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		table := [][]string{{"INTERFACE", "RESULT", "REASON"}}
		for _, name := range slices.Sorted(maps.Keys(checked)) {
			result := "-"
			if checked[name].Result != nil {
				result = yesNo(*checked[name].Result)
			}
			table = append(table, []string{name, result, optional(checked[name].Reason)})
		}
		return frame.PrintAs(f.Stdout, *format, checked, table)
	})
	return command
}
