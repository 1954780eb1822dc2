package apicommand

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

var classNames = nameCommands{
	command: "class", singular: "resource class", plural: "resource classes", heading: "CLASS", example: "CUSTOM_LICENSE",
	list: (*client.Client).ResourceClassList, ensure: (*client.Client).ResourceClassEnsure,
	remove: (*client.Client).ResourceClassDelete, complete: completeClasses,
}

func classCommand(f *frame.Frame) *cobra.Command {
	command := frame.Family(&cobra.Command{
		Use:     "class",
		Aliases: []string{"resource-class"},
		Short:   "List, create and delete resource classes",
		Long: `List, create and delete resource classes. Standard classes such as VCPU always exist;
names of custom classes begin with CUSTOM_.`,
		Example: `  berth class list
  berth class create CUSTOM_LICENSE`,
	}, classListCommand(f), classNames.showCommand(f), classNames.createCommand(f), classNames.deleteCommand(f))
	connect.Flags(f, command)
	return command
}

func classListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List resource classes",
		Long: `List the resource classes: standard classes first, then custom classes in the order of
their creation. The JSON is a list of strings.`,
		Example: "  berth class list\n  berth class list --output json | jq -r '.[]' | grep ^CUSTOM_",
		Args:    cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		found, err := service.ResourceClassList(ctx)
		if err != nil {
			return err
		}
		return printTexts(f, *format, classNames.heading, append([]string{}, found...))
	})
	return command
}
