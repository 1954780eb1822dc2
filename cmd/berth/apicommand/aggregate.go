package apicommand

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func aggregateCommand(f *frame.Frame) *cobra.Command {
	command := frame.Family(&cobra.Command{
		Use:   "aggregate",
		Short: "List aggregates, add them to a provider and remove them",
		Long: `List all aggregates, and list, add and remove the aggregates of a provider. An aggregate
is a UUID that groups providers; adding it to a provider creates it. 'berth provider list
--member-of' lists the providers of an aggregate.

The API has no names of aggregates. Where commands take the UUID of one, they also take
its name from the file that BERTH_AGGREGATE_NAMES names: a line 'UUID: name' for each,
as 'berth serve --aggregate-names' reads it for the console. The racks of 'berth demo'
have names without a file.`,
		Example: `  berth aggregate list
  berth aggregate list compute-1
  berth aggregate add compute-1 0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8
  berth provider list --member-of 0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8`,
	}, providerSetCommands[uuid.UUID]{
		plural: "aggregates", heading: "AGGREGATE", member: "AGGREGATE", path: "aggregate",
		example: [2]string{"0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8", "4f1c5b1a-90bb-4d4c-8d3e-5a7c26a0a3ba"},
		parse:   aggregateNames{f}.parse, text: uuid.UUID.String,
		list: (*client.Client).ProviderAggregateList, replace: (*client.Client).ProviderAggregateReplace,
		all: &allAggregates,
	}.commands(f)...)
	connect.Flags(f, command)
	return command
}
