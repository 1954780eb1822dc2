package apicommand

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

var traitNames = nameCommands{
	command: "trait", singular: "trait", plural: "traits", heading: "TRAIT", example: "CUSTOM_RACK_7",
	list: allTraits, ensure: (*client.Client).TraitEnsure, remove: (*client.Client).TraitDelete, complete: completeTraits,
}

func traitCommand(f *frame.Frame) *cobra.Command {
	command := frame.Family(&cobra.Command{
		Use:   "trait",
		Short: "List, create and delete traits",
		Long: `List, create and delete traits, which are names of capabilities of providers. Standard
traits always exist; names of custom traits begin with CUSTOM_. 'berth provider trait'
lists and changes the traits of a provider.`,
		Example: `  berth trait list --name startswith:HW_CPU_X86
  berth trait create CUSTOM_RACK_7`,
	}, traitListCommand(f), traitNames.showCommand(f), traitNames.createCommand(f), traitNames.deleteCommand(f))
	connect.Flags(f, command)
	return command
}

func allTraits(service *client.Client, ctx context.Context) ([]string, error) {
	return service.TraitList(ctx, client.TraitFilter{})
}

func traitListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List traits",
		Long: `List the existing traits that match all filters, by default all, sorted by name.

The JSON is a list of strings.`,
		Example: `  berth trait list
  berth trait list --name startswith:HW_CPU_X86
  berth trait list --name in:HW_CPU_X86_AVX2,CUSTOM_RACK_7
  berth trait list --associated=false --name startswith:CUSTOM_`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	name := command.Flags().String("name", "", "name `filter`: startswith:PREFIX or in:NAME,NAME")
	associated := command.Flags().Bool("associated", false, "whether a provider has the trait (default: both)")
	command.RunE = func(c *cobra.Command, arguments []string) error {
		filter := client.TraitFilter{Name: *name}
		if c.Flags().Changed("associated") {
			filter.Associated = associated
		}
		return connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
			found, err := service.TraitList(ctx, filter)
			if err != nil {
				return err
			}
			slices.Sort(found)
			return printTexts(f, *format, traitNames.heading, append([]string{}, found...))
		})(c, arguments)
	}
	return command
}
