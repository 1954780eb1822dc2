package apicommand

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmPortCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "port",
		Short: "Create, list and delete ports of nodes",
		Long:  `Create, list and delete ports, the network interfaces of nodes. PORT is a UUID.`,
		Example: `  berth baremetal port create --node rack-1 52:54:00:12:34:56
  berth baremetal port list --node rack-1`,
	}, bmPortCreateCommand(f), bmPortListCommand(f), bmPortShowCommand(f), bmPortDeleteCommand(f))
}

var portRows = frame.Rows[baremetal.Port]{
	Headings: []string{"UUID", "ADDRESS", "NODE", "NETWORK", "PXE"},
	Cells: func(port baremetal.Port) []string {
		return []string{port.UUID.String(), port.Address, port.NodeUUID.String(), optional(port.PhysicalNetwork), yesNo(port.PXEEnabled)}
	},
}

func bmPortCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "create ADDRESS",
		Short:   "Create a port of a node",
		Long:    `Create a port of a node with a unique MAC address, and print it.`,
		Example: `  berth baremetal port create 52:54:00:12:34:56 --node rack-1 --physical-network provisioning`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	node := command.Flags().String("node", "", "name or UUID of the `node`")
	id := command.Flags().String("uuid", "", "`UUID` of the port (default: random)")
	network := command.Flags().String("physical-network", "", "physical `network` of the port")
	extra := pairsFlag(command, "extra", "extra value `KEY=VALUE`")
	command.ValidArgsFunction = cobra.NoFileCompletions
	completeFlag(f, command, "node", completeNodes)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) (err error) {
		if *node == "" {
			return frame.WrongFlag("node", "", "is empty", "write the node of the port")
		}
		port := baremetal.NewPort{Address: arguments[0], PhysicalNetwork: *network}
		if port.UUID, err = uuidFlag("uuid", *id); err != nil {
			return err
		}
		if port.Extra, err = readPairs("extra", *extra); err != nil {
			return err
		}
		// The API accepts only the UUID of the node.
		owner, err := service.NodeShow(ctx, *node)
		if err != nil {
			return unknownNode(ctx, service, *node, err)
		}
		port.NodeUUID = owner.UUID
		created, err := service.PortCreate(ctx, port)
		if err != nil {
			return err
		}
		return portRows.PrintOne(f.Stdout, *format, created)
	})
	return command
}

func bmPortListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List ports",
		Long: `List the ports that match all filters, by default all.

The JSON list has the members uuid, address, node_uuid, pxe_enabled, physical_network,
local_link_connection, extra, created_at and updated_at.`,
		Example: `  berth baremetal port list --node rack-1
  berth baremetal port list --address 52:54:00:12:34:56 --output json`,
		Args: cobra.NoArgs,
	}
	var filter baremetal.PortFilter
	command.Flags().StringVar(&filter.Node, "node", "", "name or UUID of the `node`")
	command.Flags().StringVar(&filter.Address, "address", "", "MAC `address` of the port")
	completeFlag(f, command, "node", completeNodes)
	return listing(f, command, portRows, func(service *baremetal.Client, ctx context.Context) ([]baremetal.Port, error) {
		return service.PortList(ctx, filter)
	})
}

// portID parses the UUID of a port in an argument.
func portID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, frame.WrongArgument("port", text, "is not a UUID", "ports have no names; see 'berth baremetal port list'")
	}
	return id, nil
}

func bmPortShowCommand(f *frame.Frame) *cobra.Command {
	return showing(f, &cobra.Command{
		Use:   "show PORT",
		Short: "Show one port",
		Long: `Show one port.

The JSON object has the members of 'berth baremetal port list'.`,
		Example: `  berth baremetal port show c0ffee00-0000-4000-8000-000000000001`,
	}, completePorts, func(service *baremetal.Client, ctx context.Context, text string) (baremetal.Port, error) {
		id, err := portID(text)
		if err != nil {
			return baremetal.Port{}, err
		}
		return service.PortShow(ctx, id)
	}, portRows.PrintOne)
}

func bmPortDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PORT...",
		Short: "Delete ports",
		Long: `Delete ports. After an error the command continues with the other ports; the exit code
is then 1.`,
		Example: `  berth baremetal port delete c0ffee00-0000-4000-8000-000000000001`,
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = completing(f, completePorts, anyNumber)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
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
