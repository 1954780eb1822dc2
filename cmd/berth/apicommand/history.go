package apicommand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// berth17 is the version of the extensions with the record of changes.
const berth17 = "1.7"

// historyTopics are the values of --topic.
var historyTopics = []string{"aggregate", "allocation", "history", "inventory", "name", "node", "node_allocation", "provider", "trait"}

// historyFlags are the flags of `berth history`.
type historyFlags struct {
	filter           client.HistoryFilter
	consumers, nodes []string
	tree             string
	since, until     string
	limit            int
	full, follow     bool
	format           *string
	// object is the argument; "": none.
	object string
}

func historyCommand(f *frame.Frame) *cobra.Command {
	flags := &historyFlags{}
	command := frame.Family(&cobra.Command{
		Use:   "history [PROVIDER | NODE | CONSUMER]",
		Short: "List what writes changed, and who asked for them",
		Long: `List what committed writes changed, the newest first: when, who asked, with which request,
and a line for each changed object. A write is listed whole if one of its changes passes all
filters. The commands need a service with berth 1.7 whose record of changes was turned on
with 'berth history enable'.

The argument is the UUID or name of a provider or node, or the UUID of a consumer. A name
that nothing has now is one that a provider, node or node allocation had. The name of a
subcommand is that subcommand; --name selects what has or had such a name.

--since and --until take a time such as 2026-11-20T10:00:00Z, a local one such as 2026-11-20,
2026-11-20T10:00 or 18:00, which is the latest 18:00, a duration before now such as 2h or 7d,
or an index. With --request the list also has the requests that found nothing.

UUIDs and request IDs are shortened in tables; --full has all values before and after each
write. --follow asks every second for new events, and prints them until it is interrupted,
from --since on or from now on; its JSON has one event a line.

The JSON is the response of the API: events, and log, oldest and newest.

Exit codes: 0 succeeded, 1 failed, 2 a flag or an argument is invalid.`,
		Example: `  berth history compute-1 --since 2h
  berth history --topic trait,inventory --user ada --limit 100
  berth history --request req-6b6837d1-5af3-4138-b4ed-e0275c3efda4 --full
  berth history --tree compute-1 --follow`,
	}, historyEnableCommand(f), historyDisableCommand(f), historyStatusCommand(f))
	flags.add(f, command)
	command.Args = flags.check
	command.ValidArgsFunction = completing(f, completeHistoryObjects, 1)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		if err := requireHistory(ctx, service, "berth history"); err != nil {
			return err
		}
		if err := flags.resolve(ctx, service); err != nil {
			return historyError(err)
		}
		if flags.follow {
			return historyError(followHistory(ctx, f, service, flags))
		}
		return historyError(listHistory(ctx, f, service, flags))
	})
	return command
}

// addFilters adds the flags of the filters that lists and streams of events have.
func (h *historyFlags) addFilters(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&h.tree, "tree", "", "name or UUID of a `provider` of a tree, of which all changes are listed (default: any)")
	flags.StringSliceVar(&h.consumers, "consumer", nil, "`UUID,UUID,…` of consumers (default: any)")
	flags.StringSliceVar(&h.nodes, "node", nil, "`name,UUID,…` of nodes, with their allocations and providers (default: any)")
	flags.StringVar(&h.filter.ProjectID, "project", "", "project `ID` of a changed consumer (default: all)")
	flags.StringSliceVar(&h.filter.Topics, "topic", nil, "`TOPIC,TOPIC,…`: aggregate, allocation, history, inventory, name (of classes and traits), node, node_allocation, provider, trait (default: all)")
	completeProviderFlags(f, c, "tree")
	completeFlag(f, c, "node", completeNodes)
	frame.CompleteChoices(c, "topic", historyTopics...)
}

// add adds the flags to the command.
func (h *historyFlags) add(f *frame.Frame, c *cobra.Command) {
	h.addFilters(f, c)
	flags := c.Flags()
	flags.StringVar(&h.filter.Name, "name", "", "`name` that a provider, node or node allocation has or had (default: any)")
	flags.StringVar(&h.filter.UserID, "user", "", "`ID` of the user that asked (default: all)")
	flags.StringVar(&h.filter.Request, "request", "", "`ID` of a request or of a chain of requests (default: all)")
	flags.StringVar(&h.since, "since", "", "`time`, duration before now, or index, from which on events are listed, such as 18:00, 2h or 41822")
	flags.StringVar(&h.until, "until", "", "`time`, duration before now, or index, before which events are listed")
	flags.BoolVar(&h.filter.OldestFirst, "oldest-first", false, "whether the oldest events come first")
	flags.BoolVar(&h.full, "full", false, "whether all values before and after are shown")
	flags.BoolVar(&h.follow, "follow", false, "whether new events are printed until the command is interrupted")
	flags.IntVar(&h.limit, "limit", defaultHistory, "maximum `number` of events; 0 means no limit, which is the default of --follow")
	h.format = frame.OutputFlag(c)
}

// defaultHistory is the value of --limit.
const defaultHistory = 20

// check is the Args function of the command. It validates the values that need no service.
func (h *historyFlags) check(c *cobra.Command, arguments []string) error {
	if err := cobra.MaximumNArgs(1)(c, arguments); err != nil {
		return err
	}
	for _, argument := range arguments {
		if argument == "" {
			return frame.WrongArgument("object", argument, "is empty", "write a name or a UUID")
		}
		h.object = argument
	}
	switch {
	case h.limit < 0:
		return frame.WrongFlag("limit", fmt.Sprint(h.limit), "is negative", "write the maximum number of events, or 0 for no limit")
	case h.full && *h.format == frame.OutputCSV:
		return frame.WrongFlag("full", "true", "has no format csv", "write --output table, json or yaml")
	case h.follow && *h.format != frame.OutputTable && *h.format != frame.OutputJSON:
		return frame.WrongFlag("follow", "true", "has no format "+*h.format, "write --output table or json")
	case h.follow && h.until != "":
		return frame.WrongFlag("until", h.until, "is used with --follow, which has no end", "remove one of the two")
	case h.object != "" && h.filter.Name != "":
		return frame.WrongFlag("name", h.filter.Name, "is used with a name or UUID as the argument", "remove one of the two")
	case h.object != "" && len(h.nodes) > 0:
		return frame.WrongFlag("node", h.nodes[0], "is used with a name or UUID as the argument", "remove one of the two")
	}
	for _, text := range h.consumers {
		id, err := parseConsumer(text)
		if err != nil {
			return frame.WrongFlag("consumer", text, "is not a UUID", "write the UUID of a consumer; 'berth consumer list' lists them")
		}
		h.filter.Consumers = append(h.filter.Consumers, id)
	}
	if h.follow && !c.Flags().Changed("limit") {
		h.limit = 0
	}
	h.filter.PageSize = pageSize(h.limit)
	return h.fillBounds(time.Now())
}

// fillBounds adds --since and --until to the filter.
func (h *historyFlags) fillBounds(now time.Time) (err error) {
	bounds := [2]historyBound{}
	for i, item := range []struct{ flag, text string }{{"since", h.since}, {"until", h.until}} {
		if item.text == "" {
			continue
		}
		if bounds[i], err = parseHistoryBound(item.flag, item.text, now); err != nil {
			return err
		}
	}
	since, until := bounds[0], bounds[1]
	if !since.at.IsZero() && !until.at.IsZero() && !since.at.Before(until.at) || since.index > 0 && until.index > 0 && since.index >= until.index {
		return frame.WrongFlag("until", h.until, "is not after --since", "write a later time or index")
	}
	h.filter.Since, h.filter.SinceIndex = since.at, since.index
	h.filter.Until, h.filter.UntilIndex = until.at, until.index
	return nil
}

// requireHistory returns an error unless the service has the record of changes, which a command needs.
func requireHistory(ctx context.Context, service *client.Client, command string) error {
	has, err := service.HasExtensions(ctx, berth17)
	if err != nil || has {
		return err
	}
	return needsExtensions(ctx, service, command, berth17)
}

// historyError returns the error of a request for events.
func historyError(err error) error {
	if errors.Is(err, client.ErrHistoryOff) {
		return errors.New("no history is kept; an administrator turns it on with 'berth history enable'")
	}
	return readError(notFoundText(err), "keeps no history", berth17, "the history to this user; the rule is berth:history:list")
}

// completeHistoryObjects completes the argument: the names of providers, and those of nodes where the service has them.
func completeHistoryObjects(service *client.Client, ctx context.Context) ([]string, error) {
	names, err := completeProviderNames(service, ctx)
	if nodes, nodesErr := completeNodes(service, ctx); nodesErr == nil {
		names = append(names, nodes...)
		slices.Sort(names)
	}
	return slices.Compact(names), err
}
