package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
)

func (p *process) bmNodeTraitCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list NODE",
		Short: "List the traits of a node",
		Long:  `List the traits of a node, sorted. The JSON is a list of texts.`,
		Example: `  berth baremetal node trait list rack-1
  berth baremetal node trait list rack-1 --output json`,
		Args: cobra.ExactArgs(1),
	}
	format := outputFlag(list)
	list.ValidArgsFunction = p.completing(completeNodes, 1)
	list.RunE = p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		return p.printNodeTraits(ctx, service, *format, arguments[0])
	})
	return family(&cobra.Command{
		Use:   "trait",
		Short: "Which traits a node has",
		Long: `Show and change which traits a node has, which allocations may ask for. Traits are those
of OpenStack, and any that begin with CUSTOM_, which need not be made first.`,
		Example: `  berth baremetal node trait add rack-1 CUSTOM_SSD HW_CPU_X86_AVX2
  berth baremetal node trait list rack-1`,
	}, list,
		p.bmTraitEditCommand("set", "Give a node exactly these traits", "Give a node these traits and take away all others.",
			(*baremetal.Client).NodeTraitReplace),
		p.bmTraitEditCommand("add", "Give a node more traits", "Give a node these traits on top of those it has.",
			eachTrait((*baremetal.Client).NodeTraitAdd)),
		p.bmTraitEditCommand("remove", "Take traits away from a node", "Take these traits away from a node.",
			eachTrait((*baremetal.Client).NodeTraitDelete)),
		p.bmTraitEditCommand("clear", "Take all traits away from a node", "Take all traits away from a node.",
			func(service *baremetal.Client, ctx context.Context, node string, _ []string) error {
				return service.NodeTraitClear(ctx, node)
			}))
}

// eachTrait does something with one trait after the other, up to the first error.
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

func (p *process) printNodeTraits(ctx context.Context, service *baremetal.Client, format, node string) error {
	traits, err := service.NodeTraitList(ctx, node)
	if err != nil {
		return unknownNode(ctx, service, node, err)
	}
	return p.printTexts(format, "TRAIT", traits)
}

func (p *process) bmTraitEditCommand(verb, short, long string, edit func(*baremetal.Client, context.Context, string, []string) error) *cobra.Command {
	command := &cobra.Command{
		Use:     verb + " NODE TRAIT...",
		Short:   short,
		Long:    filled(long + " Shows what the node has afterwards, as 'list' does."),
		Example: "  berth baremetal node trait " + verb + " rack-1 CUSTOM_SSD",
		Args:    cobra.MinimumNArgs(2),
	}
	if verb == "clear" {
		command.Use, command.Args = "clear NODE", cobra.ExactArgs(1)
		command.Example = "  berth baremetal node trait clear rack-1"
	}
	format := outputFlag(command)
	nodes, traits := p.completing(completeNodes, 1), p.completing(completeTraits, anyNumber)
	command.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(written) == 0 {
			return nodes(c, written, typed)
		}
		return traits(c, written[1:], typed)
	}
	command.RunE = p.askingBaremetal(format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		if _, err := parseAll(arguments[1:], parseName("trait")); err != nil {
			return err
		}
		if err := edit(service, ctx, arguments[0], arguments[1:]); err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return p.printNodeTraits(ctx, service, *format, arguments[0])
	})
	return command
}
