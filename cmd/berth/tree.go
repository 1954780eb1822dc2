package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/draw"
)

// treeWish is what the flags of `berth tree` ask for.
type treeWish struct {
	output, color             string
	all, ascii, sharing       bool
	withoutUsages, withoutIDs bool
	aggregates, traits        []string
	limit                     int
}

func (p *process) treeCommand() *cobra.Command {
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

Bars and numbers are what consumers have of the capacity, which is the total less what is
reserved, times the ratio. What is as the service would choose by itself is not shown.

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
	wish := treeFlags(command)
	p.connectFlags(command)
	p.completeProviders(command)
	p.completeFlag(command, "trait", completeTraits)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		if err := wish.check(arguments); err != nil {
			return err
		}
		service, err := p.connect(c)
		if err != nil {
			return err
		}
		return p.drawTrees(c.Context(), service, wish, arguments)
	}
	return command
}

var treeFormats = []string{"text", "json", "dot", "svg"}

func treeFlags(c *cobra.Command) *treeWish {
	wish := &treeWish{}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVarP(&wish.output, "output", "o", "text", "`format` of the picture: text, json, dot (for Graphviz) or svg")
	flags.StringVar(&wish.color, "color", "auto", "`when` to use colors: auto, always or never")
	flags.BoolVar(&wish.all, "all", false, "show all traits, and aggregates in full")
	flags.BoolVar(&wish.ascii, "ascii", false, "draw with ASCII characters only; the default where the locale is not UTF-8")
	flags.BoolVar(&wish.withoutUsages, "no-usages", false, "show what there is, not what is used of it; asks less")
	flags.BoolVar(&wish.withoutIDs, "no-uuids", false, "leave the uuids of providers out of the text")
	flags.BoolVar(&wish.sharing, "sharing", false, "show also the sharing providers that a tree's aggregates reach")
	flags.StringArrayVar(&wish.aggregates, "aggregate", nil, "only trees with a provider in this `aggregate`; may be repeated")
	flags.StringArrayVar(&wish.traits, "trait", nil, "only trees with a provider that has this `trait`; may be repeated")
	flags.IntVar(&wish.limit, "limit", 0, "`number` of trees to draw at most; 0 means all")
	completeChoices(c, "output", treeFormats...)
	completeChoices(c, "color", colorChoices...)
	return wish
}

// check refuses what cannot be meant, before anything is asked.
func (w *treeWish) check(arguments []string) error {
	const unknown = "is not one of the choices"
	switch {
	case !slices.Contains(treeFormats, w.output):
		return wrongFlag("output", w.output, unknown, "write text, json, dot or svg")
	case !slices.Contains(colorChoices, w.color):
		return wrongFlag("color", w.color, unknown, "write auto, always or never")
	case w.limit < 0:
		return wrongFlag("limit", fmt.Sprint(w.limit), "is less than nothing", "write how many trees to draw at most, or 0 for all")
	case len(arguments) > 0 && len(w.aggregates) > 0:
		return wrongFlag("aggregate", w.aggregates[0], "chooses among all trees", "leave it or HOST out")
	case len(arguments) > 0 && len(w.traits) > 0:
		return wrongFlag("trait", w.traits[0], "chooses among all trees", "leave it or HOST out")
	default:
		return nil
	}
}

func (p *process) drawTrees(ctx context.Context, service *client.Client, wish *treeWish, arguments []string) error {
	reader := &treeReader{service: service, usages: !wish.withoutUsages, slots: make(chan struct{}, mostAtOnce), progress: p.newProgress()}
	trees, err := reader.choose(ctx, wish, arguments)
	if err != nil {
		return err
	}
	found := len(trees)
	if wish.limit > 0 && found > wish.limit {
		trees = trees[:wish.limit]
		defer fmt.Fprintf(p.stderr, "berth: these are %d of %d trees\n", wish.limit, found)
	}
	picture := p.newTreePicture(wish)
	if err := reader.each(ctx, trees, picture.add); err != nil {
		return err
	}
	if wish.sharing {
		sharing, err := reader.sharing(ctx, picture.aggregates, trees)
		if err != nil {
			return err
		}
		if err := reader.each(ctx, sharing, picture.add); err != nil {
			return err
		}
	}
	if found == 0 {
		fmt.Fprintln(p.stderr, "berth: there is no tree to draw")
	}
	return picture.finish()
}

// treePicture takes trees as they come. Text is printed at once, the other formats
// are one document.
type treePicture struct {
	p          *process
	format     string
	style      draw.Style
	whole      draw.Forest
	printed    bool
	aggregates map[uuid.UUID]bool
}

func (p *process) newTreePicture(wish *treeWish) *treePicture {
	variables := environment(p.environ)
	terminal, columns := terminalOf(p.stdout)
	return &treePicture{
		p: p, format: wish.output, aggregates: map[uuid.UUID]bool{},
		whole: draw.Forest{Usages: map[uuid.UUID]client.Resources{}},
		style: draw.Style{
			Color: colorWanted(wish.color, variables, terminal), Width: columnsWanted(variables, columns),
			ASCII: wish.ascii || !unicodeWanted(variables), Usages: !wish.withoutUsages, UUIDs: !wish.withoutIDs, All: wish.all,
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
		if _, err := fmt.Fprintln(t.p.stdout); err != nil {
			return err
		}
	}
	t.printed = true
	return draw.Text(t.p.stdout, tree, t.style)
}

func (t *treePicture) finish() error {
	switch t.format {
	case "json":
		return draw.JSON(t.p.stdout, t.whole)
	case "dot":
		return draw.DOT(t.p.stdout, t.whole)
	case "svg":
		return draw.SVG(t.p.stdout, t.whole)
	default:
		return nil
	}
}
