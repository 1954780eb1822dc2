package apicommand

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmNodeSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set NODE",
		Short: "Set members of a node",
		Long: `Set members of a node in one transaction; others are unchanged. The command prints the
node as 'berth baremetal node show' does. Other commands change the states; 'berth
baremetal node trait' changes the traits.`,
		Example: `  berth baremetal node set rack-1 --name rack-one --owner lab
  berth baremetal node set rack-1 --property cpus=64 --extra position=7
  berth baremetal node set rack-1 --protected --reason 'holds the backups'`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	var node nodeFlags
	node.add(f, command)
	protected := command.Flags().Bool("protected", false, "whether the node is protected against undeploy, rebuild and delete")
	retired := command.Flags().Bool("retired", false, "whether the node is retired, so that the server does not assign it")
	reason := command.Flags().String("reason", "", "`reason` of --protected or --retired")
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = changeNode(f, format, "write a flag such as --name; see --help", func() ([]baremetal.Change, error) {
		changes, err := node.changes()
		for member, value := range map[string]*bool{"protected": ifChanged(command, "protected", protected), "retired": ifChanged(command, "retired", retired)} {
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

// changes returns the changes of the flags that are not empty.
func (f *nodeFlags) changes() ([]baremetal.Change, error) {
	var changes []baremetal.Change
	for _, member := range []struct{ name, value string }{
		{"name", f.Name}, {"driver", f.Driver}, {"resource_class", f.ResourceClass}, {"owner", f.Owner}, {"lessee", f.Lessee},
		{"description", f.Description}, {"conductor_group", f.ConductorGroup}, {"instance_uuid", f.instance},
	} {
		if member.value != "" {
			changes = append(changes, baremetal.Set(member.value, member.name))
		}
	}
	for _, group := range []struct {
		member, flag string
		pairs        *[]string
	}{{"properties", "property", f.properties}, {"driver_info", "driver-info", f.driverInfo}, {"extra", "extra", f.extra}} {
		pairChanges, err := setPairs(group.member, group.flag, *group.pairs)
		if err != nil {
			return nil, err
		}
		changes = append(changes, pairChanges...)
	}
	return changes, nil
}

func bmNodeUnsetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "unset NODE",
		Short: "Unset members of a node",
		Long: `Unset members of a node. Unsetting the instance deletes the node allocation of the node;
the server rejects that while the node is in use. The command prints the node as 'berth
baremetal node show' does.`,
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
		{"name", "name", "name"}, {"resource-class", "resource_class", "resource class"}, {"owner", "owner", "owner"},
		{"lessee", "lessee", "lessee"}, {"description", "description", "description"},
		{"conductor-group", "conductor_group", "conductor group"}, {"instance-uuid", "instance_uuid", "instance"},
		{"protected", "protected", "protection"}, {"retired", "retired", "retirement"},
	} {
		members = append(members, struct {
			name  string
			value *bool
		}{member[1], flags.Bool(member[0], false, "whether the "+member[2]+" is unset")})
	}
	properties := flags.StringArray("property", nil, "`key` of the property; repeatable")
	driverInfo := flags.StringArray("driver-info", nil, "`key` of the driver info; repeatable")
	extra := flags.StringArray("extra", nil, "`key` of the extra value; repeatable")
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = changeNode(f, format, "write a flag such as --owner; see --help", func() ([]baremetal.Change, error) {
		var changes []baremetal.Change
		for _, member := range members {
			if *member.value {
				changes = append(changes, baremetal.Unset(member.name))
			}
		}
		for _, group := range []struct {
			member string
			keys   []string
		}{{"properties", *properties}, {"driver_info", *driverInfo}, {"extra", *extra}} {
			for _, key := range group.keys {
				changes = append(changes, baremetal.Unset(group.member, key))
			}
		}
		return changes, nil
	})
	return command
}

// changing returns the function of the commands set and unset: it reads the changes from the flags, sends them, and prints the
// result.
func changing[T any](f *frame.Frame, noun, remedy string, read func() ([]baremetal.Change, error),
	update func(*baremetal.Client, context.Context, string, ...baremetal.Change) (T, error), print func(context.Context, *baremetal.Client, T) error,
) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		changes, err := read()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return frame.WrongArgument(noun, arguments[0], "has no changes", remedy)
		}
		changed, err := update(service, ctx, arguments[0], changes...)
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return print(ctx, service, changed)
	})
}

func changeNode(f *frame.Frame, format *string, remedy string, read func() ([]baremetal.Change, error)) func(*cobra.Command, []string) error {
	return changing(f, "node", remedy, read, (*baremetal.Client).NodeUpdate, func(_ context.Context, _ *baremetal.Client, changed baremetal.Node) error {
		return printNode(f.Stdout, *format, changed)
	})
}

func changeAllocation(f *frame.Frame, format *string, remedy string, read func() ([]baremetal.Change, error)) func(*cobra.Command, []string) error {
	return changing(f, "allocation", remedy, read, (*baremetal.Client).NodeAllocationUpdate, func(ctx context.Context, service *baremetal.Client, changed baremetal.Allocation) error {
		return printAllocations(ctx, f, service, *format, changed, changed)
	})
}
