package apicommand

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func aggregateCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
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
}

// allAggregates lists the aggregates of all providers.
var allAggregates = listWithoutProvider{
	short: "List all aggregates, or those of a provider",
	long: `List the aggregates of a provider, sorted. The JSON is a list of strings.

Without PROVIDER, the command lists all aggregates, oldest first, with the number of their
providers, and of those of them that share their inventories. The service keeps aggregates
without providers. The JSON is a list of aggregates in the format of the API. This needs a
service with berth 1.4.

Exit codes: 0 succeeded, 1 failed, 2 a flag is invalid.`,
	example: "  berth aggregate list\n",
	list:    listAggregates,
}

var aggregateRows = frame.Rows[api.ListedAggregate]{
	Headings: []string{"AGGREGATE", "PROVIDERS", "SHARING"},
	Cells: func(aggregate api.ListedAggregate) []string {
		return []string{aggregate.UUID.String(), fmt.Sprint(aggregate.ResourceProviderCount), fmt.Sprint(aggregate.SharingProviderCount)}
	},
}

// listAggregates prints all aggregates.
func listAggregates(ctx context.Context, f *frame.Frame, service *client.Client, format string) error {
	listed, _, err := firstOf(service.Aggregates(ctx, client.AggregateQuery{PageSize: maxPage}), 0)
	if err != nil {
		return readError(err, "lists only the aggregates of a PROVIDER", readingVersion, "the list of all aggregates to this user; the rule is berth:aggregates:list")
	}
	if err := aggregateRows.Print(f.Stdout, format, listed); err != nil {
		return err
	}
	return noteEnd(f, "aggregates", len(listed), false)
}
