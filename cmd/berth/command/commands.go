// Package command assembles the commands of berth and runs a command line.
//
// It is not for the commands themselves: they are in the packages admin, apicommand, config,
// hostcommand, reconcile, run, serve and version.
package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/admin"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/hostcommand"
	"github.com/berthd/berth/cmd/berth/reconcile"
	"github.com/berthd/berth/cmd/berth/run"
	"github.com/berthd/berth/cmd/berth/serve"
	"github.com/berthd/berth/cmd/berth/version"
)

// Run executes one command line, as `berth` does, and returns the exit code.
func Run(ctx context.Context, f *frame.Frame, arguments []string) int {
	known := *f
	known.Variables = slices.Concat(connect.Variables(), hostcommand.Variables(), run.Variables())
	return known.Execute(ctx, rootCommand(&known), arguments)
}

func rootCommand(f *frame.Frame) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Serve and use the Placement and Bare Metal APIs on PostgreSQL",
		Long: `Berth tracks the resources of a cloud: resource providers, their inventories, and the
allocations that consumers hold on them. It serves the OpenStack Placement API,
microversions 1.0 to 1.39, and the part of ironic's Bare Metal API, 1.1 to 1.82, that
enrolls nodes and allocates them. It stores its data in PostgreSQL.

Every setting is a flag and an environment variable: --log-format is BERTH_LOG_FORMAT.
Flags take precedence over the environment, and the environment over a placement.conf
that --config-file names. 'berth config' shows each value with its origin.

The commands below Hosts and API send requests to a server, by default the one on this
host; --url (BERTH_URL) selects another.

Exit codes: 0 succeeded, 1 failed, 2 the command line or a setting is invalid.`,
		Example: `  berth serve                        # on 127.0.0.1:8778, with its own PostgreSQL
  berth serve --database-url postgres://berth:secret@db.example.org/berth
  berth config --output json
  berth db status
  berth provider list`,
		Version:       version.Line(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show version, commit and date in one line")
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "database", Title: "Database:"},
		&cobra.Group{ID: "hosts", Title: "Hosts:"}, &cobra.Group{ID: "api", Title: "API:"})
	root.AddCommand(grouped("run", serve.Command(f), config.Command(f), admin.Policy(f), admin.Token(f), admin.OpenAPI(f), version.Command(f))...)
	root.AddCommand(grouped("database", admin.Commands(f)...)...)
	root.AddCommand(grouped("hosts", hostcommand.Agent(f), run.Command(f), apicommand.Tree(f), hostcommand.Reshape(f), reconcile.Command(f))...)
	root.AddCommand(grouped("api", apicommand.Commands(f)...)...)
	root.AddCommand(manCommand(f))
	return root
}

// grouped assigns commands to a heading of the help.
func grouped(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, command := range commands {
		command.GroupID = group
	}
	return commands
}
