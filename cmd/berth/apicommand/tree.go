package apicommand

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// TreeOptions holds the values of the flags of `berth tree`.
type TreeOptions struct {
	output, color             string
	all, ascii, sharing       bool
	consumers                 bool
	withoutUsages, withoutIDs bool
	aggregates, traits        []string
	limit                     int
	at                        string
	// moment is that of at; nil: now.
	moment *client.HistoryTime
}

// Tree returns the command `berth tree`.
func Tree(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "tree [HOST]",
		Short: "Draw the provider tree of a host, or of all hosts",
		Long: `Draw the provider tree of a host with the inventories, usages, traits and aggregates of
each provider. HOST is the name or UUID of any provider of the tree. By default the
command draws all trees, each as soon as it has been read.

  compute-17           gen 7   c0ffee00-5ca1-4b1e-8000-000000000001
  │  DISK_GB  ▇▇▇░░░░░  640/1750  (0.62/1.71 TiB), reserved 50
  │  traits  COMPUTE_NODE HW_CPU_X86_AVX2
  │  aggregates  5b1e0001…
  └─ compute-17_numa0  gen 4   c0ffee00-5ca1-4b1e-8000-000000000002
        PCPU  ▇▇▇▇▇▇▇▇   16/16
        VCPU  ▇▇▇▇▇▇░░   88/120   total 32, reserved 2, ratio 4.0

Bars and numbers show used/capacity. The capacity is (total - reserved) * ratio. The
drawing omits fields with default values.

--consumers lists below each tree the consumers that use it, with all their allocations,
and those that use only sharing providers in its aggregates; the list marks these with
"sharing only". With a service older than berth 1.4 they are missing, and the command
sends more requests: one for each provider and consumer. It states on stderr which trees
have too many consumers to show. The column LEASE is that of berth consumer list, if a
consumer has a lease.

--aggregate and --trait select the trees that have one provider that matches all of
them. The syntax is that of the API: A for required, in:A,B for any of several, !A for
forbidden.

` + atHelp + `
HOST is then also the name of a provider that is gone. The text begins with the moment, and
the JSON has it as "at".

The drawing has colors on a terminal unless NO_COLOR is set; CLICOLOR_FORCE enables
colors for other outputs. The line width is that of the terminal, otherwise COLUMNS, by
default 80 and at most 140 columns. Later versions may add members to the JSON, but do
not change existing ones.`,
		Example: `  berth tree compute-17
  berth tree compute-17 --consumers
  berth tree --trait HW_NUMA_ROOT --limit 10
  berth tree compute-17 --at '2 hours ago'
  berth tree compute-17 --sharing --output svg > compute-17.svg
  berth tree compute-17 --output dot | dot -Tpng > compute-17.png
  berth tree --output json | jq '.. | objects | select(.name == "compute-17_numa0")'`,
		Args: cobra.MaximumNArgs(1),
	}
	options := treeFlags(command)
	connect.Flags(f, command)
	completeProviders(f, command)
	completeFlag(f, command, "trait", completeTraits)
	command.PreRunE = func(_ *cobra.Command, arguments []string) error { return options.check(arguments) }
	command.RunE = func(c *cobra.Command, arguments []string) error {
		service, err := connect.Client(f, c)
		if err != nil {
			return err
		}
		if options.moment != nil {
			return drawTreeAt(c.Context(), f, service, options, arguments[0])
		}
		return drawTrees(c.Context(), f, service, options, arguments)
	}
	return command
}

var treeFormats = []string{"text", "json", "dot", "svg"}

func treeFlags(c *cobra.Command) *TreeOptions {
	options := &TreeOptions{}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVarP(&options.output, "output", "o", "text", "output `format`: text, json, dot (for Graphviz) or svg")
	flags.StringVar(&options.color, "color", "auto", "color `mode`: auto, always or never")
	flags.BoolVar(&options.all, "all", false, "whether all traits and complete aggregate UUIDs are shown")
	flags.BoolVar(&options.ascii, "ascii", false, "whether only ASCII characters are used (default: unless the locale is UTF-8)")
	flags.BoolVar(&options.withoutUsages, "no-usages", false, "whether usages are omitted, which saves one request per provider if the service is older than berth 1.4")
	flags.BoolVar(&options.withoutIDs, "no-uuids", false, "whether provider UUIDs are omitted from the text")
	flags.BoolVar(&options.sharing, "sharing", false, "whether sharing providers in the aggregates of the trees are shown")
	flags.BoolVar(&options.consumers, "consumers", false, "whether the consumers of each tree are listed; only with --output text or json")
	flags.StringArrayVar(&options.aggregates, "aggregate", nil, "`aggregate` of a provider of the tree; repeatable")
	flags.StringArrayVar(&options.traits, "trait", nil, "`trait` of a provider of the tree; repeatable")
	flags.IntVar(&options.limit, "limit", 0, "maximum `number` of trees; 0 means no limit")
	addAtFlag(flags, &options.at)
	frame.CompleteChoices(c, "output", treeFormats...)
	frame.CompleteChoices(c, "color", terminal.ColorChoices...)
	return options
}

// check validates the flags before the first request.
func (w *TreeOptions) check(arguments []string) (err error) {
	const notAChoice = "is not one of the choices"
	switch {
	case !slices.Contains(treeFormats, w.output):
		return frame.WrongFlag("output", w.output, notAChoice, "write text, json, dot or svg")
	case !slices.Contains(terminal.ColorChoices, w.color):
		return frame.WrongFlag("color", w.color, notAChoice, "write auto, always or never")
	case w.consumers && w.output != "text" && w.output != "json":
		return frame.WrongFlag("output", w.output, "is used with --consumers, which this format does not show", "write text or json")
	case w.limit < 0:
		return frame.WrongFlag("limit", fmt.Sprint(w.limit), "is negative", "write the maximum number of trees, or 0 for no limit")
	case len(arguments) > 0 && len(w.aggregates) > 0:
		return frame.WrongFlag("aggregate", w.aggregates[0], "selects from all trees and conflicts with HOST", "omit one of them")
	case len(arguments) > 0 && len(w.traits) > 0:
		return frame.WrongFlag("trait", w.traits[0], "selects from all trees and conflicts with HOST", "omit one of them")
	case w.at != "" && len(arguments) == 0:
		return frame.WrongFlag(atFlag, w.at, "is used without HOST", "write the name or UUID of a provider")
	case w.at != "" && w.sharing:
		return frame.WrongFlag("sharing", "true", "is used with --at, which shows no sharing providers", "omit one of them")
	default:
		w.moment, err = parseAt(w.at, time.Now())
		return err
	}
}

func drawTrees(ctx context.Context, f *frame.Frame, service *client.Client, options *TreeOptions, arguments []string) (err error) {
	if options.aggregates, err = (aggregateNames{f}).uuids("aggregate", options.aggregates); err != nil {
		return err
	}
	if options.consumers {
		if ctx, _, err = selectLeases(ctx, service); err != nil {
			return err
		}
	}
	reader := &TreeReader{
		Service: service, Usages: !options.withoutUsages, Consumers: options.consumers,
		Slots: make(chan struct{}, MaxConcurrentReads), Progress: newProgress(f), Stderr: f.Stderr,
	}
	trees, err := reader.Choose(ctx, options, arguments)
	if err != nil {
		return err
	}
	found := len(trees)
	if options.limit > 0 && found > options.limit {
		trees = trees[:options.limit]
		defer fmt.Fprintf(f.Stderr, "berth: showing %d of %d trees\n", options.limit, found)
	}
	output := newTreeOutput(f, options)
	if err := reader.each(ctx, trees, output.add); err != nil {
		return err
	}
	if options.sharing {
		reader.Consumers = false
		sharing, err := reader.sharing(ctx, output.aggregates, trees)
		if err != nil {
			return err
		}
		if err := reader.each(ctx, sharing, output.add); err != nil {
			return err
		}
	}
	if found == 0 {
		fmt.Fprintln(f.Stderr, "berth: no trees found")
	}
	return output.finish()
}

// treeOutput prints trees. It prints text tree by tree; the other formats are one document, which
// finish prints.
type treeOutput struct {
	p          *frame.Frame
	format     string
	style      draw.Style
	forest     draw.Forest
	hasPrinted bool
	aggregates map[uuid.UUID]bool
}

func newTreeOutput(f *frame.Frame, options *TreeOptions) *treeOutput {
	variables := frame.Environment(f.Environ)
	isTerminal, columns := terminal.Of(f.Stdout)
	return &treeOutput{
		p: f, format: options.output, aggregates: map[uuid.UUID]bool{},
		forest: draw.Forest{Usages: map[uuid.UUID]client.Resources{}, Consumers: map[uuid.UUID][]draw.Consumer{}},
		style: draw.Style{
			Color: terminal.HasColor(options.color, variables, isTerminal), Width: terminal.Columns(variables, columns),
			ASCII: options.ascii || !terminal.HasUnicode(variables), Usages: !options.withoutUsages, UUIDs: !options.withoutIDs, All: options.all,
		},
	}
}

func (t *treeOutput) add(tree draw.Forest) error {
	for _, node := range tree.Nodes {
		for _, aggregate := range node.Aggregates {
			t.aggregates[aggregate] = true
		}
	}
	if t.format != "text" {
		t.forest.Nodes = append(t.forest.Nodes, tree.Nodes...)
		maps.Copy(t.forest.Usages, tree.Usages)
		maps.Copy(t.forest.Consumers, tree.Consumers)
		return nil
	}
	// Another client may have deleted the tree since the list was read.
	if len(tree.Nodes) == 0 {
		return nil
	}
	if t.hasPrinted {
		if _, err := fmt.Fprintln(t.p.Stdout); err != nil {
			return err
		}
	}
	t.hasPrinted = true
	if err := draw.Text(t.p.Stdout, tree, t.style); err != nil {
		return err
	}
	for _, consumers := range tree.Consumers {
		if err := printConsumers(t.p.Stdout, consumers); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeOutput) finish() error {
	switch t.format {
	case "json":
		return draw.JSON(t.p.Stdout, t.forest)
	case "dot":
		return draw.DOT(t.p.Stdout, t.forest)
	case "svg":
		return draw.SVG(t.p.Stdout, t.forest)
	default:
		return nil
	}
}
