package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

func (p *process) inventoryDeleteCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PROVIDER CLASS...",
		Short: "Take resource classes away from a provider",
		Long: `Take the inventory of one or several resource classes away from a provider. The service
refuses one that consumers have allocations of; that does not keep the others from
being taken away, and the exit code is then 1.`,
		Example: `  berth inventory delete compute-1 CUSTOM_LICENSE
  berth inventory delete compute-1 VGPU PGPU`,
		Args: cobra.MinimumNArgs(2),
	}
	p.completeProviderThen(command, completeClasses)
	command.RunE = p.askingOf(nil, func(ctx context.Context, service *client.Client, provider api.Provider, classes []string) error {
		return p.forEach(classes, func(class string) error {
			if err := service.InventoryDelete(ctx, provider.UUID, class); err != nil {
				return about(provider.Name, err)
			}
			return p.say("deleted the inventory of %s of provider %s (%s)", class, provider.Name, provider.UUID)
		})
	})
	return command
}

func (p *process) inventoryClearCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "clear PROVIDER...",
		Short: "Take everything away from providers",
		Long: `Take the whole inventory away from one or several providers, unless consumers have
allocations of it. The providers, their traits and their aggregates stay. One that
cannot be cleared does not keep the others from it; the exit code is then 1.`,
		Example: "  berth inventory clear compute-1\n  berth inventory clear compute-1 compute-2",
		Args:    cobra.MinimumNArgs(1),
	}
	p.completeManyProviders(command)
	command.RunE = p.askingEach("cleared the inventory of", (*client.Client).InventoryClear)
	return command
}
