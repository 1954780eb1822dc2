package apicommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmAllocationCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "allocation",
		Short: "Create, list, explain, retry, update and delete node allocations",
		Long: `Create, list, explain, retry, update and delete node allocations. A node allocation
starts in the state "allocating" and changes to "active", with a node, or to "error",
with the reason. In "error" it keeps its name until it is deleted; 'berth baremetal
allocation retry' tries it again.`,
		Example: `  berth baremetal allocation create --name web --resource-class gold --wait
  berth baremetal allocation list --state active
  berth baremetal allocation delete web`,
	}, bmAllocationCreateCommand(f), bmAllocationListCommand(f), bmAllocationShowCommand(f), bmAllocationExplainCommand(f), bmAllocationRetryCommand(f),
		bmAllocationSetCommand(f), bmAllocationUnsetCommand(f), bmAllocationDeleteCommand(f))
}

// nodeNameCache maps the UUIDs of nodes in responses to their names.
type nodeNameCache struct {
	service *baremetal.Client
	known   map[uuid.UUID]string
}

// load requests the names of the nodes of the allocations. It requests up to FewProviders nodes one
// by one, and for more it lists all nodes.
func (n *nodeNameCache) load(ctx context.Context, allocations []baremetal.Allocation) error {
	n.known = map[uuid.UUID]string{}
	ids := map[uuid.UUID]bool{}
	for _, allocation := range allocations {
		if allocation.NodeUUID != nil {
			ids[*allocation.NodeUUID] = true
		}
	}
	if len(ids) > FewProviders {
		all, err := n.service.NodeList(ctx, baremetal.NodeFilter{})
		for _, node := range all {
			n.add(node)
		}
		return err
	}
	for id := range ids {
		node, err := n.service.NodeShow(ctx, id.String())
		if err == nil {
			n.add(node)
		}
		// A node that is deleted, or that the caller may not read, has its UUID as name.
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (n *nodeNameCache) add(node baremetal.Node) {
	if node.Name != nil {
		n.known[node.UUID] = *node.Name
	}
}

// name returns the name of a node, its UUID without a name, or a dash for nil.
func (n *nodeNameCache) name(id *uuid.UUID) string {
	if id == nil {
		return "-"
	}
	if name := n.known[*id]; name != "" {
		return name
	}
	return id.String()
}

func printAllocations(ctx context.Context, f *frame.Frame, service *baremetal.Client, format string, value any, allocations ...baremetal.Allocation) error {
	if frame.IsDocument(format) {
		return frame.PrintAs(f.Stdout, format, value, nil)
	}
	names := nodeNameCache{service: service}
	if err := names.load(ctx, allocations); err != nil {
		return err
	}
	rows := frame.Rows[baremetal.Allocation]{
		Headings: []string{"UUID", "NAME", "STATE", "CLASS", "NODE", "OWNER", "ERROR"},
		Cells: func(allocation baremetal.Allocation) []string {
			return []string{
				allocation.UUID.String(), optional(allocation.Name), allocation.State, optional(allocation.ResourceClass),
				names.name(allocation.NodeUUID), optional(allocation.Owner), optional(allocation.LastError),
			}
		},
	}
	return rows.Print(f.Stdout, format, allocations)
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
	var request baremetal.NewAllocation
	flags := command.Flags()
	flags.StringVar(&request.ResourceClass, "resource-class", "", "resource `class` of the node; required without --node")
	flags.StringVar(&request.Name, "name", "", "`name` of the node allocation; the server prefers an available node with this name")
	id := flags.String("uuid", "", "`UUID` of the node allocation (default: random)")
	flags.StringArrayVar(&request.Traits, "trait", nil, "required `trait` of the node; repeatable")
	flags.StringArrayVar(&request.CandidateNodes, "candidate-node", nil, "name or UUID of a candidate `node`; repeatable (default: all nodes)")
	flags.StringVar(&request.Node, "node", "", "name or UUID of the `node`, which must be active")
	flags.StringVar(&request.Owner, "owner", "", "owner `project` of the node allocation; only nodes that it owns or leases match")
	extra := pairsFlag(command, "extra", "extra value `KEY=VALUE`")
	wait := waitFlags(command, "the node allocation is active or has failed")
	command.ValidArgsFunction = cobra.NoFileCompletions
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "candidate-node", completeNodes)
	completeFlag(f, command, "node", completeNodes)
	completeFlag(f, command, "trait", completeTraits)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) (err error) {
		if request.ResourceClass == "" && request.Node == "" {
			return frame.WrongFlag("resource-class", "", "is empty", "write a resource class, or --node")
		}
		if err := wait.check(); err != nil {
			return err
		}
		if request.UUID, err = uuidFlag("uuid", *id); err != nil {
			return err
		}
		if request.Extra, err = readPairs("extra", *extra); err != nil {
			return err
		}
		return createAllocation(ctx, f, service, *format, request, wait)
	})
	return command
}

// waitForAllocation waits for the result of a node allocation and shows its state on a terminal.
func waitForAllocation(ctx context.Context, f *frame.Frame, service *baremetal.Client, wait waitOptions, id string) (found baremetal.Allocation, err error) {
	line := newWaitLine(f)
	err = wait.limited(ctx, func(ctx context.Context) (err error) {
		defer line.end()
		found, err = service.WaitForAllocation(ctx, id, func(seen baremetal.Allocation) {
			line.show("node allocation %s: %s", id, seen.State)
		})
		return err
	})
	var ended *baremetal.StateError
	if errors.As(err, &ended) && ended.Reason != "" {
		return found, fmt.Errorf("%s; %s", strings.TrimSuffix(ended.Reason, "."), retryOrDelete(cmp.Or(valueOr(found.Name, ""), id))) // the reason names the node allocation
	}
	return found, err
}

func bmAllocationListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List node allocations",
		Long: `List the node allocations that match all filters, by default all, in the order of their
creation.

The JSON list has the members uuid, name, state, resource_class, traits,
candidate_nodes, node_uuid, owner, last_error, extra, created_at and updated_at.`,
		Example: `  berth baremetal allocation list
  berth baremetal allocation list --state error --output json
  berth baremetal allocation list --node rack-1`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var filter baremetal.AllocationFilter
	flags := command.Flags()
	flags.StringVar(&filter.State, "state", "", "`state` of the node allocation: allocating, active or error")
	flags.StringVar(&filter.ResourceClass, "resource-class", "", "resource `class` of the node")
	flags.StringVar(&filter.Node, "node", "", "name or UUID of the `node`")
	flags.StringVar(&filter.Owner, "owner", "", "owner `project` of the node allocation")
	flags.IntVar(&filter.Most, "limit", 0, "maximum `number` of node allocations, the oldest first; 0 means no limit")
	frame.CompleteChoices(command, "state", baremetal.Allocating, baremetal.Active, baremetal.Failed)
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "node", completeNodes)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.NodeAllocationList(ctx, filter)
		if err != nil {
			return err
		}
		noteLimit(f, "node allocations", filter.Most, len(found))
		return printAllocations(ctx, f, service, *format, found, found...)
	})
	return command
}

func bmAllocationShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show ALLOCATION",
		Short: "Show one node allocation",
		Long: `Show one node allocation. With --node the argument is its node.

The JSON object has the members of 'berth baremetal allocation list'.`,
		Example: `  berth baremetal allocation show web
  berth baremetal allocation show rack-1 --node
  berth baremetal allocation show web --output json | jq -r .node_uuid`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	ofNode := command.Flags().Bool("node", false, "whether the argument is a node")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
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
		Long: `Set the name or extra values of a node allocation; others are unchanged. The command
prints the node allocation as 'berth baremetal allocation show' does.`,
		Example: `  berth baremetal allocation set web --name web-old
  berth baremetal allocation set web --extra rack=7 --extra purpose=tests`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	name := command.Flags().String("name", "", "new `name` of the node allocation")
	extra := pairsFlag(command, "extra", "extra value `KEY=VALUE`")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = changeAllocation(f, format, "write --name or --extra", func() ([]baremetal.Change, error) {
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
		Long: `Unset the name or extra values of a node allocation. The command prints the node
allocation as 'berth baremetal allocation show' does.`,
		Example: `  berth baremetal allocation unset web --name
  berth baremetal allocation unset web --extra rack`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	name := command.Flags().Bool("name", false, "whether the name is unset")
	extra := command.Flags().StringArray("extra", nil, "`key` of the extra value; repeatable")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = changeAllocation(f, format, "write --name or --extra", func() ([]baremetal.Change, error) {
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

func bmAllocationDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ALLOCATION...",
		Short: "Delete node allocations",
		Long: `Delete node allocations and release their nodes. The server rejects the deletion while
the node is "active"; 'berth baremetal node undeploy' releases such a node. The command
continues with the other node allocations; the exit code is then 1. With --node the
arguments are the nodes of the node allocations.`,
		Example: `  berth baremetal allocation delete web db
  berth baremetal allocation delete rack-1 --node`,
		Args: cobra.MinimumNArgs(1),
	}
	ofNode := command.Flags().Bool("node", false, "whether the arguments are nodes")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, anyNumber)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		remove, noun := service.NodeAllocationDelete, "node allocation"
		if *ofNode {
			remove, noun = service.AllocationOfNodeDelete, "the node allocation of node"
		}
		return f.ForEach(arguments, func(ident string) error {
			if err := remove(ctx, ident); err != nil {
				return err
			}
			return f.Printf("deleted %s %s", noun, ident)
		})
	})
	return command
}
