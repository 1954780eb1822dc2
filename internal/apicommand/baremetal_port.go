package apicommand

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/frame"
)

func bmPortCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "port",
		Short: "Create, list and delete ports of nodes",
		Long:  `Show and change the network interfaces of machines. Ports have no names; PORT is a uuid.`,
		Example: `  berth baremetal port create --node rack-1 52:54:00:12:34:56
  berth baremetal port list --node rack-1`,
	}, bmPortCreateCommand(f), bmPortListCommand(f), bmPortShowCommand(f), bmPortDeleteCommand(f))
}

func portTable(ports ...baremetal.Port) [][]string {
	table := [][]string{{"UUID", "ADDRESS", "NODE", "NETWORK", "PXE"}}
	for _, port := range ports {
		table = append(table, []string{port.UUID.String(), port.Address, port.NodeUUID.String(), optional(port.PhysicalNetwork), yesNo(port.PXEEnabled)})
	}
	return table
}

func bmPortCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "create ADDRESS",
		Short:   "Create a port of a node",
		Long:    `Give a node a port with a MAC address, which no other port may have, and show it.`,
		Example: `  berth baremetal port create 52:54:00:12:34:56 --node rack-1 --physical-network provisioning`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	node := command.Flags().String("node", "", "the `node`")
	id := command.Flags().String("uuid", "", "`uuid` to give it; one is made up otherwise")
	network := command.Flags().String("physical-network", "", "`network` that it is plugged into")
	extra := pairsFlag(command, "extra", "note `KEY=VALUE` with it")
	command.ValidArgsFunction = cobra.NoFileCompletions
	completeFlag(f, command, "node", completeNodes)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) (err error) {
		if *node == "" {
			return frame.WrongFlag("node", "", "names no node", "write whose port it is")
		}
		wanted := baremetal.NewPort{Address: arguments[0], PhysicalNetwork: *network}
		if wanted.UUID, err = uuidFlag("uuid", *id); err != nil {
			return err
		}
		if wanted.Extra, err = readPairs("extra", *extra); err != nil {
			return err
		}
		// The API takes uuids only here.
		owner, err := service.NodeShow(ctx, *node)
		if err != nil {
			return unknownNode(ctx, service, *node, err)
		}
		wanted.NodeUUID = owner.UUID
		made, err := service.PortCreate(ctx, wanted)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, made, portTable(made))
	})
	return command
}

func bmPortListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List ports",
		Long: `List the ports that meet every condition; without one, all.

A JSON list has the members uuid, address, node_uuid, pxe_enabled, physical_network,
local_link_connection, extra, created_at and updated_at.`,
		Example: `  berth baremetal port list --node rack-1
  berth baremetal port list --address 52:54:00:12:34:56 --output json`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var filter baremetal.PortFilter
	command.Flags().StringVar(&filter.Node, "node", "", "those of this `node`")
	command.Flags().StringVar(&filter.Address, "address", "", "the one with this MAC `address`")
	completeFlag(f, command, "node", completeNodes)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.PortList(ctx, filter)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, found, portTable(found...))
	})
	return command
}

// portID reads the argument that names a port.
func portID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, frame.WrongArgument("port", text, "is no uuid", "ports have no names; see 'berth baremetal port list'")
	}
	return id, nil
}

var completePorts = completeBaremetal(func(service *baremetal.Client, ctx context.Context) ([]string, error) {
	all, err := service.PortList(ctx, baremetal.PortFilter{})
	var ids []string
	for _, port := range all {
		ids = append(ids, port.UUID.String())
	}
	return ids, err
})

func bmPortShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show PORT",
		Short: "Show one port",
		Long: `Show one port.

The JSON object has the members of 'berth baremetal port list'.`,
		Example: `  berth baremetal port show c0ffee00-0000-4000-8000-000000000001`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, completePorts, 1)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		id, err := portID(arguments[0])
		if err != nil {
			return err
		}
		found, err := service.PortShow(ctx, id)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, found, portTable(found))
	})
	return command
}

func bmPortDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PORT...",
		Short: "Delete ports",
		Long: `Delete ports. One that cannot be deleted does not keep the others from being deleted;
the exit code is then 1.`,
		Example: `  berth baremetal port delete c0ffee00-0000-4000-8000-000000000001`,
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = completing(f, completePorts, anyNumber)
	command.RunE = withBaremetalClient(f, nil, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		return f.ForEach(arguments, func(text string) error {
			id, err := portID(text)
			if err != nil {
				return err
			}
			if err := service.PortDelete(ctx, id); err != nil {
				return err
			}
			return f.Printf("deleted port %s", id)
		})
	})
	return command
}
