package apicommand

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
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
		Long: `Create, list, update and delete nodes, and change their provision state. A new node is
in the state "enroll"; manage makes it "manageable", provide makes it "available" for
node allocations, deploy makes it "active", and undeploy cleans it.`,
		Example: `  berth baremetal node create --name rack-1 --driver fake-hardware --resource-class gold
  berth baremetal node provide rack-1 --wait
  berth baremetal node list --provision-state available`,
	}, members...)
}

var nodeRows = frame.Rows[baremetal.Node]{
	Headings: []string{"UUID", "NAME", "CLASS", "STATE", "POWER", "MAINTENANCE", "INSTANCE"},
	Cells: func(node baremetal.Node) []string {
		return []string{
			node.UUID.String(), optional(node.Name), optional(node.ResourceClass), provisionState(node), optional(node.PowerState), yesNo(node.Maintenance), optional(node.InstanceUUID),
		}
	},
}

// provisionState returns the provision state of a node and, if set, its target.
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

// printNode prints one node. The table has one line for each member that is set.
func printNode(out io.Writer, format string, node baremetal.Node) error {
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
	row("maintenance", yesWithReason(node.Maintenance, node.MaintenanceReason))
	row("fault", optional(node.Fault))
	row("last error", optional(node.LastError))
	row("instance", optional(node.InstanceUUID))
	row("allocation", optional(node.AllocationUUID))
	row("owner", optional(node.Owner))
	row("lessee", optional(node.Lessee))
	if node.Protected {
		row("protected", yesWithReason(true, node.ProtectedReason))
	}
	if node.Retired {
		row("retired", yesWithReason(true, node.RetiredReason))
	}
	row("conductor group", node.ConductorGroup)
	row("conductor", optional(node.Conductor))
	for _, group := range []struct {
		name    string
		members map[string]any
	}{{"property", node.Properties}, {"driver info", node.DriverInfo}, {"instance info", node.InstanceInfo}, {"extra", node.Extra}} {
		for _, key := range slices.Sorted(maps.Keys(group.members)) {
			row(group.name+" "+key, valueText(group.members[key]))
		}
	}
	row("created", timeText(&node.CreatedAt))
	row("updated", timeText(node.UpdatedAt))
	return frame.PrintAs(out, format, node, table)
}

// yesWithReason returns yes with the reason, if there is one, or no.
func yesWithReason(value bool, reason *string) string {
	if value && reason != nil && *reason != "" {
		return "yes: " + *reason
	}
	return yesNo(value)
}

// nodeFlags holds the flags that the commands create and set share. The members that flags have as texts are empty in NewNode.
type nodeFlags struct {
	baremetal.NewNode
	instance                      string
	properties, driverInfo, extra *[]string
}

func (n *nodeFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&n.Name, "name", "", "`name` of the node")
	flags.StringVar(&n.Driver, "driver", "", "`driver` of the node")
	flags.StringVar(&n.ResourceClass, "resource-class", "", "resource `class` of the node")
	flags.StringVar(&n.Owner, "owner", "", "owner `project` of the node")
	flags.StringVar(&n.Lessee, "lessee", "", "lessee `project` of the node")
	flags.StringVar(&n.Description, "description", "", "`description` of the node")
	flags.StringVar(&n.ConductorGroup, "conductor-group", "", "conductor `group` of the node")
	flags.StringVar(&n.instance, "instance-uuid", "", "`UUID` of the instance on the node")
	n.properties = pairsFlag(c, "property", "property `KEY=VALUE`")
	n.driverInfo = pairsFlag(c, "driver-info", "driver info `KEY=VALUE`")
	n.extra = pairsFlag(c, "extra", "extra value `KEY=VALUE`")
	completeFlag(f, c, "driver", completeDrivers)
	completeFlag(f, c, "resource-class", completeNodeClasses)
}

func bmNodeCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Create a node",
		Long: `Create a node in the state "enroll". The command prints the node as 'berth baremetal
node show' does. The next steps are manage and provide.`,
		Example: `  berth baremetal node create --name rack-1 --driver fake-hardware --resource-class gold
  berth baremetal node create --driver fake-hardware --property cpus=64 --property cpu_arch=x86_64`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	var node nodeFlags
	id := command.Flags().String("uuid", "", "`UUID` of the node (default: random)")
	node.add(f, command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		request, err := node.newNode(*id)
		if err != nil {
			return err
		}
		created, err := service.NodeCreate(ctx, request)
		if err != nil {
			return err
		}
		return printNode(f.Stdout, *format, created)
	})
	return command
}

func (f *nodeFlags) newNode(id string) (node baremetal.NewNode, err error) {
	if node = f.NewNode; node.Driver == "" {
		return node, frame.WrongFlag("driver", "", "is empty", "see 'berth baremetal driver list'")
	}
	if node.UUID, err = uuidFlag("uuid", id); err != nil {
		return node, err
	}
	if node.InstanceUUID, err = uuidFlag("instance-uuid", f.instance); err != nil {
		return node, err
	}
	if node.Properties, err = readPairs("property", *f.properties); err != nil {
		return node, err
	}
	if node.DriverInfo, err = readPairs("driver-info", *f.driverInfo); err != nil {
		return node, err
	}
	node.Extra, err = readPairs("extra", *f.extra)
	return node, err
}

func bmNodeListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List nodes",
		Long: `List the nodes that match all filters, by default all, in the order of their creation.
INSTANCE is the UUID of the instance or node allocation on the node.

The JSON list has the objects of 'berth baremetal node show'.`,
		Example: `  berth baremetal node list --provision-state available --resource-class gold
  berth baremetal node list --associated=false --maintenance=false
  berth baremetal node list --output json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
	}
	var filter baremetal.NodeFilter
	flags := command.Flags()
	flags.StringVar(&filter.ProvisionState, "provision-state", "", "provision `state` of the node")
	flags.StringVar(&filter.ResourceClass, "resource-class", "", "resource `class` of the node")
	flags.StringVar(&filter.Driver, "driver", "", "`driver` of the node")
	flags.StringVar(&filter.Owner, "owner", "", "owner `project` of the node")
	flags.StringVar(&filter.Lessee, "lessee", "", "lessee `project` of the node")
	flags.StringVar(&filter.ConductorGroup, "conductor-group", "", "conductor `group` of the node")
	flags.StringVar(&filter.InstanceUUID, "instance-uuid", "", "`UUID` of the instance on the node")
	flags.StringVar(&filter.DescriptionContains, "description-contains", "", "`text` that the description of the node contains")
	flags.IntVar(&filter.Most, "limit", 0, "maximum `number` of nodes, the oldest first; 0 means no limit")
	associated := flags.Bool("associated", false, "whether the node has an instance (default: both)")
	maintenance := flags.Bool("maintenance", false, "whether the node is in maintenance (default: both)")
	retired := flags.Bool("retired", false, "whether the node is retired (default: both)")
	frame.CompleteChoices(command, "provision-state", "enroll", "manageable", "available", "active", "error", "clean failed", "deploy failed")
	completeFlag(f, command, "resource-class", completeNodeClasses)
	completeFlag(f, command, "driver", completeDrivers)
	return listing(f, command, nodeRows, func(service *baremetal.Client, ctx context.Context) ([]baremetal.Node, error) {
		filter.Associated = ifChanged(command, "associated", associated)
		filter.Maintenance = ifChanged(command, "maintenance", maintenance)
		filter.Retired = ifChanged(command, "retired", retired)
		found, err := service.NodeList(ctx, filter)
		noteLimit(f, "nodes", filter.Most, len(found))
		return found, err
	})
}

// ifChanged returns the value of a flag, or nil if the flag is not on the command line.
func ifChanged(c *cobra.Command, flag string, value *bool) *bool {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return value
}

func bmNodeShowCommand(f *frame.Frame) *cobra.Command {
	return showing(f, &cobra.Command{
		Use:   "show NODE",
		Short: "Show one node",
		Long: `Show one node. The table omits empty members.

The JSON object has the members uuid, name, driver, resource_class, traits,
provision_state, target_provision_state, provision_updated_at, power_state,
target_power_state, maintenance, maintenance_reason, fault, last_error, instance_uuid,
allocation_uuid, owner, lessee, description, protected, protected_reason, retired,
retired_reason, conductor_group, conductor, properties, driver_info, instance_info,
extra, created_at and updated_at.`,
		Example: `  berth baremetal node show rack-1
  berth baremetal node show rack-1 --output json | jq .properties`,
	}, completeNodes, (*baremetal.Client).NodeShow, printNode)
}

func bmNodeStatesCommand(f *frame.Frame) *cobra.Command {
	return showing(f, &cobra.Command{
		Use:   "states NODE",
		Short: "Show the states of a node",
		Long: `Show the provision state and the power state of a node, with their targets.

The JSON object has the members provision_state, target_provision_state,
provision_updated_at, power_state, target_power_state, last_error and console_enabled.`,
		Example: `  berth baremetal node states rack-1`,
	}, completeNodes, (*baremetal.Client).NodeStates, func(out io.Writer, format string, found baremetal.NodeStates) error {
		return frame.PrintAs(out, format, found, [][]string{
			{"STATE", "CURRENT", "TARGET", "SINCE"},
			{"provision", frame.OrDash(found.ProvisionState), optional(found.TargetProvisionState), timeText(found.ProvisionUpdatedAt)},
			{"power", optional(found.PowerState), optional(found.TargetPowerState), "-"},
			{"last error", optional(found.LastError), "-", "-"},
		})
	})
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

// valueText returns a JSON value as a cell of a table: a string as it is, others as JSON.
func valueText(value any) string {
	if text, plain := value.(string); plain {
		return frame.OrDash(text)
	}
	return jsonText(value)
}

// jsonText returns a value as JSON in one line.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
