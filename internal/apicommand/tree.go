package apicommand

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/terminal"
)

// TreeOptions is what the flags of `berth tree` ask for.
type TreeOptions struct {
	output, color             string
	all, ascii, sharing       bool
	withoutUsages, withoutIDs bool
	aggregates, traits        []string
	limit                     int
}

// Tree makes `berth tree`.
func Tree(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "tree [HOST]",
		Short: "Draw the provider tree of a host, or of all hosts",
		Long: `Draw the tree of providers that a host consists of, with what each of them has and how
much of its capacity is used. HOST is the name or the uuid of any provider of the tree.
Without one all trees are drawn, one after the other as they are read.

  compute-17           gen 7   c0ffee00-5ca1-4b1e-8000-000000000001
  │  DISK_GB  ▇▇▇░░░░░  640/1750  (0.62/1.71 TiB), reserved 50
  │  traits  COMPUTE_NODE HW_CPU_X86_AVX2
  │  aggregates  5b1e0001…
  └─ compute-17_numa0  gen 4   c0ffee00-5ca1-4b1e-8000-000000000002
        PCPU  ▇▇▇▇▇▇▇▇   16/16
        VCPU  ▇▇▇▇▇▇░░   88/120   total 32, reserved 2, ratio 4.0

Bars and numbers are what consumers have of the capacity, which is the total less what
is reserved, times the ratio. What is as the service would choose by itself is not
shown.

--aggregate and --trait choose trees: those with a provider for which all of them hold.
They are written as in the API: A for one that it must have, in:A,B for any of several,
!A for one it must not have.

Colors are used on a terminal, unless NO_COLOR is set; CLICOLOR_FORCE asks for them
elsewhere. Lines have as many columns as the terminal, or as COLUMNS says, else 80. The
members of the JSON stay as they are from one version to the next; later ones may have
more.`,
		Example: `  berth tree compute-17
  berth tree --trait HW_NUMA_ROOT --limit 10
  berth tree compute-17 --sharing --output svg > compute-17.svg
  berth tree compute-17 --output dot | dot -Tpng > compute-17.png
  berth tree --output json | jq '.. | objects | select(.name == "compute-17_numa0")'`,
		Args: cobra.MaximumNArgs(1),
	}
	options := treeFlags(command)
	connect.Flags(f, command)
	completeProviders(f, command)
	completeFlag(f, command, "trait", completeTraits)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		if err := options.check(arguments); err != nil {
			return err
		}
		service, err := connect.Client(f, c)
		if err != nil {
			return err
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
	flags.StringVarP(&options.output, "output", "o", "text", "`format` of the picture: text, json, dot (for Graphviz) or svg")
	flags.StringVar(&options.color, "color", "auto", "`when` to use colors: auto, always or never")
	flags.BoolVar(&options.all, "all", false, "show all traits, and aggregates in full")
	flags.BoolVar(&options.ascii, "ascii", false, "draw with ASCII characters only; the default where the locale is not UTF-8")
	flags.BoolVar(&options.withoutUsages, "no-usages", false, "show what there is, not what is used of it; asks less")
	flags.BoolVar(&options.withoutIDs, "no-uuids", false, "leave the uuids of providers out of the text")
	flags.BoolVar(&options.sharing, "sharing", false, "show also the sharing providers that a tree's aggregates reach")
	flags.StringArrayVar(&options.aggregates, "aggregate", nil, "only trees with a provider in this `aggregate`; may be repeated")
	flags.StringArrayVar(&options.traits, "trait", nil, "only trees with a provider that has this `trait`; may be repeated")
	flags.IntVar(&options.limit, "limit", 0, "`number` of trees to draw at most; 0 means all")
	frame.CompleteChoices(c, "output", treeFormats...)
	frame.CompleteChoices(c, "color", terminal.ColorChoices...)
	return options
}

// check refuses what cannot be meant, before anything is asked.
func (w *TreeOptions) check(arguments []string) error {
	const unknown = "is not one of the choices"
	switch {
	case !slices.Contains(treeFormats, w.output):
		return frame.WrongFlag("output", w.output, unknown, "write text, json, dot or svg")
	case !slices.Contains(terminal.ColorChoices, w.color):
		return frame.WrongFlag("color", w.color, unknown, "write auto, always or never")
	case w.limit < 0:
		return frame.WrongFlag("limit", fmt.Sprint(w.limit), "is less than nothing", "write how many trees to draw at most, or 0 for all")
	case len(arguments) > 0 && len(w.aggregates) > 0:
		return frame.WrongFlag("aggregate", w.aggregates[0], "chooses among all trees", "leave it or HOST out")
	case len(arguments) > 0 && len(w.traits) > 0:
		return frame.WrongFlag("trait", w.traits[0], "chooses among all trees", "leave it or HOST out")
	default:
		return nil
	}
}

func drawTrees(ctx context.Context, f *frame.Frame, service *client.Client, options *TreeOptions, arguments []string) error {
	reader := &TreeReader{Service: service, Usages: !options.withoutUsages, Slots: make(chan struct{}, MaxConcurrentReads), Progress: newProgress(f)}
	trees, err := reader.Choose(ctx, options, arguments)
	if err != nil {
		return err
	}
	found := len(trees)
	if options.limit > 0 && found > options.limit {
		trees = trees[:options.limit]
		defer fmt.Fprintf(f.Stderr, "berth: these are %d of %d trees\n", options.limit, found)
	}
	picture := newTreePicture(f, options)
	if err := reader.each(ctx, trees, picture.add); err != nil {
		return err
	}
	if options.sharing {
		sharing, err := reader.sharing(ctx, picture.aggregates, trees)
		if err != nil {
			return err
		}
		if err := reader.each(ctx, sharing, picture.add); err != nil {
			return err
		}
	}
	if found == 0 {
		fmt.Fprintln(f.Stderr, "berth: there is no tree to draw")
	}
	return picture.finish()
}

// treePicture takes trees as they come. Text is printed at once, the other formats
// are one document.
type treePicture struct {
	p          *frame.Frame
	format     string
	style      draw.Style
	whole      draw.Forest
	printed    bool
	aggregates map[uuid.UUID]bool
}

func newTreePicture(f *frame.Frame, options *TreeOptions) *treePicture {
	variables := frame.Environment(f.Environ)
	isTerminal, columns := terminal.Of(f.Stdout)
	return &treePicture{
		p: f, format: options.output, aggregates: map[uuid.UUID]bool{},
		whole: draw.Forest{Usages: map[uuid.UUID]client.Resources{}},
		style: draw.Style{
			Color: terminal.HasColor(options.color, variables, isTerminal), Width: terminal.Columns(variables, columns),
			ASCII: options.ascii || !terminal.HasUnicode(variables), Usages: !options.withoutUsages, UUIDs: !options.withoutIDs, All: options.all,
		},
	}
}

func (t *treePicture) add(tree draw.Forest) error {
	for _, node := range tree.Nodes {
		for _, aggregate := range node.Aggregates {
			t.aggregates[aggregate] = true
		}
	}
	if t.format != "text" {
		t.whole.Nodes = append(t.whole.Nodes, tree.Nodes...)
		maps.Copy(t.whole.Usages, tree.Usages)
		return nil
	}
	// A tree may be gone between the list and the reading.
	if len(tree.Nodes) == 0 {
		return nil
	}
	if t.printed {
		if _, err := fmt.Fprintln(t.p.Stdout); err != nil {
			return err
		}
	}
	t.printed = true
	return draw.Text(t.p.Stdout, tree, t.style)
}

func (t *treePicture) finish() error {
	switch t.format {
	case "json":
		return draw.JSON(t.p.Stdout, t.whole)
	case "dot":
		return draw.DOT(t.p.Stdout, t.whole)
	case "svg":
		return draw.SVG(t.p.Stdout, t.whole)
	default:
		return nil
	}
}
