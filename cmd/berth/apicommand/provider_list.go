package apicommand

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

// readingVersion is the version of the extensions with pages of lists, with whole trees and with capacities.
const readingVersion = "1.4"

// maxPage is the maximum number of items of a page of the service.
const maxPage = 1000

// providerOrders are the values of --sort of `berth provider list`.
var providerOrders = []string{"name", "created_at", "-created_at"}

// providerListFlags are the flags of `berth provider list`.
type providerListFlags struct {
	filter       client.ProviderFilter
	inTree       string
	prefix, sort string
	limit        int
	format       *string
}

func providerListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List providers",
		Long: `List the providers that match all filters, by default all, sorted by name. The table
shows the name of a parent or root that is in the list, otherwise the UUID.

With --prefix the list has first the providers whose name begins with the text, then
those whose UUID does. The list ends after --limit providers; a line on stderr states
that there are more. --prefix, --limit and the orders of --sort other than name need a
service with berth 1.4.

The JSON list has the members uuid, name, generation, parent_provider_uuid (null for a
root) and root_provider_uuid.

Exit codes: 0 succeeded, 1 failed, 2 a flag is invalid.`,
		Example: `  berth provider list
  berth provider list --in-tree compute-1
  berth provider list --prefix compute-1 --limit 20
  berth provider list --resources VCPU=4,MEMORY_MB=2048 --required 'HW_CPU_X86_AVX2,!CUSTOM_OLD'
  berth provider list --member-of in:AGGREGATE1,AGGREGATE2 --output json`,
		Args: cobra.NoArgs,
	}
	flags := &providerListFlags{format: frame.OutputFlag(command)}
	flags.add(f, command)
	command.PreRunE = func(c *cobra.Command, _ []string) error { return flags.check(c.Flags().Changed("prefix")) }
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		return listProviders(ctx, f, service, flags)
	})
	return command
}

// add adds the flags to the command.
func (q *providerListFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&q.filter.Name, "name", "", "`name` of the provider")
	flags.StringVar(&q.filter.UUID, "uuid", "", "`UUID` of the provider")
	flags.StringVar(&q.inTree, "in-tree", "", "name or UUID of a `provider` of the tree")
	flags.StringVar(&q.filter.Resources, "resources", "", "free capacity `CLASS=AMOUNT,…` of each provider")
	flags.StringArrayVar(&q.filter.Required, "required", nil, "`TRAIT,!FORBIDDEN,…` of the provider, or in:TRAIT,TRAIT for any of several; repeatable")
	flags.StringArrayVar(&q.filter.MemberOf, "member-of", nil, "`aggregate` of the provider, in:A,B for any of several, or !A to exclude one; repeatable")
	flags.StringVar(&q.prefix, "prefix", "", "`text` with which the name or the UUID begins")
	flags.StringVar(&q.sort, "sort", "name", "`order` of the list: name, created_at (oldest first) or -created_at (newest first)")
	flags.IntVar(&q.limit, "limit", 0, "maximum `number` of providers; 0 means no limit")
	completeProviderFlags(f, c, "in-tree")
	completeListFlags(f, c)
	frame.CompleteChoices(c, "sort", providerOrders...)
}

// check validates the values that need no service.
func (q *providerListFlags) check(hasPrefix bool) error {
	switch {
	case q.limit < 0:
		return frame.WrongFlag("limit", fmt.Sprint(q.limit), "is negative", "write the maximum number of providers, or 0 for no limit")
	case !slices.Contains(providerOrders, q.sort):
		return frame.WrongFlag("sort", q.sort, "is not one of the choices", "write name, created_at or -created_at")
	case hasPrefix && q.prefix == "":
		return frame.WrongFlag("prefix", "", "is empty", "write the first characters of a name or a UUID")
	case hasPrefix && q.sort != "name":
		return frame.WrongFlag("sort", q.sort, "is used with --prefix, whose list has the order of names", "remove one of the two")
	}
	return nil
}

// needsPages returns the flag that only a service with pages can execute; "" for none.
func (q *providerListFlags) needsPages() string {
	switch {
	case q.prefix != "":
		return "--prefix"
	case q.limit > 0:
		return "--limit"
	case q.sort != "name":
		return "--sort " + q.sort
	}
	return ""
}

// listProviders prints the providers.
func listProviders(ctx context.Context, f *frame.Frame, service *client.Client, flags *providerListFlags) (err error) {
	if flags.filter.Resources, err = queryAmounts("resources", flags.filter.Resources); err != nil {
		return err
	}
	flags.filter.Required = upperTraitLists(flags.filter.Required)
	if flags.filter.MemberOf, err = (aggregateNames{f}).uuids("member-of", flags.filter.MemberOf); err != nil {
		return err
	}
	if flags.filter.InTree, err = treeOf(ctx, service, flags.inTree); err != nil {
		return err
	}
	providers, hasMore, err := flags.read(ctx, service)
	if err != nil {
		return err
	}
	documents := make([]providerDocument, 0, len(providers))
	for _, provider := range providers {
		documents = append(documents, documentOfProvider(provider))
	}
	if err := frame.PrintAs(f.Stdout, *flags.format, documents, providerTable(providers, newProviderNames(service, providers...).known)); err != nil {
		return err
	}
	return noteEnd(f, "providers", len(documents), hasMore)
}

// read returns the providers in the order of --sort, and whether there are more than --limit. A service without pages
// returns all of them in one response.
func (q *providerListFlags) read(ctx context.Context, service *client.Client) (providers []api.Provider, hasMore bool, err error) {
	hasPages, err := service.HasExtensions(ctx, readingVersion)
	if err != nil {
		return nil, false, err
	}
	if hasPages {
		providers, hasMore, err = q.readPages(ctx, service)
	}
	flag := q.needsPages()
	switch {
	case hasPages && err == nil:
	case hasPages && !errors.Is(err, client.ErrExtensions):
		return nil, false, err
	case flag != "":
		return nil, false, fmt.Errorf("the service cannot list providers with %s, because it does not have berth %s: %w", flag, readingVersion, client.ErrExtensions)
	default:
		if providers, err = service.ProviderList(ctx, q.filter); err != nil {
			return nil, false, err
		}
	}
	if flag == "" {
		slices.SortFunc(providers, func(a, b api.Provider) int { return strings.Compare(a.Name, b.Name) })
	}
	return providers, hasMore, nil
}

// readPages reads by pages. Without a limit the pages have the order of creation: by name, a provider that another client
// renames at the same time could be missing.
func (q *providerListFlags) readPages(ctx context.Context, service *client.Client) ([]api.Provider, bool, error) {
	query := client.ProviderQuery{ProviderFilter: q.filter, Sort: q.sort, Prefix: q.prefix, PageSize: pageSize(q.limit)}
	if q.needsPages() == "" {
		query.Sort = "created_at"
	}
	listed, hasMore, err := firstOf(service.Providers(ctx, query), q.limit)
	providers := make([]api.Provider, 0, len(listed))
	for i := range listed {
		provider := &listed[i]
		providers = append(providers, api.Provider{
			UUID: provider.UUID, Name: provider.Name, Generation: provider.Generation, ParentProviderUUID: provider.ParentProviderUUID,
			RootProviderUUID: provider.RootProviderUUID, Links: provider.Links,
		})
	}
	return providers, hasMore, err
}

// pageSize returns the size of pages for the first items of a list; limit 0: for all. One item after the last one shows
// whether there are more.
func pageSize(limit int) int {
	if limit == 0 {
		return maxPage
	}
	return min(limit+1, maxPage)
}

// firstOf returns the first items of a list, and whether there are more; limit 0: all.
func firstOf[T any](list iter.Seq2[T, error], limit int) (items []T, hasMore bool, err error) {
	items = []T{}
	for item, err := range list {
		if err != nil {
			return nil, false, err
		}
		if limit > 0 && len(items) == limit {
			return items, true, nil
		}
		items = append(items, item)
	}
	return items, false, nil
}

// noteLimit states on standard error that a list has as many elements as --limit permits, so that there may be more.
func noteLimit(f *frame.Frame, plural string, limit, listed int) {
	if limit > 0 && listed == limit {
		fmt.Fprintf(f.Stderr, "berth: stopped at --limit %d; there may be more %s, and --limit 0 lists all\n", limit, plural)
	}
}

// noteEnd states on standard error that a list ended at --limit, or that it is empty.
func noteEnd(f *frame.Frame, plural string, listed int, hasMore bool) (err error) {
	switch {
	case hasMore:
		_, err = fmt.Fprintf(f.Stderr, "berth: there are more %s; list all with --limit 0\n", plural)
	case listed == 0:
		_, err = fmt.Fprintf(f.Stderr, "berth: no %s found\n", plural)
	}
	return err
}
