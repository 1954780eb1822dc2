package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// options holds the flags of `berth reconcile`.
type options struct {
	repairs
	with, novaURL, ironicURL          string
	types                             []string
	findings                          []string
	kinds                             []Kind
	minAge, settle                    time.Duration
	allowEmpty, repair                bool
	plan, savePlan, undo, metricsFile string
	output                            *string
}

// Command returns `berth reconcile`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare consumers and providers with Nova, Ironic or a file, and repair them",
		Long: `Compare the consumers and providers of a server with what a source knows, and print the
differences. With --repair the command removes them; without it, it changes nothing.

Sources: nova (the Compute API, microversion 2.53 or newer), ironic (a Bare Metal API),
file:PATH (one consumer UUID a line, optionally a tab and the name of its host; - is
standard input).

  orphan            a consumer that the source does not have
  orphan-migration  a consumer of type MIGRATION without a migration in progress
  elsewhere         allocations on a host where the consumer is not
  missing           a server without allocations on its host; --heal claims them
  amount            amounts that differ from the flavor; never repaired
  empty-host        a host without consumers, which the source does not have;
                    --providers deletes its tree

A difference counts if two readings have it, --settle apart. Each change names the
generation that was read, so what has changed since stays as it is. An empty or failing
source changes nothing, nor do more changes than --max permits.

--repair and --save-plan write a plan, and a plan that undoes it. --plan executes a plan;
if it was interrupted, the same command goes on.

Exit codes: 0 no differences or all repaired, 1 failed, 2 a flag is invalid, 3 there are
differences that were not repaired.`,
		Example: `  berth reconcile --with nova
  berth reconcile --with nova --repair --metrics-file /var/lib/node_exporter/berth.prom
  berth reconcile --with file:instances.txt --save-plan plan.json
  berth reconcile --plan plan.json`,
		Args: cobra.NoArgs,
	}
	chosen := &options{}
	chosen.flags(command)
	connect.Flags(f, command)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		if err := chosen.check(command); err != nil {
			return err
		}
		now := &run{Frame: f, service: service, options: chosen, progress: newProgressLine(f), started: time.Now()}
		if chosen.plan != "" {
			return now.executePlan(ctx)
		}
		var err error
		if now.source, err = chosen.source(f, command); err != nil {
			return err
		}
		return needsExtensions(ctx, service, now.compare(ctx))
	})
	return command
}

func (o *options) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	flags.StringVar(&o.with, "with", "", "`source`: nova, ironic, file:PATH, or file:- for standard input")
	flags.StringVar(&o.novaURL, "nova-url", "", "`URL` of the Compute API (default: that of Keystone's catalog)")
	flags.StringVar(&o.ironicURL, "ironic-url", "", "`URL` of the Bare Metal API (default: that of Keystone's catalog)")
	flags.StringSliceVar(&o.types, "type", []string{"INSTANCE"}, "`type` of the consumers that can be orphans, or unknown for those without one; repeatable")
	flags.StringSliceVar(&o.findings, "finding", names, "`kind` of the findings to look for, repeatable")
	flags.DurationVar(&o.minAge, "min-age", time.Hour, "minimum `age` of what a finding is about, such as 1h; 0 means any")
	flags.DurationVar(&o.settle, "settle", 30*time.Second, "`time` between the two readings; 0 means one reading")
	flags.StringVar(&o.max, "max", "10%", "maximum `number` of consumers that a run changes, or a percentage, which permits at least 20")
	flags.BoolVar(&o.allowEmpty, "allow-empty", false, "whether a source without any consumer is believed")
	flags.BoolVar(&o.heal, "heal", false, "whether the repair claims the allocations of missing findings")
	flags.BoolVar(&o.providers, "providers", false, "whether the repair deletes the trees of empty-host findings")
	flags.BoolVar(&o.repair, "repair", false, "whether the differences are repaired")
	flags.StringVar(&o.savePlan, "save-plan", "", "new `file` for the plan (default: berth-reconcile-TIME.json with --repair, else none)")
	flags.StringVar(&o.undo, "undo-plan", "", "new `file` for the plan that undoes the repair (default: the name of the plan with .undo.json)")
	flags.StringVar(&o.plan, "plan", "", "`file` with a plan to execute, without reading a source")
	flags.StringVar(&o.metricsFile, "metrics-file", "", "`file` for the numbers of findings in the text format of Prometheus (default: none)")
	o.output = frame.OutputFlag(c)
	frame.CompleteChoices(c, "with", "nova", "ironic", "file:")
	frame.CompleteChoices(c, "finding", names...)
}

// check validates the flags before any request.
func (o *options) check(c *cobra.Command) error {
	if o.plan != "" {
		for _, name := range []string{"with", "repair", "save-plan", "heal", "providers", "metrics-file", "finding", "type"} {
			if c.Flags().Changed(name) {
				return frame.WrongFlag(name, c.Flags().Lookup(name).Value.String(), "has no effect with --plan", "omit one of them")
			}
		}
		return nil
	}
	for _, text := range o.findings {
		if !slices.Contains(kinds, Kind(text)) {
			return frame.WrongFlag("finding", text, "is no kind of finding", "write one of orphan, orphan-migration, elsewhere, missing, amount, empty-host")
		}
		o.kinds = append(o.kinds, Kind(text))
	}
	path, isFile := strings.CutPrefix(o.with, "file:")
	switch {
	case o.with == "":
		return frame.WrongFlag("with", "", "is required", "name a source such as nova or file:PATH, or execute a plan with --plan")
	case o.with != "nova" && o.with != "ironic" && (!isFile || path == ""):
		return frame.WrongFlag("with", o.with, "is no source", "write nova, ironic or file:PATH")
	case isFile && o.providers:
		return frame.WrongFlag("providers", "true", "needs a source with all hosts, which a file is not", "use --with nova")
	case o.minAge < 0:
		return frame.WrongFlag("min-age", o.minAge.String(), "is negative", "write a duration such as 1h")
	case o.settle < 0:
		return frame.WrongFlag("settle", o.settle.String(), "is negative", "write a duration such as 30s")
	case o.undo != "" && !o.repair && o.savePlan == "":
		return frame.WrongFlag("undo-plan", o.undo, "has no effect without a plan", "add --repair or --save-plan")
	}
	if err := o.checkMax(); err != nil {
		return err
	}
	return o.checkNewFiles()
}

// checkMax validates --max.
func (o *options) checkMax() error {
	number, isPercentage := strings.CutSuffix(o.max, "%")
	value, err := strconv.ParseUint(number, 10, 31)
	if err != nil || isPercentage && value > 100 {
		return frame.WrongFlag("max", o.max, "is neither a number nor a percentage", "write a number such as 50, or a percentage such as 10%")
	}
	return nil
}

// checkNewFiles returns an error if a file of a plan exists: it may be the only one that undoes an earlier run.
func (o *options) checkNewFiles() error {
	files := map[string]string{"save-plan": o.savePlan, "undo-plan": o.undo}
	if o.savePlan != "" {
		files["undo-plan"] = o.undoPath(o.savePlan)
	}
	for _, flag := range []string{"save-plan", "undo-plan"} {
		if files[flag] == "" {
			continue
		}
		if _, err := os.Lstat(files[flag]); !errors.Is(err, fs.ErrNotExist) {
			return frame.WrongFlag(flag, files[flag], "exists, and may be the plan of an earlier run", "name a new file")
		}
	}
	return nil
}

// undoPath returns the path of the inverse of a plan.
func (o *options) undoPath(plan string) string {
	if o.undo != "" {
		return o.undo
	}
	return strings.TrimSuffix(plan, filepath.Ext(plan)) + ".undo.json"
}

// source returns the source of --with.
func (o *options) source(f *frame.Frame, c *cobra.Command) (source, error) {
	if path, isFile := strings.CutPrefix(o.with, "file:"); isFile {
		return newFileSource(path, os.Stdin)
	}
	if o.with == "ironic" {
		service, err := connect.ServiceClient(f, c, "baremetal", "ironic-url", o.ironicURL)
		if err != nil {
			return nil, err
		}
		return newIronicSource(service), nil
	}
	service, err := connect.ServiceClient(f, c, "compute", "nova-url", o.novaURL)
	if err != nil {
		return nil, err
	}
	return newNovaSource(service), nil
}

// executePlan executes a plan and writes its inverse, unless that exists: an interrupted run has written it.
func (r *run) executePlan(ctx context.Context) error {
	defer r.progress.end()
	plan, err := loadPlan(r.options.plan)
	if err != nil {
		return frame.InputErrors{err}
	}
	if address, err := r.service.Address(ctx); err == nil && address != plan.Service {
		fmt.Fprintf(r.Stderr, "berth: warning: the plan was made for the server at %s, this is %s\n", plan.Service, address)
	}
	undo := r.options.undoPath(r.options.plan)
	if _, err := os.Lstat(undo); errors.Is(err, fs.ErrNotExist) {
		if err := plan.inverse().write(undo); err != nil {
			return err
		}
	}
	changes := []executed{}
	failed := r.execute(ctx, plan, r.options.plan, func(change *Change, outcome Outcome) {
		changes = append(changes, executed{change.Findings, change.subject(), outcome})
	})
	if err := executedRows.Print(r.Stdout, *r.options.output, changes); err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil && *r.options.output == frame.OutputTable {
		return r.Printf("\nTo undo: berth reconcile --plan %s", undo)
	}
	return failed
}

// needsExtensions returns the error of a server that cannot list consumers, or the error itself.
func needsExtensions(ctx context.Context, service *client.Client, err error) error {
	if !errors.Is(err, client.ErrExtensions) {
		return err
	}
	address, _ := service.Address(ctx)
	return fmt.Errorf("the service at %s has no berth 1.4, which berth reconcile needs", address)
}
