package apicommand

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func providerCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a provider",
		Long: `Create a root provider, or with --parent a child provider. The command prints the
provider as 'berth provider show' does.

` + dryRunHelp,
		Example: `  berth provider create compute-1
  berth provider create compute-1_numa0 --parent compute-1
  berth provider create compute-2 --uuid 9d3b6a52-6b0d-4ed2-8f0d-0c5a3f2b7f11`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	dryRun := dryRunFlag(command)
	idText := command.Flags().String("uuid", "", "`UUID` of the provider (default: random)")
	parent := command.Flags().String("parent", "", "name or UUID of the parent `provider`")
	completeProviderFlags(f, command, "parent")
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := uuidFlag("uuid", *idText)
		if err != nil {
			return err
		}
		var parentProvider api.Provider
		if *parent != "" {
			if parentProvider, err = FindProvider(ctx, service, *parent); err != nil {
				return err
			}
		}
		var created api.Provider
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) (err error) {
			created, err = service.ProviderCreate(ctx, arguments[0], valueOr(id, uuid.New()), parentProvider.UUID)
			return err
		}, func() error { return printProvider(ctx, f, service, *format, created) })
	})
	return command
}

func providerSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set PROVIDER",
		Short: "Rename or re-parent a provider",
		Long: `Rename a provider, change its parent, or make it a root provider. It keeps its
descendants. A property without a flag is unchanged. The command prints the provider as
'berth provider show' does.

` + dryRunHelp,
		Example: `  berth provider set compute-1 --name compute-one
  berth provider set compute-1_numa0 --parent compute-2
  berth provider set pool-3 --root`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	dryRun := dryRunFlag(command)
	name := command.Flags().String("name", "", "new `name` of the provider")
	parent := command.Flags().String("parent", "", "name or UUID of the parent `provider`")
	root := command.Flags().Bool("root", false, "whether the provider becomes a root provider")
	completeProviders(f, command)
	completeProviderFlags(f, command, "parent")
	command.PreRunE = func(_ *cobra.Command, arguments []string) error {
		switch {
		case *root && *parent != "":
			return frame.WrongFlag("parent", *parent, "conflicts with --root", "omit one of them")
		case *name == "" && *parent == "" && !*root:
			return frame.WrongArgument("provider", arguments[0], "has no changes", "write --name, --parent or --root")
		}
		return nil
	}
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		parentID := uuid.Nil // of a root
		if provider.ParentProviderUUID != nil {
			parentID = *provider.ParentProviderUUID
		}
		switch {
		case *root:
			parentID = uuid.Nil
		case *parent != "":
			found, err := FindProvider(ctx, service, *parent)
			if err != nil {
				return err
			}
			parentID = found.UUID
		}
		newName := provider.Name
		if *name != "" {
			newName = *name
		}
		var changed api.Provider
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) (err error) {
			changed, err = service.ProviderUpdate(ctx, provider.UUID, newName, parentID)
			return err
		}, func() error { return printProvider(ctx, f, service, *format, changed) })
	})
	return command
}

func providerDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PROVIDER...",
		Short: "Delete providers",
		Long: `Delete providers and their inventories. The server rejects the deletion of providers
with allocations or children; write children before their parent. The command continues
with the other providers; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp + ` Each
deletion is a dry run of its own.`,
		Example: `  berth provider delete compute-1_numa0 compute-1_numa1 compute-1
  berth provider delete compute-1_numa0 --generation 4`,
		Args: cobra.MinimumNArgs(1),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	completeManyProviders(f, command)
	command.RunE = forEachProvider(f, "deleted", generation, dryRun, (*client.Client).ProviderDelete, (*client.Client).ProviderDeleteAt)
	return command
}
