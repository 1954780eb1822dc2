package main

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
)

func (p *process) aggregateCommand() *cobra.Command {
	command := family(&cobra.Command{
		Use:   "aggregate",
		Short: "Aggregates: providers that belong together",
		Long: `Show and change which aggregates a provider is in. An aggregate is a uuid and nothing
else; it exists as long as a provider is in it. Which providers are in one is told by
'berth provider list --member-of'.`,
		Example: `  berth aggregate list compute-1
  berth aggregate add compute-1 0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8
  berth provider list --member-of 0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8`,
	}, collection[uuid.UUID]{
		many: "aggregates", heading: "AGGREGATE", member: "AGGREGATE", path: "aggregate",
		example: [2]string{"0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8", "4f1c5b1a-90bb-4d4c-8d3e-5a7c26a0a3ba"},
		parse:   parseAggregate, text: uuid.UUID.String,
		list: (*client.Client).ProviderAggregateList, replace: (*client.Client).ProviderAggregateReplace,
	}.commands(p)...)
	p.connectFlags(command)
	return command
}

func parseAggregate(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, wrongArgument("aggregate", text, "is no uuid", "write one such as 0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8; names of aggregates are known to the compute service only")
	}
	return id, nil
}
