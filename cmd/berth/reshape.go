package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/berthd/berth/agent/declared"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/server/cluster"
	"github.com/berthd/berth/server/direct"
)

// reshapeWish is what the flags of `berth reshape` ask for.
type reshapeWish struct {
	plan                string
	hosts               []string
	offline, apply, yes bool
	inverse, output     string
	config, layout      string
	survey, root        string
	consumers           []string
}

func (p *process) reshapeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "reshape [PLAN]",
		Short: "Move inventory, with what consumers have of it, to other providers or classes",
		Long: `Change the shape of provider trees under running workloads: virtual GPUs from a host to
its cards, CPUs and memory to NUMA nodes, VCPU to PCPU. Inventories and allocations change
in one transaction, or not at all.

PLAN is a YAML or JSON file, one document a host:

  root: compute-1              # the host, by name or uuid
  moves:
    - class: VGPU
      from: compute-1          # left out: the root
      to:                      # missing ones are created below from
        compute-1_gpu0: {total: 2}
        compute-1_gpu1: {total: 2}
      consumers:               # or all, spread (where room is), or a list of uuids
        6f0c1d8e-5a0b-4c6f-9d8a-3c1f6b0e7a21: {compute-1_gpu0: 1}
    - {class: VCPU, as: PCPU, consumers: all}     # another class, in place
  providers:
    compute-1_gpu0: {traits: [CUSTOM_A100]}
  remove: [compute-1_old]

Without PLAN, --layout or --agent-config asks this machine, as 'berth agent' does, for
the shape it should have.

The difference is shown and nothing is done, unless --apply is given. Before it does
anything it then writes the plan that leads back to a file, which is never one that is
there already. What moved is left alone by a second run, so it can be repeated: after a
failure, and on hosts where there is nothing to do.

--offline works on the database while no service runs, with the database settings of
'berth serve'. Otherwise the service is asked over HTTP.`,
		Example: `  berth reshape plan.yaml
  berth reshape plan.yaml --apply --inverse back.yaml
  berth reshape plan.yaml --host compute-1 --offline --apply --yes
  berth reshape --layout numa --offline`,
		Args: cobra.MaximumNArgs(1),
	}
	wish := &reshapeWish{}
	wish.flags(command)
	p.connectFlags(command)
	addSettingFlags(command.Flags(), forDatabase)
	command.ValidArgsFunction = func(_ *cobra.Command, written []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(written) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	command.RunE = func(c *cobra.Command, arguments []string) error {
		plan, err := wish.check(c, arguments)
		if err != nil {
			return err
		}
		if wish.offline {
			return p.reshapeOffline(c, wish, plan)
		}
		service, err := p.connect(c)
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return p.newReshaping(service, wish, plan, log).run(c.Context())
	}
	return command
}

func (w *reshapeWish) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&w.hosts, "host", nil, "`name` or uuid of a host of the plan; repeat it for several (default all of them). With --layout it is this machine's provider")
	flags.BoolVar(&w.apply, "apply", false, "do it; asks on a terminal, unless --yes is given")
	flags.BoolVar(&w.yes, "yes", false, "do not ask")
	flags.BoolVar(&w.offline, "offline", false, "work on the database, while no service runs")
	flags.StringVar(&w.inverse, "inverse", "", "`file` for the plan that leads back (default the plan's name with .inverse.yaml)")
	flags.StringVarP(&w.output, "output", "o", "table", "`format` of the answer: table or json")
	flags.StringVar(&w.layout, "layout", "", "ask this machine, for the `shape` flat or numa")
	flags.StringVar(&w.config, "agent-config", "", "ask this machine, configured by a `file` of 'berth agent --config'")
	flags.StringVar(&w.survey, "survey", "", "`file` with a recorded machine to ask instead of this one")
	flags.StringVar(&w.root, "root", "/", "`directory` where the machine's file system is")
	flags.StringArrayVar(&w.consumers, consumersFlag, nil, "`who` knows which NUMA node a consumer uses, as for 'berth agent' (default cgroup)")
}

// check finds mistakes before anything is asked, and reads the plan.
func (w *reshapeWish) check(c *cobra.Command, arguments []string) (*declared.Plan, error) {
	if err := checkOutput(w.output); err != nil {
		return nil, err
	}
	machine := ""
	for _, name := range []string{"layout", "agent-config", "survey", "root", consumersFlag} {
		if c.Flags().Changed(name) {
			machine = name
			break
		}
	}
	switch {
	case len(arguments) == 0 && machine == "":
		return nil, wrongArgument("plan", "", "is missing", "name a file, or ask this machine with --layout or --agent-config")
	case len(arguments) == 1 && machine != "":
		return nil, wrongFlag(machine, c.Flags().Lookup(machine).Value.String(), "asks this machine, and there is a plan", "leave one of them out")
	case machine != "" && w.inverse != "":
		return nil, wrongFlag("inverse", w.inverse, "cannot be written for this machine's own shape", "leave it out; the former --layout leads back")
	case w.apply && w.output == "json" && !w.yes:
		return nil, wrongFlag("output", w.output, "leaves nobody to ask", "add --yes to --apply")
	case w.apply && !w.yes && !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, wrongFlag("apply", "true", "asks before it does anything, and there is nobody to ask", "add --yes")
	case w.yes && !w.apply:
		return nil, wrongFlag("yes", "true", "agrees to nothing", "add --apply")
	}
	if machine != "" {
		return nil, w.checkMachine()
	}
	w.plan = arguments[0]
	plan, err := declared.Load(w.plan)
	if err != nil {
		return nil, mistakes{err}
	}
	return plan, nil
}

func (w *reshapeWish) checkMachine() error {
	if broken := layoutChoice(&w.layout).read(w.layout); broken != nil {
		return wrongFlag("layout", w.layout, broken.broken, broken.remedy)
	}
	if len(w.hosts) > 1 {
		return wrongFlag("host", w.hosts[1], "is a second host, and this machine is one", "name one")
	}
	for _, text := range w.consumers {
		if broken := checkConsumers(text); broken != nil {
			return wrongFlag(consumersFlag, text, broken.broken, broken.remedy)
		}
	}
	if len(w.consumers) == 0 {
		w.consumers = []string{"cgroup"}
	}
	return nil
}

// reshapeOffline does it in this process. An embedded database that a service uses
// is refused: offline is for when none runs.
func (p *process) reshapeOffline(c *cobra.Command, wish *reshapeWish, plan *declared.Plan) error {
	settings, err := p.settings(c, forDatabase)
	if err != nil {
		return err
	}
	if settings.Embedded() && !cluster.Exists(settings.DataDir) {
		return wrongFlag("data-dir", settings.DataDir, "holds no database, so there is nothing to reshape", "name the directory that 'berth serve' uses, or a database with --database-url")
	}
	return p.onDatabase(false, func(ctx context.Context, d *database, log *slog.Logger) (err error) {
		transport, err := direct.Open(ctx, direct.Options{
			URL: d.url, DirectURL: d.direct, Pooler: settings.DBPooler == "transaction", Log: log,
		})
		if err != nil {
			return err
		}
		defer func() {
			if closed := transport.Close(); err == nil && closed != nil {
				err = fmt.Errorf("closing the database: %w", closed)
			}
		}()
		service, err := client.New(direct.URL, client.WithTransport(transport), client.WithUserAgent("berth/"+thisBuild().Version), client.WithLogger(log))
		if err != nil {
			return err
		}
		return p.newReshaping(service, wish, plan, log).run(ctx)
	})(c, nil)
}
