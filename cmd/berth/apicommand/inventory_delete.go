package apicommand

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func inventoryDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PROVIDER CLASS...",
		Short: "Delete inventories of a provider",
		Long: `Delete the inventories of one or several resource classes of a provider. The server
rejects the deletion of an inventory with allocations. The command continues with the
other classes; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp,
		Example: `  berth inventory delete compute-1 CUSTOM_LICENSE
  berth inventory delete compute-1 VGPU PGPU`,
		Args: cobra.MinimumNArgs(2),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	completeProviderThen(f, command, completeClasses)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, classes []string) error {
		expected, err := generation.ofOne(ctx, service, classes)
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, ""}.each(ctx, upperClasses(classes), func(ctx context.Context, class string) (string, error) {
			var err error
			if expected == nil {
				err = service.InventoryDelete(ctx, provider.UUID, class)
			} else {
				err = service.InventoryDeleteAt(ctx, provider.UUID, class, *expected)
			}
			if err != nil {
				return "", frame.About(provider.Name, err)
			}
			return fmt.Sprintf("deleted the inventory of %s of provider %s (%s)", class, provider.Name, provider.UUID), nil
		})
	})
	return command
}

func inventoryClearCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "clear PROVIDER...",
		Short: "Delete all inventories of providers",
		Long: `Delete all inventories of one or several providers. The providers keep their traits and
aggregates. The server rejects the deletion of inventories with allocations. The command
continues with the other providers; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp,
		Example: "  berth inventory clear compute-1\n  berth inventory clear compute-1 compute-2",
		Args:    cobra.MinimumNArgs(1),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	completeManyProviders(f, command)
	command.RunE = forEachProvider(f, "deleted the inventories of", generation, dryRun, (*client.Client).InventoryClear, (*client.Client).InventoryClearAt)
	return command
}
