package apicommand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/demo"
	"github.com/berthd/berth/internal/terminal"
)

func demoCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "demo",
		Short: "Load a cloud of sample data, or remove it",
		Long: `Load a believable cloud into a server: hosts, some with NUMA nodes, GPUs and network
cards; a pool of shared storage for each rack; consumers of four projects; bare metal
nodes in different states. One rack is full, one host is over its capacity, one node
allocation has failed, and some queries find nothing, so that 'berth explain --list'
has something to show. It is the same cloud each time.

The command needs berth 1.3. It changes nothing if the server has providers of others,
unless --force is given. Its providers have the trait CUSTOM_BERTH_DEMO; --remove deletes
those alone, with the allocations of their consumers, and the nodes of the cloud. Its
four aggregates stay, without providers, because the API cannot delete aggregates.

The JSON object has the members trees, providers, consumers, nodes, node_allocations and
queries_without_candidates; with --remove only trees.`,
		Example: `  berth demo
  berth demo --hosts 1000
  berth demo --remove`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	flags := command.Flags()
	hosts := flags.Int("hosts", demo.DefaultHosts, "`number` of hosts, from 12 to 5000")
	force := flags.Bool("force", false, "whether the cloud is loaded beside providers of others")
	remove := flags.Bool("remove", false, "whether the cloud is removed")
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		if *hosts < 12 || *hosts > 5000 {
			return frame.WrongFlag("hosts", fmt.Sprint(*hosts), "is not from 12 to 5000", "write a number of hosts such as 300")
		}
		if *remove {
			return removeDemo(ctx, f, service, *format)
		}
		return loadDemo(ctx, f, service, *format, demo.Options{Hosts: *hosts, Force: *force, Progress: demoProgress(f)})
	})
	return command
}

// demoProgress shows the progress in one line of a terminal; elsewhere it prints nothing.
func demoProgress(f *frame.Frame) func(step string, done, total int) {
	file, is := f.Stderr.(*os.File)
	if isTerminal, _ := terminal.Of(f.Stderr); !is || !isTerminal {
		return nil
	}
	return func(step string, done, total int) {
		fmt.Fprintf(file, "\r\033[K%s %d of %d", step, done, total)
		if done == total {
			fmt.Fprint(file, "\r\033[K")
		}
	}
}

func loadDemo(ctx context.Context, f *frame.Frame, service *client.Client, format string, options demo.Options) error {
	started := time.Now()
	sum, err := demo.Load(ctx, service, options)
	switch {
	case errors.Is(err, demo.ErrForeign):
		return fmt.Errorf("%w; nothing was changed. Use an empty server, or add --force to load the cloud beside them", err)
	case errors.Is(err, demo.ErrLoaded):
		return fmt.Errorf("%w; nothing was changed. 'berth demo --remove' removes it", err)
	case errors.Is(err, client.ErrExtensions):
		return needsExtensions(ctx, service, "berth demo", berth13)
	case err != nil:
		return err
	}
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, sum)
	}
	table := [][]string{{"TREES", "PROVIDERS", "CONSUMERS", "NODES", "NODE ALLOCATIONS"}, {
		fmt.Sprint(sum.Trees), fmt.Sprint(sum.Providers), fmt.Sprint(sum.Consumers), fmt.Sprint(sum.Nodes), fmt.Sprint(sum.Allocations),
	}}
	fmt.Fprintf(f.Stderr, "berth: loaded in %.1f s; remove it with 'berth demo --remove'\n", time.Since(started).Seconds())
	return frame.PrintAs(f.Stdout, format, sum, table)
}

func removeDemo(ctx context.Context, f *frame.Frame, service *client.Client, format string) error {
	removed, err := demo.Remove(ctx, service, demoProgress(f))
	if err != nil {
		return err
	}
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, map[string]int{"trees": removed})
	}
	return f.Printf("removed %d trees", removed)
}
