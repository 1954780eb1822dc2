package apicommand

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

func providerCommand(f *frame.Frame) *cobra.Command {
	command := frame.Family(&cobra.Command{
		Use:     "provider",
		Aliases: []string{"resource-provider"},
		Short:   "Resource providers: whatever has something to give",
		Long: `Show and change resource providers: hosts, parts of hosts such as NUMA nodes and
devices, and storage that several hosts share. Wherever PROVIDER stands, a name or a
uuid will do.`,
		Example: `  berth provider list --resources VCPU:4 --required HW_CPU_X86_AVX2
  berth provider create compute-1
  berth provider create compute-1_numa0 --parent compute-1
  berth provider trait add compute-1 CUSTOM_RACK_7`,
	}, providerListCommand(f), providerShowCommand(f), providerCreateCommand(f), providerSetCommand(f),
		providerDeleteCommand(f), providerTraitCommand(f))
	connect.Flags(f, command)
	return command
}

// providerDocument is a provider as --output json prints it. The names are an
// interface: scripts read them.
type providerDocument struct {
	UUID       uuid.UUID  `json:"uuid"`
	Name       string     `json:"name"`
	Generation int64      `json:"generation"`
	Parent     *uuid.UUID `json:"parent_provider_uuid"`
	Root       uuid.UUID  `json:"root_provider_uuid"`
}

func documentOfProvider(provider api.Provider) providerDocument {
	document := providerDocument{UUID: provider.UUID, Name: provider.Name, Generation: provider.Generation, Root: provider.RootProviderUUID}
	if parent, err := provider.ParentProviderUUID.Get(); err == nil {
		document.Parent = &parent
	}
	return document
}

// providerTable shows parents and roots by name where it is known.
func providerTable(providers []api.Provider, names map[uuid.UUID]string) [][]string {
	named := func(id uuid.UUID) string { return cmp.Or(names[id], id.String()) }
	table := [][]string{{"UUID", "NAME", "GENERATION", "PARENT", "ROOT"}}
	for _, one := range providers {
		parent := "-"
		if id, err := one.ParentProviderUUID.Get(); err == nil {
			parent = named(id)
		}
		table = append(table, []string{one.UUID.String(), one.Name, fmt.Sprint(one.Generation), parent, named(one.RootProviderUUID)})
	}
	return table
}

// printProvider prints one provider. For people it asks what its parent and its
// root are called.
func printProvider(ctx context.Context, f *frame.Frame, service *client.Client, format string, provider api.Provider) error {
	if format == "json" {
		return frame.PrintAs(f.Stdout, format, documentOfProvider(provider), nil)
	}
	names := newProviderNames(service, provider)
	above := []uuid.UUID{provider.RootProviderUUID}
	if parent, err := provider.ParentProviderUUID.Get(); err == nil {
		above = append(above, parent)
	}
	if err := names.learn(ctx, above); err != nil {
		return err
	}
	return frame.PrintAs(f.Stdout, format, nil, providerTable([]api.Provider{provider}, names.known))
}

func providerListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List providers",
		Long: `List the providers that meet every condition; without one, all. They are sorted by name.
Parents and roots are shown by name where they are in the list themselves.

A JSON list has the members uuid, name, generation, parent_provider_uuid (null for a
root) and root_provider_uuid.`,
		Example: `  berth provider list
  berth provider list --in-tree compute-1
  berth provider list --resources VCPU:4,MEMORY_MB:2048 --required 'HW_CPU_X86_AVX2,!CUSTOM_OLD'
  berth provider list --member-of in:AGGREGATE1,AGGREGATE2 --output json`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var filter client.ProviderFilter
	flags := command.Flags()
	flags.StringVar(&filter.Name, "name", "", "the one with this `name`")
	flags.StringVar(&filter.UUID, "uuid", "", "the one with this `uuid`")
	inTree := flags.String("in-tree", "", "those of the tree that this `provider` is in")
	flags.StringVar(&filter.Resources, "resources", "", "those with room for `CLASS:AMOUNT,…` each alone")
	flags.StringArrayVar(&filter.Required, "required", nil, "those with all of `TRAIT,!FORBIDDEN,…`, or with one of in:TRAIT,TRAIT; may be repeated")
	flags.StringArrayVar(&filter.MemberOf, "member-of", nil, "those in `aggregate`, in one of in:A,B, or not in !A; may be repeated")
	completeProviderFlags(f, command, "in-tree")
	completeListFlags(f, command)
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, _ []string) (err error) {
		if filter.InTree, err = treeOf(ctx, service, *inTree); err != nil {
			return err
		}
		providers, err := service.ProviderList(ctx, filter)
		if err != nil {
			return err
		}
		slices.SortFunc(providers, func(a, b api.Provider) int { return strings.Compare(a.Name, b.Name) })
		documents := make([]providerDocument, 0, len(providers))
		for _, one := range providers {
			documents = append(documents, documentOfProvider(one))
		}
		return frame.PrintAs(f.Stdout, *format, documents, providerTable(providers, newProviderNames(service, providers...).known))
	})
	return command
}

// treeOf turns the value of an --in-tree flag into a uuid; empty stays empty.
func treeOf(ctx context.Context, service *client.Client, reference string) (string, error) {
	if reference == "" {
		return "", nil
	}
	found, err := FindProvider(ctx, service, reference)
	return found.UUID.String(), err
}

// providerConsumers is a provider with who uses it, for --allocations.
type providerConsumers struct {
	providerDocument
	Allocations map[uuid.UUID]client.Resources `json:"allocations"`
}

func providerShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show PROVIDER",
		Short: "Show one provider",
		Long: `Show one provider; with --allocations also which consumers have what of it.

The JSON object has the members of 'berth provider list', and with --allocations the
member allocations: amounts by resource class by consumer.`,
		Example: `  berth provider show compute-1
  berth provider show compute-1 --allocations
  berth provider show compute-1 --output json | jq .generation`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	allocations := command.Flags().Bool("allocations", false, "show the consumers as well")
	completeProviders(f, command)
	command.RunE = withProvider(f, format, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		if !*allocations {
			return printProvider(ctx, f, service, *format, provider)
		}
		consumers, _, err := service.ProviderAllocationList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		document := providerConsumers{documentOfProvider(provider), consumers}
		if *format == "json" {
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
