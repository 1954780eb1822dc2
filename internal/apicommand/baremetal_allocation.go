package apicommand

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/frame"
)

func bmAllocationCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "allocation",
		Short: "Create, list, update and delete node allocations",
		Long: `Create, list, update and delete node allocations. A node allocation starts in the state
"allocating" and changes to "active", with a node, or to "error", with the reason. In
"error" it keeps its name until it is deleted.`,
		Example: `  berth baremetal allocation create --name web --resource-class gold --wait
  berth baremetal allocation list --state active
  berth baremetal allocation delete web`,
	}, bmAllocationCreateCommand(f), bmAllocationListCommand(f), bmAllocationShowCommand(f), bmAllocationSetCommand(f),
		bmAllocationUnsetCommand(f), bmAllocationDeleteCommand(f))
}

// nodeNamer finds the names of nodes that an answer tells by uuid only.
type nodeNamer struct {
	service *baremetal.Client
	known   map[uuid.UUID]string
}

// learn asks for a few nodes one by one, and for more of them for all.
func (n *nodeNamer) learn(ctx context.Context, allocations []baremetal.Allocation) error {
	n.known = map[uuid.UUID]string{}
	wanted := map[uuid.UUID]bool{}
	for _, one := range allocations {
		if one.NodeUUID != nil {
			wanted[*one.NodeUUID] = true
		}
	}
	if len(wanted) > FewProviders {
		all, err := n.service.NodeList(ctx, baremetal.NodeFilter{})
		for _, node := range all {
			n.take(node)
		}
		return err
	}
	for id := range wanted {
		node, err := n.service.NodeShow(ctx, id.String())
		if err == nil {
			n.take(node)
		}
		// One that is gone by now, or that the caller may not see, keeps its uuid.
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (n *nodeNamer) take(node baremetal.Node) {
	if node.Name != nil {
		n.known[node.UUID] = *node.Name
	}
}

func (n *nodeNamer) name(id *uuid.UUID) string {
	if id == nil {
		return "-"
	}
	if name := n.known[*id]; name != "" {
		return name
	}
	return id.String()
}

func printAllocations(ctx context.Context, f *frame.Frame, service *baremetal.Client, format string, value any, allocations ...baremetal.Allocation) error {
	if format == "json" {
		return frame.PrintAs(f.Stdout, format, value, nil)
	}
	names := nodeNamer{service: service}
	if err := names.learn(ctx, allocations); err != nil {
		return err
	}
	table := [][]string{{"UUID", "NAME", "STATE", "CLASS", "NODE", "OWNER", "ERROR"}}
	for _, one := range allocations {
		table = append(table, []string{one.UUID.String(), optional(one.Name), one.State, optional(one.ResourceClass),
			names.name(one.NodeUUID), optional(one.Owner), optional(one.LastError)})
	}
	return frame.PrintAs(f.Stdout, format, nil, table)
}

func bmAllocationCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Create a node allocation",
		Long: `Request an available node of a resource class with all the traits. The server processes
the node allocation in the background; --wait waits for the result, and the exit code is
1 if no node matches. The command prints the allocation as 'berth baremetal allocation
show' does.

With --node the server assigns that node, which must be "active" already.`,
		Example: `  berth baremetal allocation create --resource-class gold --wait
  berth baremetal allocation create --name web --resource-class gold --trait CUSTOM_SSD --wait --wait-timeout 30s
  berth baremetal allocation create --resource-class gold --candidate-node rack-1 --candidate-node rack-2
  berth baremetal allocation create --name old --node rack-7`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var wanted baremetal.NewAllocation
	flags := command.Flags()
	flags.StringVar(&wanted.ResourceClass, "resource-class", "", "the `class` of the machine; needed without --node")
	flags.StringVar(&wanted.Name, "name", "", "`name` of the allocation; a free node of that name is preferred")
	id := flags.String("uuid", "", "`uuid` to give it; one is made up otherwise")
	flags.StringArrayVar(&wanted.Traits, "trait", nil, "a `trait` that the machine must have; may be repeated")
	flags.StringArrayVar(&wanted.CandidateNodes, "candidate-node", nil, "a `node` that may be taken, and no others; may be repeated")
	flags.StringVar(&wanted.Node, "node", "", "the `node` that is in use already")
	flags.StringVar(&wanted.Owner, "owner", "", "`project` that it is for: only machines that it owns or leases may be taken")
	extra := pairsFlag(command, "extra", "note `KEY=VALUE` with the allocation")
	wait := waitFlags(command, "there is a machine, or certainly none")
	command.ValidArgsFunction = cobra.NoFileCompletions
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "candidate-node", completeNodes)
	completeFlag(f, command, "node", completeNodes)
	completeFlag(f, command, "trait", completeTraits)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, _ []string) (err error) {
		if wanted.ResourceClass == "" && wanted.Node == "" {
			return frame.WrongFlag("resource-class", "", "names no class", "write which class of machine is wanted, or --node")
		}
		if err := wait.check(); err != nil {
			return err
		}
		if wanted.UUID, err = uuidFlag("uuid", *id); err != nil {
			return err
		}
		if wanted.Extra, err = readPairs("extra", *extra); err != nil {
			return err
		}
		made, err := service.NodeAllocationCreate(ctx, wanted)
		if err != nil {
			return err
		}
		if *wait.wanted {
			// By its uuid: the name may belong to another allocation by then.
			if made, err = waitForAllocation(ctx, f, service, wait, made.UUID.String()); err != nil {
				return err
			}
		}
		return printAllocations(ctx, f, service, *format, made, made)
	})
	return command
}

// waitForAllocation tells how it goes while it waits.
func waitForAllocation(ctx context.Context, f *frame.Frame, service *baremetal.Client, wait waiting, id string) (found baremetal.Allocation, err error) {
	line := newWaitingLine(f)
	err = wait.limited(ctx, func(ctx context.Context) (err error) {
		defer line.end()
		found, err = service.WaitForAllocation(ctx, id, func(seen baremetal.Allocation) {
			line.show("allocation %s: %s", id, seen.State)
		})
		return err
	})
	var ended *baremetal.StateError
	if errors.As(err, &ended) && ended.Reason != "" {
		return found, errors.New(ended.Reason) // it names the allocation
	}
	return found, err
}

func bmAllocationListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List allocations",
		Long: `List the allocations that meet every condition, in the order in which they were made;
without a condition, all.

A JSON list has the members uuid, name, state, resource_class, traits, candidate_nodes,
node_uuid, owner, last_error, extra, created_at and updated_at.`,
		Example: `  berth baremetal allocation list
  berth baremetal allocation list --state error --output json
  berth baremetal allocation list --node rack-1`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var filter baremetal.AllocationFilter
	flags := command.Flags()
	flags.StringVar(&filter.State, "state", "", "those in the `state` allocating, active or error")
	flags.StringVar(&filter.ResourceClass, "resource-class", "", "those that asked for this `class`")
	flags.StringVar(&filter.Node, "node", "", "the one that has this `node`")
	flags.StringVar(&filter.Owner, "owner", "", "those of this `project`")
	flags.IntVar(&filter.Most, "limit", 0, "at most this `number`, the oldest ones; 0 means all")
	frame.CompleteChoices(command, "state", baremetal.Allocating, baremetal.Active, baremetal.Failed)
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "node", completeNodes)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.NodeAllocationList(ctx, filter)
		if err != nil {
			return err
		}
		return printAllocations(ctx, f, service, *format, found, found...)
	})
	return command
}

func bmAllocationShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show ALLOCATION",
		Short: "Show one allocation",
		Long: `Show one allocation. With --node the argument is a node, and its allocation is shown.

The JSON object has the members of 'berth baremetal allocation list'.`,
		Example: `  berth baremetal allocation show web
  berth baremetal allocation show rack-1 --node
  berth baremetal allocation show web --output json | jq -r .node_uuid`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	ofNode := command.Flags().Bool("node", false, "the argument is a node")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		show := service.NodeAllocationShow
		if *ofNode {
			show = service.AllocationOfNodeShow
		}
		found, err := show(ctx, arguments[0])
		if err != nil {
			return err
		}
		return printAllocations(ctx, f, service, *format, found, found)
	})
	return command
}

func bmAllocationSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set ALLOCATION",
		Short: "Set the name or extra values of a node allocation",
		Long: `Give an allocation another name, or notes. What is not named stays. Shows the allocation
afterwards.`,
		Example: `  berth baremetal allocation set web --name web-old
  berth baremetal allocation set web --extra rack=7 --extra purpose=tests`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	name := command.Flags().String("name", "", "the new `name`")
	extra := pairsFlag(command, "extra", "note `KEY=VALUE` with it")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = changeAllocation(f, format, "say what to change with --name or --extra", func() ([]baremetal.Change, error) {
		changes, err := setPairs("extra", "extra", *extra)
		if *name != "" {
			changes = append(changes, baremetal.Set(*name, "name"))
		}
		return changes, err
	})
	return command
}

func bmAllocationUnsetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "unset ALLOCATION",
		Short: "Unset the name or extra values of a node allocation",
		Long:  `Take the name or notes of an allocation away. Shows the allocation afterwards.`,
		Example: `  berth baremetal allocation unset web --name
  berth baremetal allocation unset web --extra rack`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	name := command.Flags().Bool("name", false, "the name")
	extra := command.Flags().StringArray("extra", nil, "the note with this `key`; may be repeated")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = changeAllocation(f, format, "say what to take away with --name or --extra", func() ([]baremetal.Change, error) {
		var changes []baremetal.Change
		for _, key := range *extra {
			changes = append(changes, baremetal.Unset("extra", key))
		}
		if *name {
			changes = append(changes, baremetal.Unset("name"))
		}
		return changes, nil
	})
	return command
}

// changeAllocation is what set and unset do.
func changeAllocation(f *frame.Frame, format *string, remedy string, read func() ([]baremetal.Change, error)) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		changes, err := read()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return frame.WrongArgument("allocation", arguments[0], "stays as it is", remedy)
		}
		changed, err := service.NodeAllocationUpdate(ctx, arguments[0], changes...)
		if err != nil {
			return err
		}
		return printAllocations(ctx, f, service, *format, changed, changed)
	})
}

func bmAllocationDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ALLOCATION...",
		Short: "Delete node allocations",
		Long: `Delete allocations; their machines are free then. The service refuses one whose
machine is "active": undeploy that, which gives it back as well. One that cannot be
deleted does not keep the others from being deleted; the exit code is then 1. With
--node the arguments are nodes, and their allocations are deleted.`,
		Example: `  berth baremetal allocation delete web db
  berth baremetal allocation delete rack-1 --node`,
		Args: cobra.MinimumNArgs(1),
	}
	ofNode := command.Flags().Bool("node", false, "the arguments are nodes")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, anyNumber)
	command.RunE = withBaremetalClient(f, nil, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		remove, what := service.NodeAllocationDelete, "allocation"
		if *ofNode {
			remove, what = service.AllocationOfNodeDelete, "the allocation of node"
		}
		return f.ForEach(arguments, func(ident string) error {
			if err := remove(ctx, ident); err != nil {
				return err
			}
			return f.Printf("deleted %s %s", what, ident)
		})
	})
	return command
}
