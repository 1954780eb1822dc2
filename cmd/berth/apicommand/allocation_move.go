package apicommand

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func allocationMoveCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Move all allocations of a consumer to another",
		Long: `Move all allocations of the consumer FROM to the consumer TO in one transaction, and
replace the allocations of TO. A new consumer TO gets the project, user and type of
FROM. The command is idempotent and prints the allocations of TO.

` + dryRunHelp,
		Example: `  berth allocation move 5f0d2a1e-0001-4000-8000-000000000001 5f0d2a1e-0002-4000-8000-000000000002`,
		Args:    cobra.ExactArgs(2),
	}
	format := frame.ReportFlag(command)
	dryRun := dryRunFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		from, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		to, err := parseConsumer(arguments[1])
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) error {
			moved, err := service.Move(ctx, from, to)
			if err == nil && !moved {
				err = fmt.Errorf("cannot move the allocations of consumer %s: they violate the capacity or units of their inventories; nothing was changed", from)
			}
			return err
		}, func() error { return printConsumer(ctx, f, service, *format, to) })
	})
	return command
}
