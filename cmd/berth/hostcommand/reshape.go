package hostcommand

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/cmd/berth/version"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/inprocess"
)

// reshapeOptions holds the flags of `berth reshape`.
type reshapeOptions struct {
	plan                string
	hosts               []string
	offline, apply, yes bool
	inverse             string
	output              *string
	config, layout      string
	survey, root        string
	consumers           []string
}

// Reshape returns `berth reshape`.
func Reshape(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "reshape [PLAN]",
		Short: "Move inventories and their allocations to other providers or classes",
		Long: `Reshape provider trees under running workloads: move virtual GPUs from a host to its
cards, CPUs and memory to NUMA nodes, VCPU to PCPU. Inventories and allocations of a
host change in one transaction.

PLAN is a YAML or JSON file with one document per host:

  root: compute-1              # the host, by name or UUID
  moves:
    - class: VGPU
      from: compute-1          # default: the root
      to:                      # created below 'from' if missing
        compute-1_gpu0: {total: 2}
        compute-1_gpu1: {total: 2}
      consumers:               # or all, spread (by capacity), a list of UUIDs
        6f0c1d8e-5a0b-4c6f-9d8a-3c1f6b0e7a21: {compute-1_gpu0: 1}
    - {class: VCPU, as: PCPU, consumers: all}     # another class, same provider
  providers:
    compute-1_gpu0: {traits: [CUSTOM_A100]}
  remove: [compute-1_old]

Without PLAN, the command computes the tree from the hardware of this host, as 'berth
agent' does; this requires --layout or --agent-config.

By default the command only prints the difference. With --apply it writes an undo plan
to a new file, and then reshapes. The command is idempotent: repeat it after a failure.

With --offline it changes the database directly, with the database settings of 'berth
serve', while no server runs. By default it sends requests to a server.

Exit codes: 0 succeeded, 1 failed, 2 the command line, the plan or a setting is
invalid.`,
		Example: `  berth reshape plan.yaml
  berth reshape plan.yaml --apply --undo-plan back.yaml
  berth reshape plan.yaml --host compute-1 --offline --apply --yes
  berth reshape --layout numa --offline`,
		Args: cobra.MaximumNArgs(1),
	}
	options := &reshapeOptions{}
	options.flags(command)
	connect.Flags(f, command)
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.ValidArgsFunction = func(_ *cobra.Command, written []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(written) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	command.RunE = func(c *cobra.Command, arguments []string) error {
		plan, err := options.check(c, arguments)
		if err != nil {
			return err
		}
		if options.offline {
			return reshapeOffline(f, c, options, plan)
		}
		service, err := connect.Client(f, c)
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(f.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return newReshaping(f, service, options, plan, log).run(c.Context())
	}
	return command
}

func (w *reshapeOptions) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&w.hosts, "host", nil, "`name` or UUID of a host of the plan, repeatable (default: all). With --layout: the resource provider of this host")
	flags.BoolVar(&w.apply, "apply", false, "whether changes are applied, after a confirmation on a terminal unless --yes is given")
	flags.BoolVar(&w.yes, "yes", false, "whether --apply skips the confirmation")
	flags.BoolVar(&w.offline, "offline", false, "whether the command works on the database, while no server runs")
	flags.StringVar(&w.inverse, "undo-plan", "", "`file` for the plan that reverses the reshape (default: the name of the plan with .undo.yaml)")
	w.output = frame.ReportFlag(c)
	flags.StringVar(&w.layout, "layout", "", "`layout` of this host's tree: flat or numa")
	flags.StringVar(&w.config, "agent-config", "", "`file` of 'berth agent --config' for this host's tree")
	flags.StringVar(&w.survey, "hardware-file", "", "JSON `file` with recorded hardware instead of this host's; see 'berth agent hardware'")
	flags.StringVar(&w.root, "root", "/", "root `directory` of the host's file system; in containers often /host")
	flags.StringArrayVar(&w.consumers, consumersFlag, nil, "`source` of the NUMA node of each consumer, as for 'berth agent' (default cgroup)")
}

// check validates the flags before any request, and reads the plan.
func (w *reshapeOptions) check(c *cobra.Command, arguments []string) (*planfile.Plan, error) {
	hardwareFlag := ""
	for _, name := range []string{"layout", "agent-config", "hardware-file", "root", consumersFlag} {
		if c.Flags().Changed(name) {
			hardwareFlag = name
			break
		}
	}
	switch {
	case len(arguments) == 0 && hardwareFlag == "":
		return nil, frame.WrongArgument("plan", "", "is missing", "name a plan file, or use the hardware of this host with --layout or --agent-config")
	case len(arguments) == 1 && hardwareFlag != "":
		return nil, frame.WrongFlag(hardwareFlag, c.Flags().Lookup(hardwareFlag).Value.String(), "selects the hardware of this host and contradicts PLAN", "omit one of them")
	case hardwareFlag != "" && w.inverse != "":
		return nil, frame.WrongFlag("undo-plan", w.inverse, "requires PLAN", "omit it; to undo the reshape, run the command with the previous --layout")
	case w.apply && frame.IsDocument(*w.output) && !w.yes:
		return nil, frame.WrongFlag("output", *w.output, "does not allow the confirmation of --apply", "add --yes")
	case w.apply && !w.yes && !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, frame.WrongFlag("apply", "true", "requires a confirmation, but standard input is not a terminal", "add --yes")
	case w.yes && !w.apply:
		return nil, frame.WrongFlag("yes", "true", "has no effect without --apply", "add --apply")
	}
	if hardwareFlag != "" {
		return nil, w.checkHardwareFlags()
	}
	w.plan = arguments[0]
	plan, err := planfile.Load(w.plan)
	if err != nil {
		return nil, frame.InputErrors{err}
	}
	return plan, nil
}

// checkHardwareFlags validates the flags of a reshape without a plan, and sets the default source of NUMA nodes.
func (w *reshapeOptions) checkHardwareFlags() error {
	if broken := layoutChoice(&w.layout).Read(w.layout); broken != nil {
		return frame.WrongFlag("layout", w.layout, broken.Broken, broken.Remedy)
	}
	if len(w.hosts) > 1 {
		return frame.WrongFlag("host", w.hosts[1], "is a second host, but --layout and --agent-config reshape one host", "name one host")
	}
	for _, text := range w.consumers {
		if broken := checkConsumers(text); broken != nil {
			return frame.WrongFlag(consumersFlag, text, broken.Broken, broken.Remedy)
		}
	}
	if len(w.consumers) == 0 {
		w.consumers = []string{"cgroup"}
	}
	return nil
}

// reshapeOffline runs the API handler in this process. It returns an error if a server uses the
// embedded database.
func reshapeOffline(f *frame.Frame, c *cobra.Command, options *reshapeOptions, plan *planfile.Plan) error {
	settings, err := config.Load(f, c, config.ForDatabase)
	if err != nil {
		return err
	}
	if settings.Embedded() && !cluster.Exists(settings.DataDir) {
		return frame.WrongFlag("data-dir", settings.DataDir, "contains no database", "name the data directory of 'berth serve', or a database with --database-url")
	}
	return open.OnDatabase(f, false, func(ctx context.Context, d *open.Database, log *slog.Logger) (err error) {
		transport, err := inprocess.Open(ctx, inprocess.Options{
			URL: d.URL, DirectURL: d.Direct, Pooler: settings.DBPooler == "transaction", Log: log,
		})
		if err != nil {
			return err
		}
		defer func() {
			if closed := transport.Close(); err == nil && closed != nil {
				err = fmt.Errorf("cannot close the database: %w", closed)
			}
		}()
		service, err := client.New(inprocess.URL, client.WithTransport(transport), client.WithUserAgent("berth/"+version.This().Version), client.WithLogger(log))
		if err != nil {
			return err
		}
		return newReshaping(f, service, options, plan, log).run(ctx)
	})(c, nil)
}
