package apicommand

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

var driverRows = frame.Rows[baremetal.Driver]{
	Headings: []string{"NAME", "TYPE", "CONDUCTORS"},
	Cells: func(driver baremetal.Driver) []string {
		return []string{driver.Name, driver.Type, frame.OrDash(strings.Join(driver.Hosts, " "))}
	},
}

func bmDriverCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:     "driver",
		Short:   "List and show drivers",
		Long:    `List and show the drivers of the live conductors. A driver manages one type of hardware.`,
		Example: `  berth baremetal driver list`,
	}, listing(f, &cobra.Command{
		Use:   "list",
		Short: "List drivers",
		Long: `List the drivers of the live conductors, sorted by name.

The JSON list has the members name, type and hosts.`,
		Example: `  berth baremetal driver list`,
	}, driverRows, (*baremetal.Client).DriverList), showing(f, &cobra.Command{
		Use:   "show DRIVER",
		Short: "Show one driver",
		Long: `Show one driver.

The JSON object has the members of 'berth baremetal driver list'.`,
		Example: `  berth baremetal driver show fake-hardware`,
	}, completeDrivers, (*baremetal.Client).DriverShow, driverRows.PrintOne))
}

var conductorRows = frame.Rows[baremetal.Conductor]{
	Headings: []string{"HOSTNAME", "GROUP", "ALIVE", "DRIVERS", "LAST HEARTBEAT"},
	Cells: func(conductor baremetal.Conductor) []string {
		return []string{
			conductor.Hostname, frame.OrDash(conductor.Group), yesNo(conductor.Alive),
			frame.OrDash(strings.Join(conductor.Drivers, " ")), timeText(conductor.UpdatedAt),
		}
	},
}

func bmConductorCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "conductor",
		Short: "List and show conductors",
		Long: `List and show conductors, the processes that manage nodes and process node allocations.
Each 'berth serve' is one. Another conductor takes over the work of a dead one.`,
		Example: `  berth baremetal conductor list`,
	}, listing(f, &cobra.Command{
		Use:   "list",
		Short: "List conductors",
		Long: `List conductors, including dead ones.

The JSON list has the members hostname, conductor_group, alive, drivers, created_at and
updated_at, which is the time of the last heartbeat.`,
		Example: `  berth baremetal conductor list`,
	}, conductorRows, (*baremetal.Client).ConductorList), showing(f, &cobra.Command{
		Use:   "show CONDUCTOR",
		Short: "Show one conductor",
		Long: `Show one conductor.

The JSON object has the members of 'berth baremetal conductor list'.`,
		Example: `  berth baremetal conductor show berth-1`,
	}, completeConductors, (*baremetal.Client).ConductorShow, conductorRows.PrintOne))
}
