package apicommand

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/frame"
)

func bmNodeCommand(f *frame.Frame) *cobra.Command {
	members := []*cobra.Command{bmNodeCreateCommand(f), bmNodeListCommand(f), bmNodeShowCommand(f), bmNodeStatesCommand(f),
		bmNodeSetCommand(f), bmNodeUnsetCommand(f), bmNodeDeleteCommand(f)}
	for _, verb := range nodeVerbs {
		members = append(members, bmNodeVerbCommand(f, verb))
	}
	members = append(members, bmNodePowerCommand(f), bmNodeMaintenanceCommand(f), bmNodeTraitCommand(f), bmNodeValidateCommand(f))
	return frame.Family(&cobra.Command{
		Use:   "node",
		Short: "Manage nodes",
		Long: `Show and change nodes, which are whole machines. A node begins in the state "enroll";
manage takes it under control, provide makes it "available" for allocations, deploy and
undeploy put it to use and clean it up.`,
		Example: `  berth baremetal node create --name rack-1 --driver fake-hardware --resource-class gold
  berth baremetal node provide rack-1 --wait
  berth baremetal node list --provision-state available`,
	}, members...)
}

func nodeTable(nodes []baremetal.Node) [][]string {
	table := [][]string{{"UUID", "NAME", "CLASS", "STATE", "POWER", "MAINTENANCE", "INSTANCE"}}
	for _, node := range nodes {
		table = append(table, []string{node.UUID.String(), optional(node.Name), optional(node.ResourceClass), provisionState(node),
			optional(node.PowerState), yesNo(node.Maintenance), optional(node.InstanceUUID)})
	}
	return table
}

// provisionState is the state of a node, and where it is going.
func provisionState(node baremetal.Node) string {
	state := frame.OrDash(node.ProvisionState)
	if node.TargetProvisionState != nil {
		state += " -> " + *node.TargetProvisionState
	}
	return state
}

func yesNo(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

// printNode prints one node, for people with a line for each member that says
// something.
func printNode(f *frame.Frame, format string, node baremetal.Node) error {
	table := [][]string{{"MEMBER", "VALUE"}}
	row := func(member, value string) {
		if value != "-" && value != "" {
			table = append(table, []string{member, value})
		}
	}
	row("uuid", node.UUID.String())
	row("name", optional(node.Name))
	row("description", optional(node.Description))
	row("driver", node.Driver)
	row("resource class", optional(node.ResourceClass))
	row("traits", strings.Join(node.Traits, " "))
	row("state", provisionState(node))
	row("power", optional(node.PowerState))
	row("maintenance", because(node.Maintenance, node.MaintenanceReason))
	row("fault", optional(node.Fault))
	row("last error", optional(node.LastError))
	row("instance", optional(node.InstanceUUID))
	row("allocation", optional(node.AllocationUUID))
	row("owner", optional(node.Owner))
	row("lessee", optional(node.Lessee))
	if node.Protected {
		row("protected", because(true, node.ProtectedReason))
	}
	if node.Retired {
		row("retired", because(true, node.RetiredReason))
	}
	row("conductor group", node.ConductorGroup)
	row("conductor", optional(node.Conductor))
	for _, group := range []struct {
		name    string
		members map[string]any
	}{{"property", node.Properties}, {"driver info", node.DriverInfo}, {"instance info", node.InstanceInfo}, {"extra", node.Extra}} {
		for _, key := range slices.Sorted(maps.Keys(group.members)) {
			row(group.name+" "+key, asText(group.members[key]))
		}
	}
	row("created", moment(&node.CreatedAt))
	row("updated", moment(node.UpdatedAt))
	return frame.PrintAs(f.Stdout, format, node, table)
}

func because(value bool, reason *string) string {
	if value && reason != nil && *reason != "" {
		return "yes: " + *reason
	}
	return yesNo(value)
}

// nodeFlags are what may be said of a node when it is made and later.
type nodeFlags struct {
	name, driver, class, owner, lessee, description, group, instance string
	properties, driverInfo, extra                                    *[]string
}

func (n *nodeFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&n.name, "name", "", "`name`, by which it can be addressed")
	flags.StringVar(&n.driver, "driver", "", "`driver` that manages it")
	flags.StringVar(&n.class, "resource-class", "", "`class` that allocations ask for")
	flags.StringVar(&n.owner, "owner", "", "`project` that owns it")
	flags.StringVar(&n.lessee, "lessee", "", "`project` that may use it")
	flags.StringVar(&n.description, "description", "", "`text` for people")
	flags.StringVar(&n.group, "conductor-group", "", "`group` of conductors that manage it")
	flags.StringVar(&n.instance, "instance-uuid", "", "`uuid` of what uses it already")
	n.properties = pairsFlag(c, "property", "note `KEY=VALUE` among its properties")
	n.driverInfo = pairsFlag(c, "driver-info", "tell the driver `KEY=VALUE`")
	n.extra = pairsFlag(c, "extra", "note `KEY=VALUE` with it")
	completeFlag(f, c, "driver", completeDrivers)
	completeFlag(f, c, "resource-class", completeNodeClasses)
}

func bmNodeCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Enroll a node",
		Long: `Make a node, in the state "enroll", and show it as 'berth baremetal node show' does. The
next steps are manage and provide.`,
		Example: `  berth baremetal node create --name rack-1 --driver fake-hardware --resource-class gold
  berth baremetal node create --driver fake-hardware --property cpus=64 --property cpu_arch=x86_64`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var given nodeFlags
	id := command.Flags().String("uuid", "", "`uuid` to give it; one is made up otherwise")
	given.add(f, command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		wanted, err := given.newNode(*id)
		if err != nil {
			return err
		}
		made, err := service.NodeCreate(ctx, wanted)
		if err != nil {
			return err
		}
		return printNode(f, *format, made)
	})
	return command
}

func (f *nodeFlags) newNode(id string) (wanted baremetal.NewNode, err error) {
	if f.driver == "" {
		return wanted, frame.WrongFlag("driver", "", "names no driver", "see 'berth baremetal driver list'")
	}
	wanted = baremetal.NewNode{Name: f.name, Driver: f.driver, ResourceClass: f.class, Owner: f.owner, Lessee: f.lessee,
		Description: f.description, ConductorGroup: f.group}
	if wanted.UUID, err = uuidFlag("uuid", id); err != nil {
		return wanted, err
	}
	if wanted.InstanceUUID, err = uuidFlag("instance-uuid", f.instance); err != nil {
		return wanted, err
	}
	if wanted.Properties, err = readPairs("property", *f.properties); err != nil {
		return wanted, err
	}
	if wanted.DriverInfo, err = readPairs("driver-info", *f.driverInfo); err != nil {
		return wanted, err
	}
	wanted.Extra, err = readPairs("extra", *f.extra)
	return wanted, err
}

func bmNodeListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List nodes",
		Long: `List the nodes that meet every condition, in the order in which they were made; without
a condition, all. "INSTANCE" is who has the node.

A JSON list has the objects of 'berth baremetal node show'.`,
		Example: `  berth baremetal node list --provision-state available --resource-class gold
  berth baremetal node list --associated=false --maintenance=false
  berth baremetal node list --output json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var filter baremetal.NodeFilter
	flags := command.Flags()
	flags.StringVar(&filter.ProvisionState, "provision-state", "", "those in this `state`")
	flags.StringVar(&filter.ResourceClass, "resource-class", "", "those of this `class`")
	flags.StringVar(&filter.Driver, "driver", "", "those with this `driver`")
	flags.StringVar(&filter.Owner, "owner", "", "those of this `project`")
	flags.StringVar(&filter.Lessee, "lessee", "", "those that this `project` may use")
	flags.StringVar(&filter.ConductorGroup, "conductor-group", "", "those of this `group`")
	flags.StringVar(&filter.InstanceUUID, "instance-uuid", "", "the one that the allocation or instance with this `uuid` has")
	flags.StringVar(&filter.DescriptionContains, "description-contains", "", "those with this `text` in their description")
	flags.IntVar(&filter.Most, "limit", 0, "at most this `number`, the oldest ones; 0 means all")
	associated := flags.Bool("associated", false, "those in use; with =false, those without an instance")
	maintenance := flags.Bool("maintenance", false, "those in maintenance; with =false, those that are not")
	retired := flags.Bool("retired", false, "those that are retired; with =false, those that are not")
	frame.CompleteChoices(command, "provision-state", "enroll", "manageable", "available", "active", "error", "clean failed", "deploy failed")
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "driver", completeDrivers)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		filter.Associated = asked(command, "associated", associated)
		filter.Maintenance = asked(command, "maintenance", maintenance)
		filter.Retired = asked(command, "retired", retired)
		found, err := service.NodeList(ctx, filter)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, found, nodeTable(found))
	})
	return command
}

// asked is the value of a flag if it was given.
func asked(c *cobra.Command, flag string, value *bool) *bool {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return value
}

func bmNodeShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show NODE",
		Short: "Show one node",
		Long: `Show one node: what it is, what it is doing, and who has it. What says nothing is left
out of the table.

The JSON object has the members uuid, name, driver, resource_class, traits,
provision_state, target_provision_state, provision_updated_at, power_state,
target_power_state, maintenance, maintenance_reason, fault, last_error, instance_uuid,
allocation_uuid, owner, lessee, description, protected, protected_reason, retired,
retired_reason, conductor_group, conductor, properties, driver_info, instance_info,
extra, created_at and updated_at.`,
		Example: `  berth baremetal node show rack-1
  berth baremetal node show rack-1 --output json | jq .properties`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.NodeShow(ctx, arguments[0])
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return printNode(f, *format, found)
	})
	return command
}

func bmNodeStatesCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "states NODE",
		Short: "Show the states of a node",
		Long: `Tell what a node is doing, and what it shall do.

The JSON object has the members provision_state, target_provision_state,
provision_updated_at, power_state, target_power_state, last_error and console_enabled.`,
		Example: `  berth baremetal node states rack-1`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, completeNodes, 1)
	command.RunE = withBaremetalClient(f, format, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := service.NodeStates(ctx, arguments[0])
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return frame.PrintAs(f.Stdout, *format, found, [][]string{
			{"WHAT", "IS", "SHALL BE", "SINCE"},
			{"provision", frame.OrDash(found.ProvisionState), optional(found.TargetProvisionState), moment(found.ProvisionUpdatedAt)},
			{"power", optional(found.PowerState), optional(found.TargetPowerState), "-"},
			{"last error", optional(found.LastError), "-", "-"},
		})
	})
	return command
}

func bmNodeDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete NODE...",
		Short: "Delete nodes",
		Long: `Delete nodes with their ports. The server rejects the deletion of nodes with an instance
or in a state such as "active", unless they are in maintenance, and of protected nodes.
The command continues with the other nodes; the exit code is then 1.`,
		Example: `  berth baremetal node delete rack-1 rack-2`,
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = completing(f, completeNodes, anyNumber)
	command.RunE = forEachNode(f, "deleted", func(ctx context.Context, service *baremetal.Client, node string) error {
		return service.NodeDelete(ctx, node)
	})
	return command
}

// asText is how tables show a value of any kind.
func asText(value any) string {
	if text, plain := value.(string); plain {
		return frame.OrDash(text)
	}
	return jsonText(value)
}

// jsonText is a value as JSON in one line.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
