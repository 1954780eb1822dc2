package apicommand

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func providerCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:     "provider",
		Aliases: []string{"resource-provider"},
		Short:   "Create, list, update and delete resource providers",
		Long: `Create, list, update and delete resource providers: hosts, parts of hosts such as NUMA
nodes and devices, and storage pools that several hosts share. PROVIDER is a name or a
UUID.`,
		Example: `  berth provider list --resources VCPU=4 --required HW_CPU_X86_AVX2
  berth provider create compute-1
  berth provider create compute-1_numa0 --parent compute-1
  berth provider trait add compute-1 CUSTOM_RACK_7`,
	}, providerListCommand(f), providerShowCommand(f), providerCreateCommand(f), providerSetCommand(f),
		providerDeleteCommand(f), providerApplyCommand(f), providerTraitCommand(f))
}

// providerDocument is the JSON document of a provider. Scripts depend on the names of its members.
type providerDocument struct {
	UUID       uuid.UUID  `json:"uuid"`
	Name       string     `json:"name"`
	Generation int64      `json:"generation"`
	Parent     *uuid.UUID `json:"parent_provider_uuid"`
	Root       uuid.UUID  `json:"root_provider_uuid"`
}

func documentOfProvider(provider api.Provider) providerDocument {
	return providerDocument{
		UUID: provider.UUID, Name: provider.Name, Generation: provider.Generation, Root: provider.RootProviderUUID,
		Parent: provider.ParentProviderUUID,
	}
}

// providerTable returns the rows of a table of providers. It shows the UUID of a parent or root
// that is not in names.
func providerTable(providers []api.Provider, names map[uuid.UUID]string) [][]string {
	named := func(id uuid.UUID) string { return cmp.Or(names[id], id.String()) }
	table := [][]string{{"UUID", "NAME", "GENERATION", "PARENT", "ROOT"}}
	for _, provider := range providers {
		parent := "-"
		if id := provider.ParentProviderUUID; id != nil {
			parent = named(*id)
		}
		table = append(table, []string{
			provider.UUID.String(), provider.Name, fmt.Sprint(provider.Generation), parent, named(provider.RootProviderUUID),
		})
	}
	return table
}

// printProvider prints one provider. For a table it requests the names of the parent and the root.
func printProvider(ctx context.Context, f *frame.Frame, service *client.Client, format string, provider api.Provider) error {
	if frame.IsDocument(format) {
		return frame.PrintAs(f.Stdout, format, documentOfProvider(provider), nil)
	}
	names := newProviderNames(service, provider)
	ancestors := []uuid.UUID{provider.RootProviderUUID}
	if parent := provider.ParentProviderUUID; parent != nil {
		ancestors = append(ancestors, *parent)
	}
	if err := names.load(ctx, ancestors); err != nil {
		return err
	}
	return frame.PrintAs(f.Stdout, format, nil, providerTable([]api.Provider{provider}, names.known))
}

// treeOf returns the UUID of the provider that an --in-tree flag names; empty for an empty flag.
func treeOf(ctx context.Context, service *client.Client, reference string) (string, error) {
	if reference == "" {
		return "", nil
	}
	found, err := FindProvider(ctx, service, reference)
	return found.UUID.String(), err
}

// providerConsumers is a provider with its allocations by consumer, for --allocations.
type providerConsumers struct {
	providerDocument
	Allocations map[uuid.UUID]client.Resources `json:"allocations"`
}

func providerShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show PROVIDER",
		Short: "Show one provider",
		Long: `Show one provider. --allocations adds its allocations by consumer.

The JSON object has the members of 'berth provider list', and with --allocations the
member allocations: amounts by resource class by consumer.`,
		Example: `  berth provider show compute-1
  berth provider show compute-1 --allocations
  berth provider show compute-1 --output json | jq .generation`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	allocations := command.Flags().Bool("allocations", false, "whether allocations are shown by consumer")
	completeProviders(f, command)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		if !*allocations {
			return printProvider(ctx, f, service, *format, provider)
		}
		consumers, _, err := service.ProviderAllocationList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		document := providerConsumers{documentOfProvider(provider), consumers}
		if frame.IsDocument(*format) {
			return frame.PrintAs(f.Stdout, *format, document, nil)
		}
		if err := printProvider(ctx, f, service, *format, provider); err != nil {
			return err
		}
		table := [][]string{{"CONSUMER", "CLASS", "USED"}}
		for _, consumer := range sortedIDs(consumers) {
			table = append(table, resourceRows(consumers[consumer], consumer.String())...)
		}
		if err := f.Printf(""); err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, document, table)
	})
	return command
}
