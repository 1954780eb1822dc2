package apicommand

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

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

// listAggregates prints all aggregates.
func listAggregates(ctx context.Context, f *frame.Frame, service *client.Client, format string) error {
	listed, _, err := firstOf(service.Aggregates(ctx, client.AggregateQuery{PageSize: maxPage}), 0)
	switch {
	case errors.Is(err, client.ErrExtensions):
		return fmt.Errorf("the service lists only the aggregates of a PROVIDER, because it does not have berth %s: %w", readingVersion, err)
	case errors.Is(err, client.ErrForbidden):
		return fmt.Errorf("policy does not permit the list of all aggregates to this user; the rule is berth:aggregates:list: %w", err)
	case err != nil:
		return err
	}
	table := [][]string{{"AGGREGATE", "PROVIDERS", "SHARING"}}
	for _, aggregate := range listed {
		table = append(table, []string{aggregate.UUID.String(), fmt.Sprint(aggregate.ResourceProviderCount), fmt.Sprint(aggregate.SharingProviderCount)})
	}
	if err := frame.PrintAs(f.Stdout, format, listed, table); err != nil {
		return err
	}
	return noteEnd(f, "aggregates", len(listed), false)
}
