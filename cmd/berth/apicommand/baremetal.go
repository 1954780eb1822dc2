package apicommand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

func baremetalCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "baremetal",
		Short: "Manage bare metal nodes and node allocations",
		Long: `Manage bare metal nodes, and node allocations, which request a node by resource class
and traits. NODE and ALLOCATION are names or UUIDs.

The commands require a server of Berth, or of ironic with API version 1.82.`,
		Example: `  berth baremetal node create --name rack-1 --driver fake-hardware --resource-class gold
  berth baremetal node manage rack-1 --wait
  berth baremetal node provide rack-1 --wait
  berth baremetal allocation create --name web --resource-class gold --wait`,
		Annotations: map[string]string{connect.ServiceTypeKey: "baremetal"},
	}, bmAllocationCommand(f), bmNodeCommand(f), bmPortCommand(f), bmDriverCommand(f), bmConductorCommand(f))
}

// withBaremetalClient is connect.WithClient for commands of the Bare Metal API.
func withBaremetalClient(f *frame.Frame,
	do func(ctx context.Context, service *baremetal.Client, arguments []string) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		return do(ctx, baremetal.New(service), arguments)
	})
}

// forEachNode is withBaremetalClient for commands whose arguments are nodes. It calls do for each of
// them and prints done with the node.
func forEachNode(f *frame.Frame, done string, do func(ctx context.Context, service *baremetal.Client, node string) error) func(*cobra.Command, []string) error {
	return withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		return f.ForEach(arguments, func(node string) error {
			if err := do(ctx, service, node); err != nil {
				return unknownNode(ctx, service, node, err)
			}
			return f.Printf("%s node %s", done, node)
		})
	})
}

// unknownNode replaces the error for a node that does not exist by one with similar names. It returns
// other errors unchanged.
func unknownNode(ctx context.Context, service *baremetal.Client, node string, err error) error {
	var response *client.Error
	if !errors.Is(err, client.ErrNotFound) || !errors.As(err, &response) || !strings.Contains(response.Detail, "Node "+node+" could not be found") {
		return err
	}
	message := fmt.Sprintf("node %q not found", node)
	names, listErr := nodeNames(service, ctx)
	if listErr != nil {
		return errors.New(message)
	}
	if similar := frame.Similar(node, names); len(similar) > 0 {
		message += "; similar names: " + terminal.Safe(strings.Join(similar, ", "))
	}
	return errors.New(message)
}

// optional returns the value, or a dash for nil, as a cell of a table.
func optional[T any](value *T) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprint(*value)
}

// timeText returns the time in UTC, or a dash for nil, as a cell of a table.
func timeText(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

// pairsFlag adds a repeatable flag for KEY=VALUE. A value that is JSON is sent as JSON, others as
// strings.
func pairsFlag(c *cobra.Command, flag, help string) *[]string {
	return c.Flags().StringArray(flag, nil, help+"; repeatable. A JSON value such as 4 or true keeps its type, others are strings")
}

// readPairs parses the values of a flag of pairsFlag; nil without values.
func readPairs(flag string, pairs []string) (map[string]any, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	read := map[string]any{}
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, frame.WrongFlag(flag, pair, "is not KEY=VALUE", "write a key, = and a value")
		}
		read[key] = jsonOrText(value)
	}
	return read, nil
}

// setPairs returns the changes that set the pairs in an object member of a node or node allocation.
func setPairs(member, flag string, pairs []string) ([]baremetal.Change, error) {
	read, err := readPairs(flag, pairs)
	if err != nil {
		return nil, err
	}
	var changes []baremetal.Change
	for _, key := range slices.Sorted(maps.Keys(read)) {
		changes = append(changes, baremetal.Set(read[key], member, key))
	}
	return changes, nil
}

// uuidFlag parses the value of a flag as a UUID; nil for an empty value.
func uuidFlag(flag, value string) (*uuid.UUID, error) {
	if value == "" {
		return nil, nil
	}
	id, err := uuid.Parse(value)
	if err != nil {
		return nil, frame.WrongFlag(flag, value, "is not a UUID", "write a UUID such as 9d3b6a52-6b0d-4ed2-8f0d-0c5a3f2b7f11, or omit the flag")
	}
	return &id, nil
}

// listing completes a command that prints what list returns.
func listing[T any](f *frame.Frame, command *cobra.Command, rows frame.Rows[T], list lister[T]) *cobra.Command {
	format := frame.OutputFlag(command)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, _ []string) error {
		found, err := list(service, ctx)
		if err != nil {
			return err
		}
		return rows.Print(f.Stdout, *format, found)
	})
	return command
}

// showing completes a command that prints what show returns for its argument, one of names.
func showing[T any](f *frame.Frame, command *cobra.Command, names completer,
	show func(*baremetal.Client, context.Context, string) (T, error), print func(out io.Writer, format string, found T) error,
) *cobra.Command {
	command.Args = cobra.ExactArgs(1)
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, names, 1)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		found, err := show(service, ctx, arguments[0])
		if err != nil {
			return unknownNode(ctx, service, arguments[0], err)
		}
		return print(f.Stdout, *format, found)
	})
	return command
}

// lister lists things or names by the Bare Metal API.
type lister[T any] func(*baremetal.Client, context.Context) ([]T, error)

// namesOf returns a list of the names of listed things.
func namesOf[T any](list lister[T], name func(T) string) lister[string] {
	return func(service *baremetal.Client, ctx context.Context) (names []string, err error) {
		all, err := list(service, ctx)
		for _, item := range all {
			if text := name(item); text != "" {
				names = append(names, text)
			}
		}
		return names, err
	}
}

// sorted returns a list of different names in their order.
func sorted(list lister[string]) lister[string] {
	return func(service *baremetal.Client, ctx context.Context) ([]string, error) {
		names, err := list(service, ctx)
		slices.Sort(names)
		return slices.Compact(names), err
	}
}

func allNodes(service *baremetal.Client, ctx context.Context) ([]baremetal.Node, error) {
	return service.NodeList(ctx, baremetal.NodeFilter{})
}

func allNodeAllocations(service *baremetal.Client, ctx context.Context) ([]baremetal.Allocation, error) {
	return service.NodeAllocationList(ctx, baremetal.AllocationFilter{})
}

func allPorts(service *baremetal.Client, ctx context.Context) ([]baremetal.Port, error) {
	return service.PortList(ctx, baremetal.PortFilter{})
}

// completeBaremetal returns a completer that uses the Bare Metal API.
func completeBaremetal(list lister[string]) completer {
	return func(service *client.Client, ctx context.Context) ([]string, error) {
		return list(baremetal.New(service), ctx)
	}
}

// nodeNames lists the names of the nodes that have one.
var nodeNames = sorted(namesOf(allNodes, func(node baremetal.Node) string { return valueOr(node.Name, "") }))

// Completers of the names of what exists. completeNodeClasses completes the resource classes of nodes.
var (
	completeNodes           = completeBaremetal(nodeNames)
	completeNodeClasses     = completeBaremetal(sorted(namesOf(allNodes, func(node baremetal.Node) string { return valueOr(node.ResourceClass, "") })))
	completeNodeAllocations = completeBaremetal(sorted(namesOf(allNodeAllocations, func(allocation baremetal.Allocation) string {
		return cmp.Or(valueOr(allocation.Name, ""), allocation.UUID.String())
	})))
	completeDrivers    = completeBaremetal(namesOf((*baremetal.Client).DriverList, func(driver baremetal.Driver) string { return driver.Name }))
	completeConductors = completeBaremetal(namesOf((*baremetal.Client).ConductorList, func(conductor baremetal.Conductor) string { return conductor.Hostname }))
	completePorts      = completeBaremetal(namesOf(allPorts, func(port baremetal.Port) string { return port.UUID.String() }))
)

// jsonOrText returns the decoded value if text is JSON, otherwise the text.
func jsonOrText(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}
