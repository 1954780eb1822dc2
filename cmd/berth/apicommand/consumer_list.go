package apicommand

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// consumerFlags are the flags of `berth consumer list`.
type consumerFlags struct {
	filter                       client.ConsumerFilter
	providers                    []string
	inTree, olderThan, newerThan string
	leases                       leaseFilter
	limit                        int
	format                       *string
}

func consumerListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list [BEGINNING]",
		Short: "List consumers with the sums of their allocations",
		Long: `List consumers, oldest first, with the sums of their allocations by resource class. With
BEGINNING only those whose UUID begins with it, in the order of UUIDs. A listed consumer
passes all filters; --provider, --in-tree, --class and --trait must hold for one and the
same allocation. Unknown names of projects, users, types, classes and traits match nothing.

The column LEASE has when the service removes a consumer unless its lease is renewed (in 42s),
or whatever is renewed (until 18:00 UTC). The filters of leases need berth 1.6, as the column.

The list ends after --limit consumers; a line on stderr states that there are more.

The JSON is a list of consumers in the format of the API; --allocations adds all allocations
of each, and to the table one row for each of its providers.

Exit codes: 0 succeeded, 1 failed, 2 a flag or an argument is invalid.`,
		Example: `  berth consumer list --type MIGRATION --older-than 1h
  berth consumer list --provider pool-1 --class DISK_GB --limit 0 --output json
  berth consumer list --expires-first --expires-before 10m`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := &consumerFlags{format: frame.OutputFlag(command)}
	flags.add(f, command)
	command.PreRunE = func(_ *cobra.Command, arguments []string) error { return flags.check(arguments, time.Now()) }
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		return listConsumers(ctx, f, service, flags)
	})
	return command
}

// add adds the flags to the command.
func (q *consumerFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&q.filter.ProjectID, "project", "", "project `ID` of the consumers (default: all)")
	flags.StringVar(&q.filter.UserID, "user", "", "user `ID` of the consumers (default: all)")
	flags.StringVar(&q.filter.Type, "type", "", "`type` of the consumers, or unknown for those without one (default: all)")
	flags.StringSliceVar(&q.providers, "provider", nil, "name or UUID of a `provider` that they use; several are separated by commas (default: any)")
	flags.StringVar(&q.inTree, "in-tree", "", "name or UUID of a `provider` of a tree that they use (default: any)")
	flags.StringSliceVar(&q.filter.Classes, "class", nil, "`CLASS,CLASS,…` of which they have some (default: any)")
	flags.StringVar(&q.filter.Trait, "trait", "", "`trait` of a provider that they use (default: any)")
	flags.StringVar(&q.olderThan, "older-than", "", "`duration` since their first claim, or time before which it was, such as 1h or 2026-11-20T10:00:00Z")
	flags.StringVar(&q.newerThan, "newer-than", "", "`duration` in which their first claim was, or time since then, such as 1h or 2026-11-20T10:00:00Z")
	flags.BoolVar(&q.filter.WithAllocations, "allocations", false, "whether the providers of each consumer are shown")
	flags.BoolVar(&q.filter.NewestFirst, "newest-first", false, "whether the newest consumers come first")
	q.leases.add(c)
	flags.IntVar(&q.limit, "limit", 100, "maximum `number` of consumers; 0 means no limit")
	completeProviderFlags(f, c, "provider", "in-tree")
	completeFlag(f, c, "class", completeClasses)
	completeFlag(f, c, "trait", completeTraits)
}

// check validates the values that need no service.
func (q *consumerFlags) check(arguments []string, now time.Time) error {
	if q.limit < 0 {
		return frame.WrongFlag("limit", fmt.Sprint(q.limit), "is negative", "write the maximum number of consumers, or 0 for no limit")
	}
	if len(arguments) == 1 {
		if q.filter.Search = arguments[0]; q.filter.Search == "" {
			return frame.WrongArgument("beginning", "", "is empty", "write the first characters of a UUID")
		}
		if q.filter.NewestFirst {
			return frame.WrongFlag("newest-first", "true", "is used with the beginning of UUIDs, whose list has the order of UUIDs", "remove one of the two")
		}
	}
	q.filter.PageSize = pageSize(q.limit)
	for _, item := range []struct {
		flag, text string
		into       *time.Time
	}{{"older-than", q.olderThan, &q.filter.CreatedBefore}, {"newer-than", q.newerThan, &q.filter.CreatedAfter}} {
		if item.text == "" {
			continue
		}
		var ok bool
		if *item.into, ok = timeOrAgo(item.text, now); !ok {
			return frame.WrongFlag(item.flag, item.text, "is neither a duration nor a time with a zone", "write a duration such as 1h or a time such as 2026-11-20T10:00:00Z")
		}
	}
	return q.leases.fill(&q.filter, now)
}

// timeOrAgo parses a time, or a duration before now.
func timeOrAgo(text string, now time.Time) (time.Time, bool) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil && at.UTC().Year() > 0 && at.UTC().Year() < 10_000
}

// resolve replaces the names of providers by UUIDs.
func (q *consumerFlags) resolve(ctx context.Context, service *client.Client) (err error) {
	for _, reference := range q.providers {
		found, err := FindProvider(ctx, service, reference)
		if err != nil {
			return err
		}
		q.filter.Providers = append(q.filter.Providers, found.UUID)
	}
	q.filter.InTree, err = treeOf(ctx, service, q.inTree)
	return err
}

// listConsumers prints the consumers.
func listConsumers(ctx context.Context, f *frame.Frame, service *client.Client, flags *consumerFlags) error {
	if err := flags.resolve(ctx, service); err != nil {
		return err
	}
	ctx, hasLeases, err := selectLeases(ctx, service)
	if err != nil {
		return err
	}
	if flag := flags.leases.given(); flag != "" && !hasLeases {
		return needsExtensions(ctx, service, flag, berth16)
	}
	found, hasMore, err := firstOf(service.Consumers(ctx, flags.filter), flags.limit)
	if err != nil {
		return consumerError(err, "berth:consumers:list")
	}
	documents := make([]any, len(found))
	for i := range found {
		documents[i] = consumerDocument(&found[i], hasLeases)
	}
	if err := frame.PrintAs(f.Stdout, *flags.format, documents, consumerTable(found, flags.filter.WithAllocations, hasLeases)); err != nil {
		return err
	}
	return noteEnd(f, "consumers", len(found), hasMore)
}

// consumerTable returns one row for each consumer, or with providers one for each of its providers.
func consumerTable(consumers []client.ListedConsumer, withProviders, withLeases bool) [][]string {
	heading := []string{"CONSUMER", "TYPE", "PROJECT", "USER", "CREATED"}
	if withLeases {
		heading = append(heading, "LEASE")
	}
	if withProviders {
		heading = append(heading, "PROVIDER")
	}
	table := [][]string{append(heading, "RESOURCES")}
	for i := range consumers {
		consumer := &consumers[i]
		row := []string{consumer.UUID.String(), consumer.Type, consumer.ProjectID, consumer.UserID, secondsOf(consumer.CreatedAt)}
		if withLeases {
			row = append(row, leaseText(consumer.Lease, time.Now()))
		}
		if !withProviders {
			table = append(table, append(row, amountsText(consumer.Resources)))
			continue
		}
		for _, on := range consumer.Allocations {
			table = append(table, append(row[:len(row):len(row)], on.Name, amountsText(on.Resources)))
		}
	}
	return table
}

// secondsOf returns a time in UTC without a fraction.
func secondsOf(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// amountsText returns amounts as in VCPU=2 MEMORY_MB=4096.
func amountsText(of client.ClassAmounts) string {
	texts := make([]string, 0, len(of))
	for _, classAmount := range of {
		texts = append(texts, fmt.Sprintf("%s=%d", classAmount.Class, classAmount.Amount))
	}
	return strings.Join(texts, " ")
}
