package apicommand

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/frame"
)

func bmNodeSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set NODE",
		Short: "Set members of a node",
		Long: `Change a node. What is not named stays; all is changed, or nothing. Shows the node
afterwards. States are changed by commands of their own, traits with 'berth baremetal
node trait'.`,
		Example: `  berth baremetal node set rack-1 --name rack-one --owner lab
  berth baremetal node set rack-1 --property cpus=64 --extra position=7
  berth baremetal node set rack-1 --protected --reason 'holds the backups'`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	var given nodeFlags
	given.add(f, command)
	protected := command.Flags().Bool("protected", false, "keep it from being undeployed and deleted; with =false, no more")
	retired := command.Flags().Bool("retired", false, "keep it from being given away again; with =false, no more")
	reason := command.Flags().String("reason", "", "with --protected or --retired, the `reason`")
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = changeNode(f, format, "name what to change, such as --name; see --help", func() ([]baremetal.Change, error) {
		changes, err := given.changes()
		for member, value := range map[string]*bool{"protected": asked(command, "protected", protected), "retired": asked(command, "retired", retired)} {
			if value == nil {
				continue
			}
			changes = append(changes, baremetal.Set(*value, member))
			if *value && *reason != "" {
				changes = append(changes, baremetal.Set(*reason, member+"_reason"))
			}
		}
		return changes, err
	})
	return command
}

// changes are those of the flags that were given.
func (f *nodeFlags) changes() ([]baremetal.Change, error) {
	var changes []baremetal.Change
	for _, member := range []struct{ name, value string }{
		{"name", f.name}, {"driver", f.driver}, {"resource_class", f.class}, {"owner", f.owner}, {"lessee", f.lessee},
		{"description", f.description}, {"conductor_group", f.group}, {"instance_uuid", f.instance},
	} {
		if member.value != "" {
			changes = append(changes, baremetal.Set(member.value, member.name))
		}
	}
	for _, group := range []struct {
		member, flag string
		pairs        *[]string
	}{{"properties", "property", f.properties}, {"driver_info", "driver-info", f.driverInfo}, {"extra", "extra", f.extra}} {
		more, err := setPairs(group.member, group.flag, *group.pairs)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

func bmNodeUnsetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "unset NODE",
		Short: "Unset members of a node",
		Long: `Take members of a node away. To take the instance away from a node that an allocation
has deletes the allocation; the service refuses that while the machine is in use. Shows
the node afterwards.`,
		Example: `  berth baremetal node unset rack-1 --owner --description
  berth baremetal node unset rack-1 --property cpus --extra position`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	flags := command.Flags()
	var members []struct {
		name  string
		value *bool
	}
	for _, member := range [][3]string{
		{"name", "name", "the name"}, {"resource-class", "resource_class", "the resource class"}, {"owner", "owner", "the owner"},
		{"lessee", "lessee", "the lessee"}, {"description", "description", "the description"},
		{"conductor-group", "conductor_group", "the group of conductors"}, {"instance-uuid", "instance_uuid", "who has it"},
		{"protected", "protected", "the protection"}, {"retired", "retired", "that it is retired"},
	} {
		members = append(members, struct {
			name  string
			value *bool
		}{member[1], flags.Bool(member[0], false, member[2])})
	}
	properties := flags.StringArray("property", nil, "the property with this `key`; may be repeated")
	driverInfo := flags.StringArray("driver-info", nil, "what the driver was told under this `key`; may be repeated")
	extra := flags.StringArray("extra", nil, "the note with this `key`; may be repeated")
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = changeNode(f, format, "name what to take away, such as --owner; see --help", func() ([]baremetal.Change, error) {
		var changes []baremetal.Change
		for _, member := range members {
			if *member.value {
				changes = append(changes, baremetal.Unset(member.name))
			}
		}
		for member, keys := range map[string]*[]string{"properties": properties, "driver_info": driverInfo, "extra": extra} {
			for _, key := range *keys {
				changes = append(changes, baremetal.Unset(member, key))
			}
		}
		return changes, nil
	})
	return command
}

// changeNode is what set and unset do.
func changeNode(f *frame.Frame, format *string, remedy string, read func() ([]baremetal.Change, error)) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		changes, err := read()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return frame.WrongArgument("node", arguments[0], "stays as it is", remedy)
		}
		changed, err := service.NodeUpdate(ctx, arguments[0], changes...)
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return printNode(f, *format, changed)
	})
}
