package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
)

var classNames = vocabulary{
	command: "class", one: "resource class", heading: "CLASS", example: "CUSTOM_LICENSE",
	list: (*client.Client).ResourceClassList, ensure: (*client.Client).ResourceClassEnsure,
	remove: (*client.Client).ResourceClassDelete, complete: completeClasses,
}

func (p *process) classCommand() *cobra.Command {
	command := family(&cobra.Command{
		Use:     "class",
		Aliases: []string{"resource-class"},
		Short:   "Resource classes: what a provider can have an amount of",
		Long: `Show and change which resource classes there are. Standard ones such as VCPU are always
there; custom ones begin with CUSTOM_.`,
		Example: `  berth class list
  berth class create CUSTOM_LICENSE`,
	}, p.classListCommand(), classNames.showCommand(p), classNames.createCommand(p), classNames.deleteCommand(p))
	p.connectFlags(command)
	return command
}

func (p *process) classListCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the resource classes there are",
		Long: `List the resource classes there are: standard ones first, then custom ones in the order
in which they were made. The JSON is a list of texts.`,
		Example: "  berth class list\n  berth class list --output json | jq -r '.[]' | grep ^CUSTOM_",
		Args:    cobra.NoArgs,
	}
	format := outputFlag(command)
	command.RunE = p.asking(format, func(ctx context.Context, service *client.Client, _ []string) error {
		found, err := service.ResourceClassList(ctx)
		if err != nil {
			return err
		}
		return p.printTexts(*format, classNames.heading, append([]string{}, found...))
	})
	return command
}
