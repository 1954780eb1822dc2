package apicommand

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmDriverCommand(f *frame.Frame) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List drivers",
		Long: `List the drivers of the live conductors, sorted by name.

The JSON list has the members name, type and hosts.`,
		Example: `  berth baremetal driver list`,
		Args:    cobra.NoArgs,
	}
	listed := frame.OutputFlag(list)
	list.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.DriverList(ctx)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *listed, found, driverTable(found...))
	})
	show := &cobra.Command{
		Use:   "show DRIVER",
		Short: "Show one driver",
		Long: `Show one driver.

The JSON object has the members of 'berth baremetal driver list'.`,
		Example: `  berth baremetal driver show fake-hardware`,
		Args:    cobra.ExactArgs(1),
	}
	shown := frame.OutputFlag(show)
	show.ValidArgsFunction = completing(f, completeDrivers, 1)
	show.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.DriverShow(ctx, arguments[0])
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *shown, found, driverTable(found))
	})
	return frame.Family(&cobra.Command{
		Use:     "driver",
		Short:   "List and show drivers",
		Long:    `List and show the drivers of the live conductors. A driver manages one type of hardware.`,
		Example: `  berth baremetal driver list`,
	}, list, show)
}

func driverTable(drivers ...baremetal.Driver) [][]string {
	table := [][]string{{"NAME", "TYPE", "CONDUCTORS"}}
	for _, driver := range drivers {
		table = append(table, []string{driver.Name, driver.Type, frame.OrDash(strings.Join(driver.Hosts, " "))})
	}
	return table
}

func bmConductorCommand(f *frame.Frame) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List conductors",
		Long: `List conductors, including dead ones.

The JSON list has the members hostname, conductor_group, alive, drivers, created_at and
updated_at, which is the time of the last heartbeat.`,
		Example: `  berth baremetal conductor list`,
		Args:    cobra.NoArgs,
	}
	listed := frame.OutputFlag(list)
	list.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.ConductorList(ctx)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *listed, found, conductorTable(found...))
	})
	show := &cobra.Command{
		Use:   "show CONDUCTOR",
		Short: "Show one conductor",
		Long: `Show one conductor.

The JSON object has the members of 'berth baremetal conductor list'.`,
		Example: `  berth baremetal conductor show berth-1`,
		Args:    cobra.ExactArgs(1),
	}
	shown := frame.OutputFlag(show)
	show.ValidArgsFunction = completing(f, completeConductors, 1)
	show.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.ConductorShow(ctx, arguments[0])
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *shown, found, conductorTable(found))
	})
	return frame.Family(&cobra.Command{
		Use:   "conductor",
		Short: "List and show conductors",
		Long: `List and show conductors, the processes that manage nodes and process node allocations.
Each 'berth serve' is one. Another conductor takes over the work of a dead one.`,
		Example: `  berth baremetal conductor list`,
	}, list, show)
}

func conductorTable(conductors ...baremetal.Conductor) [][]string {
	table := [][]string{{"HOSTNAME", "GROUP", "ALIVE", "DRIVERS", "LAST HEARTBEAT"}}
	for _, conductor := range conductors {
		table = append(table, []string{
			conductor.Hostname, frame.OrDash(conductor.Group), yesNo(conductor.Alive),
			frame.OrDash(strings.Join(conductor.Drivers, " ")), timeText(conductor.UpdatedAt),
		})
	}
	return table
}
