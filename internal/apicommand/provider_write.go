package apicommand

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

func providerCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a provider",
		Long: `Create a provider, as the root of a tree of its own or below another, and show it as
'berth provider show' does.`,
		Example: `  berth provider create compute-1
  berth provider create compute-1_numa0 --parent compute-1
  berth provider create compute-2 --uuid 9d3b6a52-6b0d-4ed2-8f0d-0c5a3f2b7f11`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	wantedID := command.Flags().String("uuid", "", "`uuid` to give it; one is made up otherwise")
	parent := command.Flags().String("parent", "", "`provider` to put it below")
	completeProviderFlags(f, command, "parent")
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		id := uuid.New()
		if *wantedID != "" {
			var err error
			if id, err = uuid.Parse(*wantedID); err != nil {
				return frame.WrongFlag("uuid", *wantedID, "is no uuid", "write one such as 9d3b6a52-6b0d-4ed2-8f0d-0c5a3f2b7f11, or leave it out")
			}
		}
		var above api.Provider
		if *parent != "" {
			var err error
			if above, err = FindProvider(ctx, service, *parent); err != nil {
				return err
			}
		}
		created, err := service.ProviderCreate(ctx, arguments[0], id, above.UUID)
		if err != nil {
			return err
		}
		return printProvider(ctx, f, service, *format, created)
	})
	return command
}

func providerSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set PROVIDER",
		Short: "Rename a provider, or move it in the forest",
		Long: `Give a provider another name, put it below another provider (everything below it comes
along), or make it the root of a tree of its own. What is not named stays. Shows the
provider afterwards.`,
		Example: `  berth provider set compute-1 --name compute-one
  berth provider set compute-1_numa0 --parent compute-2
  berth provider set pool-3 --root`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	name := command.Flags().String("name", "", "the new `name`")
	parent := command.Flags().String("parent", "", "`provider` to put it below")
	root := command.Flags().Bool("root", false, "make it the root of a tree of its own")
	completeProviders(f, command)
	completeProviderFlags(f, command, "parent")
	run := withProvider(f, format, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		above, _ := provider.ParentProviderUUID.Get() // uuid.Nil for a root
		switch {
		case *root:
			above = uuid.Nil
		case *parent != "":
			found, err := FindProvider(ctx, service, *parent)
			if err != nil {
				return err
			}
			above = found.UUID
		}
		newName := provider.Name
		if *name != "" {
			newName = *name
		}
		changed, err := service.ProviderUpdate(ctx, provider.UUID, newName, above)
		if err != nil {
			return err
		}
		return printProvider(ctx, f, service, *format, changed)
	})
	command.RunE = func(c *cobra.Command, arguments []string) error {
		switch {
		case *root && *parent != "":
			return frame.WrongFlag("parent", *parent, "contradicts --root", "leave one of them out")
		case *name == "" && *parent == "" && !*root:
			return frame.WrongArgument("provider", arguments[0], "stays as it is", "say what to change with --name, --parent or --root")
		}
		return run(c, arguments)
	}
	return command
}

func providerDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PROVIDER...",
		Short: "Delete providers",
		Long: `Delete providers with their inventories. The service refuses one that consumers have
allocations of, and one with others below it; name those first. One that cannot be
deleted does not keep the others from being deleted; the exit code is then 1.`,
		Example: `  berth provider delete compute-1_numa0 compute-1_numa1 compute-1`,
		Args:    cobra.MinimumNArgs(1),
	}
	completeManyProviders(f, command)
	command.RunE = forEachProvider(f, "deleted", (*client.Client).ProviderDelete)
	return command
}
