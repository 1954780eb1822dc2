package main

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
)

func (p *process) bmAllocationCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "allocation",
		Short: "Allocations: wishes for a machine, and who has which",
		Long: `Ask for a machine of a resource class and with traits, and show, change and give back
what was given. An allocation begins as "allocating", and soon is "active", with a node,
or "error", with the reason. One in "error" keeps its name until it is deleted.`,
		Example: `  berth baremetal allocation create --name web --resource-class gold --wait
  berth baremetal allocation list --state active
  berth baremetal allocation delete web`,
	}, p.bmAllocationCreateCommand(), p.bmAllocationListCommand(), p.bmAllocationShowCommand(), p.bmAllocationSetCommand(),
		p.bmAllocationUnsetCommand(), p.bmAllocationDeleteCommand())
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
	if len(wanted) > fewProviders {
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

func (p *process) printAllocations(ctx context.Context, service *baremetal.Client, format string, value any, allocations ...baremetal.Allocation) error {
	if format == "json" {
		return printAs(p.stdout, format, value, nil)
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
	return printAs(p.stdout, format, nil, table)
}

func (p *process) bmAllocationCreateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Ask for a machine, or note who has one",
		Long: `Ask for a free machine of a resource class that has all the traits. The service answers at
once and decides then; --wait waits for that, and the exit code is 1 if there is none.
The allocation is shown as 'berth baremetal allocation show' does.

With --node nothing is looked for: the node, which has to be "active" already, gets an
allocation for what it is used for.`,
		Example: `  berth baremetal allocation create --resource-class gold --wait
  berth baremetal allocation create --name web --resource-class gold --trait CUSTOM_SSD --wait --wait-timeout 30s
  berth baremetal allocation create --resource-class gold --candidate-node rack-1 --candidate-node rack-2
  berth baremetal allocation create --name old --node rack-7`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
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
	p.completeFlag(command, "resource-class", completeNodeClasses)
	p.completeFlag(command, "candidate-node", completeNodes)
	p.completeFlag(command, "node", completeNodes)
	p.completeFlag(command, "trait", completeTraits)
	command.RunE = p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, _ []string) (err error) {
		if wanted.ResourceClass == "" && wanted.Node == "" {
			return wrongFlag("resource-class", "", "names no class", "write which class of machine is wanted, or --node")
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
			// By its uuid: the name may be somebody else's by then.
			if made, err = p.waitForAllocation(ctx, service, wait, made.UUID.String()); err != nil {
				return err
			}
		}
		return p.printAllocations(ctx, service, *format, made, made)
	})
	return command
}

// waitForAllocation tells how it goes while it waits.
func (p *process) waitForAllocation(ctx context.Context, service *baremetal.Client, wait waiting, id string) (found baremetal.Allocation, err error) {
	line := p.newWaitingLine()
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

func (p *process) bmAllocationListCommand() *cobra.Command {
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
	format := outputFlag(command)
	var filter baremetal.AllocationFilter
	flags := command.Flags()
	flags.StringVar(&filter.State, "state", "", "those in the `state` allocating, active or error")
	flags.StringVar(&filter.ResourceClass, "resource-class", "", "those that asked for this `class`")
	flags.StringVar(&filter.Node, "node", "", "the one that has this `node`")
	flags.StringVar(&filter.Owner, "owner", "", "those of this `project`")
	flags.IntVar(&filter.Most, "limit", 0, "at most this `number`, the oldest ones; 0 means all")
	completeChoices(command, "state", baremetal.Allocating, baremetal.Active, baremetal.Failed)
	p.completeFlag(command, "resource-class", completeNodeClasses)
	p.completeFlag(command, "node", completeNodes)
	command.RunE = p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.NodeAllocationList(ctx, filter)
		if err != nil {
			return err
		}
		return p.printAllocations(ctx, service, *format, found, found...)
	})
	return command
}

func (p *process) bmAllocationShowCommand() *cobra.Command {
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
	format := outputFlag(command)
	ofNode := command.Flags().Bool("node", false, "the argument is a node")
	command.ValidArgsFunction = p.completing(completeNodeAllocations, 1)
	command.RunE = p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		show := service.NodeAllocationShow
		if *ofNode {
			show = service.AllocationOfNodeShow
		}
		found, err := show(ctx, arguments[0])
		if err != nil {
			return err
		}
		return p.printAllocations(ctx, service, *format, found, found)
	})
	return command
}

func (p *process) bmAllocationSetCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "set ALLOCATION",
		Short: "Change the name or the notes of an allocation",
		Long: `Give an allocation another name, or notes. What is not named stays. Shows the allocation
afterwards.`,
		Example: `  berth baremetal allocation set web --name web-old
  berth baremetal allocation set web --extra rack=7 --extra purpose=tests`,
		Args: cobra.ExactArgs(1),
	}
	format := outputFlag(command)
	name := command.Flags().String("name", "", "the new `name`")
	extra := pairsFlag(command, "extra", "note `KEY=VALUE` with it")
	command.ValidArgsFunction = p.completing(completeNodeAllocations, 1)
	command.RunE = p.changeAllocation(format, "say what to change with --name or --extra", func() ([]baremetal.Change, error) {
		changes, err := setPairs("extra", "extra", *extra)
		if *name != "" {
			changes = append(changes, baremetal.Set(*name, "name"))
		}
		return changes, err
	})
	return command
}

func (p *process) bmAllocationUnsetCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "unset ALLOCATION",
		Short: "Take the name or notes of an allocation away",
		Long:  `Take the name or notes of an allocation away. Shows the allocation afterwards.`,
		Example: `  berth baremetal allocation unset web --name
  berth baremetal allocation unset web --extra rack`,
		Args: cobra.ExactArgs(1),
	}
	format := outputFlag(command)
	name := command.Flags().Bool("name", false, "the name")
	extra := command.Flags().StringArray("extra", nil, "the note with this `key`; may be repeated")
	command.ValidArgsFunction = p.completing(completeNodeAllocations, 1)
	command.RunE = p.changeAllocation(format, "say what to take away with --name or --extra", func() ([]baremetal.Change, error) {
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
func (p *process) changeAllocation(format *string, remedy string, read func() ([]baremetal.Change, error)) func(*cobra.Command, []string) error {
	return p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		changes, err := read()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return wrongArgument("allocation", arguments[0], "stays as it is", remedy)
		}
		changed, err := service.NodeAllocationUpdate(ctx, arguments[0], changes...)
		if err != nil {
			return err
		}
		return p.printAllocations(ctx, service, *format, changed, changed)
	})
}

func (p *process) bmAllocationDeleteCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ALLOCATION...",
		Short: "Give machines back",
		Long: `Delete allocations; their machines are free then. The service refuses one whose machine is
"active": undeploy that, which gives it back as well. One that cannot be deleted does
not keep the others from being deleted; the exit code is then 1. With --node the
arguments are nodes, and their allocations are deleted.`,
		Example: `  berth baremetal allocation delete web db
  berth baremetal allocation delete rack-1 --node`,
		Args: cobra.MinimumNArgs(1),
	}
	ofNode := command.Flags().Bool("node", false, "the arguments are nodes")
	command.ValidArgsFunction = p.completing(completeNodeAllocations, anyNumber)
	command.RunE = p.askingBaremetal(nil, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		remove, what := service.NodeAllocationDelete, "allocation"
		if *ofNode {
			remove, what = service.AllocationOfNodeDelete, "the allocation of node"
		}
		return p.forEach(arguments, func(ident string) error {
			if err := remove(ctx, ident); err != nil {
				return err
			}
			return p.say("deleted %s %s", what, ident)
		})
	})
	return command
}
