package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
)

func (p *process) bmDriverCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List drivers",
		Long: `List the drivers of the conductors that are alive, by name.

A JSON list has the members name, type and hosts.`,
		Example: `  berth baremetal driver list`,
		Args:    cobra.NoArgs,
	}
	listed := outputFlag(list)
	list.RunE = p.askingBaremetal(listed, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.DriverList(ctx)
		if err != nil {
			return err
		}
		return printAs(p.stdout, *listed, found, driverTable(found...))
	})
	show := &cobra.Command{
		Use:   "show DRIVER",
		Short: "Show one driver",
		Long: `Show one driver.

The JSON object has the members of 'berth baremetal driver list'.`,
		Example: `  berth baremetal driver show fake-hardware`,
		Args:    cobra.ExactArgs(1),
	}
	shown := outputFlag(show)
	show.ValidArgsFunction = p.completing(completeDrivers, 1)
	show.RunE = p.askingBaremetal(shown, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.DriverShow(ctx, arguments[0])
		if err != nil {
			return err
		}
		return printAs(p.stdout, *shown, found, driverTable(found))
	})
	return family(&cobra.Command{
		Use:     "driver",
		Short:   "Drivers: kinds of hardware",
		Long:    `Show the kinds of hardware that the conductors can manage.`,
		Example: `  berth baremetal driver list`,
	}, list, show)
}

func driverTable(drivers ...baremetal.Driver) [][]string {
	table := [][]string{{"NAME", "TYPE", "CONDUCTORS"}}
	for _, driver := range drivers {
		table = append(table, []string{driver.Name, driver.Type, orDash(strings.Join(driver.Hosts, " "))})
	}
	return table
}

func (p *process) bmConductorCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List conductors",
		Long: `List conductors, the dead ones as well.

A JSON list has the members hostname, conductor_group, alive, drivers, created_at and
updated_at, which is the last sign of life.`,
		Example: `  berth baremetal conductor list`,
		Args:    cobra.NoArgs,
	}
	listed := outputFlag(list)
	list.RunE = p.askingBaremetal(listed, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := service.ConductorList(ctx)
		if err != nil {
			return err
		}
		return printAs(p.stdout, *listed, found, conductorTable(found...))
	})
	show := &cobra.Command{
		Use:   "show CONDUCTOR",
		Short: "Show one conductor",
		Long: `Show one conductor.

The JSON object has the members of 'berth baremetal conductor list'.`,
		Example: `  berth baremetal conductor show berth-1`,
		Args:    cobra.ExactArgs(1),
	}
	shown := outputFlag(show)
	show.ValidArgsFunction = p.completing(completeConductors, 1)
	show.RunE = p.askingBaremetal(shown, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.ConductorShow(ctx, arguments[0])
		if err != nil {
			return err
		}
		return printAs(p.stdout, *shown, found, conductorTable(found))
	})
	return family(&cobra.Command{
		Use:   "conductor",
		Short: "Conductors: the processes that manage machines",
		Long: `Show the processes that manage machines and decide allocations. Each 'berth serve' is
one. What a dead one had begun is done by another.`,
		Example: `  berth baremetal conductor list`,
	}, list, show)
}

func conductorTable(conductors ...baremetal.Conductor) [][]string {
	table := [][]string{{"HOSTNAME", "GROUP", "ALIVE", "DRIVERS", "LAST SIGN"}}
	for _, one := range conductors {
		table = append(table, []string{one.Hostname, orDash(one.Group), yesNo(one.Alive), orDash(strings.Join(one.Drivers, " ")), moment(one.UpdatedAt)})
	}
	return table
}
