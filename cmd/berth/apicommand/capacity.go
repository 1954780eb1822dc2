package apicommand

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/terminal"
)

// capacityFlags are the flags of `berth capacity`.
type capacityFlags struct {
	asked       client.CapacityQuery
	inTree      string
	units       []string
	byTree      bool
	sizes, wide bool
	format      *string
}

func capacityCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "capacity",
		Short: "Show the total, used and free capacity of each resource class",
		Long: `Show the sums of the inventories of each resource class: of the whole cloud, of some of
its providers, or of each of some aggregates or trees. The command changes nothing. It
needs a service with berth 1.4, whose answer can be 15 seconds old.

LARGEST is the largest amount that one allocation can get, and FULL the number of
providers on which nothing more can be allocated. A provider counts for a condition of
--required, --member-of or --aggregate if it or the root of its tree meets it.

--unit counts how many allocations of that amount are free (UNITS), and the free capacity
that is in none of them (STRANDED, and as a part of FREE). --sizes shows how much
each provider has free.

The JSON is the response of the API; with --by-tree it has the sums of all trees.

Exit codes: 0 succeeded, 1 failed, 2 a flag or a name in it is invalid.`,
		Example: `  berth capacity
  berth capacity --class VCPU,MEMORY_MB --unit VCPU=8,MEMORY_MB=16384
  berth capacity --required COMPUTE_NODE --sizes
  berth capacity --by-tree --class VGPU --output json`,
		Args: cobra.NoArgs,
	}
	flags := &capacityFlags{format: frame.ReportFlag(command)}
	flags.add(f, command)
	command.AddCommand(capacityFitsCommand(f))
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		return showCapacity(ctx, f, service, flags)
	})
	return command
}

// add adds the flags to the command.
func (q *capacityFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&q.asked.Classes, "class", nil, "`CLASS,CLASS,…` of the inventories (default: all)")
	flags.StringArrayVar(&q.asked.Aggregates, "aggregate", nil, "`aggregate` with sums of its own; repeatable")
	flags.BoolVar(&q.byTree, "by-tree", false, "whether each tree has sums of its own")
	flags.StringArrayVar(&q.asked.Required, "required", nil, "`TRAIT,!FORBIDDEN,…` of the providers, or in:TRAIT,TRAIT for any of several; repeatable")
	flags.StringArrayVar(&q.asked.MemberOf, "member-of", nil, "`aggregate` of the providers, in:A,B for any of several, or !A to exclude one; repeatable")
	flags.StringVar(&q.inTree, "in-tree", "", "name or UUID of a `provider` of the tree")
	flags.StringSliceVar(&q.units, "unit", nil, "`CLASS=AMOUNT,…` of the allocations to count")
	flags.BoolVar(&q.sizes, "sizes", false, "whether the free capacity of single providers is shown, by powers of two")
	flags.BoolVar(&q.wide, "wide", false, "whether the provider with the largest free capacity is shown")
	completeListFlags(f, c)
	completeProviderFlags(f, c, "in-tree")
	completeFlag(f, c, "class", completeClasses)
}

// query returns the query of the flags.
func (q *capacityFlags) query(ctx context.Context, service *client.Client) (client.CapacityQuery, error) {
	query := q.asked
	query.Classes, query.Required = upperClasses(query.Classes), upperTraitLists(query.Required)
	if q.byTree && len(query.Aggregates) > 0 {
		return query, frame.WrongFlag("aggregate", query.Aggregates[0], "is used with --by-tree", "write --member-of to select the providers of an aggregate")
	}
	for _, text := range q.units {
		class, number := cutAmount(text)
		class = upperClass(class)
		amount, err := parseAmount(class, number)
		if err != nil || amount < 1 || amount > math.MaxInt32 || class == "" {
			return query, frame.WrongFlag("unit", text, "is not a resource class and an amount from 1 to 2147483647", "write CLASS=AMOUNT such as VCPU=8")
		}
		query.Units = append(query.Units, client.CapacityUnit{Class: class, Amount: amount})
	}
	var err error
	query.InTree, err = treeOf(ctx, service, q.inTree)
	return query, err
}

// showCapacity prints the sums.
func showCapacity(ctx context.Context, f *frame.Frame, service *client.Client, flags *capacityFlags) error {
	var wrong [2]error
	flags.asked.MemberOf, wrong[0] = aggregateNames{f}.uuids("member-of", flags.asked.MemberOf)
	flags.asked.Aggregates, wrong[1] = aggregateNames{f}.uuids("aggregate", flags.asked.Aggregates)
	if err := errors.Join(wrong[:]...); err != nil {
		return err
	}
	query, err := flags.query(ctx, service)
	if err != nil {
		return err
	}
	var found api.CapacityList
	var document any = &found
	if flags.byTree {
		found.Capacity = []api.ClassCapacity{}
		for sum, failed := range service.CapacityTrees(ctx, query, 0) {
			if failed != nil {
				return capacityError(failed)
			}
			found.Capacity = append(found.Capacity, sum)
		}
		document = map[string]any{"capacity": found.Capacity} // pages have different times
	} else if found, err = service.CapacityList(ctx, query); err != nil {
		return capacityError(err)
	}
	if frame.IsDocument(*flags.format) {
		return frame.WriteDocument(f.Stdout, *flags.format, document)
	}
	text := capacityText{wide: flags.wide, ascii: !terminal.HasUnicode(frame.Environment(f.Environ))}
	out := frame.LayOut(text.table(found.Capacity))
	if sizes := text.sizeTable(found.Capacity); flags.sizes && len(sizes) > 1 {
		out += "\n" + frame.LayOut(sizes)
	}
	if _, err = io.WriteString(f.Stdout, out); err != nil {
		return err
	}
	return noteEnd(f, "inventories", len(found.Capacity), false)
}

// capacityError returns the error of a request for capacities.
func capacityError(err error) error {
	return readError(err, "shows no capacities", readingVersion, "capacities to this user; the rule is berth:capacity:show")
}
