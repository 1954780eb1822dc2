package apicommand

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmNodeTraitCommand(f *frame.Frame) *cobra.Command {
	list := showing(f, &cobra.Command{
		Use:   "list NODE",
		Short: "List the traits of a node",
		Long:  `List the traits of a node, sorted. The JSON is a list of strings.`,
		Example: `  berth baremetal node trait list rack-1
  berth baremetal node trait list rack-1 --output json`,
	}, completeNodes, (*baremetal.Client).NodeTraitList, textRows("TRAIT").Print)
	return frame.Family(&cobra.Command{
		Use:   "trait",
		Short: "List, add and remove the traits of a node",
		Long: `List, add and remove the traits of a node, which node allocations can require. A trait
is a standard trait or any name that begins with CUSTOM_; custom traits need no
creation.`,
		Example: `  berth baremetal node trait add rack-1 CUSTOM_SSD HW_CPU_X86_AVX2
  berth baremetal node trait list rack-1`,
	}, list,
		bmTraitEditCommand(f, "set", "Replace the traits of a node", "Replace all traits of a node.",
			(*baremetal.Client).NodeTraitReplace),
		bmTraitEditCommand(f, "add", "Add traits to a node", "Add traits to a node. It keeps its other traits.",
			eachTrait((*baremetal.Client).NodeTraitAdd)),
		bmTraitEditCommand(f, "remove", "Remove traits from a node", "Remove traits from a node.",
			eachTrait((*baremetal.Client).NodeTraitDelete)),
		bmTraitEditCommand(f, "clear", "Remove all traits of a node", "Remove all traits of a node.",
			func(service *baremetal.Client, ctx context.Context, node string, _ []string) error {
				return service.NodeTraitClear(ctx, node)
			}))
}

// eachTrait returns a function that calls do for each trait until the first error.
func eachTrait(do func(*baremetal.Client, context.Context, string, string) error) func(*baremetal.Client, context.Context, string, []string) error {
	return func(service *baremetal.Client, ctx context.Context, node string, traits []string) error {
		for _, trait := range traits {
			if err := do(service, ctx, node, trait); err != nil {
				return err
			}
		}
		return nil
	}
}

func bmTraitEditCommand(f *frame.Frame, verb, short, long string, edit func(*baremetal.Client, context.Context, string, []string) error) *cobra.Command {
	command := &cobra.Command{
		Use:     verb + " NODE TRAIT...",
		Short:   short,
		Long:    long + " The command prints the resulting traits as 'list' does.",
		Example: "  berth baremetal node trait " + verb + " rack-1 CUSTOM_SSD",
		Args:    cobra.MinimumNArgs(2),
	}
	if verb == "clear" {
		command.Use, command.Args = "clear NODE", cobra.ExactArgs(1)
		command.Example = "  berth baremetal node trait clear rack-1"
	}
	format := frame.OutputFlag(command)
	nodes, traits := completing(f, completeNodes, 1), completing(f, completeTraits, anyNumber)
	command.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(written) == 0 {
			return nodes(c, written, typed)
		}
		return traits(c, written[1:], typed)
	}
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		traits, err := parseAll(arguments[1:], parseName("trait"))
		if err != nil {
			return err
		}
		if err := edit(service, ctx, arguments[0], traits); err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		traits, err = service.NodeTraitList(ctx, arguments[0])
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return textRows("TRAIT").Print(f.Stdout, *format, traits)
	})
	return command
}
