package apicommand

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func usageCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "usage",
		Short: "Show the usages of a provider or a project",
		Long:  "Show the usages of a provider or a project.",
		Example: `  berth usage show compute-1
  berth usage list --project 6f8a4b0c9d3e4c66b7f8f2f0a8a1c111`,
	}, usageShowCommand(f), usageListCommand(f))
}

// usageDocument is one element of the JSON list of `berth usage show`.
type usageDocument struct {
	Class string `json:"resource_class"`
	Used  int64  `json:"used"`
}

var usageRows = frame.Rows[usageDocument]{
	Headings: []string{"CLASS", "USED"},
	Cells:    func(d usageDocument) []string { return []string{d.Class, fmt.Sprint(d.Used)} },
}

func usageShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show PROVIDER",
		Short: "Show the usages of a provider",
		Long: `Show the usage of each resource class of a provider. 'berth inventory list' prints it
together with the capacity.

The JSON is a list with the members resource_class and used.`,
		Example: `  berth usage show compute-1
  berth usage show compute-1 --output json`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	completeProviders(f, command)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		used, _, err := service.ProviderUsageList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		documents := []usageDocument{}
		for _, class := range sortedKeys(used) {
			documents = append(documents, usageDocument{class, used[class]})
		}
		return usageRows.Print(f.Stdout, *format, documents)
	})
	return command
}

// projectUsage is one element of the JSON list of `berth usage list`.
type projectUsage struct {
	Type      string           `json:"consumer_type"`
	Consumers int64            `json:"consumer_count"`
	Used      client.Resources `json:"used"`
}

func usageListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the usages of a project by consumer type",
		Long: `List the usages of a project, or of one of its users, by consumer type and resource
class. Consumers without a type have the type "unknown".

The JSON is a list with the members consumer_type, consumer_count and used, which is an
object of amounts by resource class.`,
		Example: `  berth usage list --project 6f8a4b0c9d3e4c66b7f8f2f0a8a1c111
  berth usage list --project 6f8a4b0c9d3e4c66b7f8f2f0a8a1c111 --user 1b2c --type INSTANCE --output json`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	project := command.Flags().String("project", "", "project `ID` of the consumers")
	user := command.Flags().String("user", "", "user `ID` of the consumers (default: all)")
	kind := command.Flags().String("type", "", "`type` of the consumers, unknown for those without one, or all for one sum of all types (default: each type)")
	command.PreRunE = func(*cobra.Command, []string) error {
		if *project == "" {
			return frame.WrongFlag("project", "", "is empty", "write a project ID")
		}
		return nil
	}
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		usages, err := service.UsageList(ctx, *project, *user, *kind)
		if err != nil {
			return err
		}
		documents := []projectUsage{}
		table := [][]string{{"TYPE", "CONSUMERS", "CLASS", "USED"}}
		for _, name := range sortedKeys(usages) {
			used := usages[name]
			count := used["consumer_count"]
			delete(used, "consumer_count")
			documents = append(documents, projectUsage{name, count, used})
			table = append(table, resourceRows(used, name, fmt.Sprint(count))...)
		}
		return frame.PrintAs(f.Stdout, *format, documents, table)
	})
	return command
}

// resourceRows returns one row per resource class, sorted by class. The class and the amount follow
// the leading columns.
func resourceRows(resources client.Resources, leading ...string) [][]string {
	rows := make([][]string, 0, len(resources))
	for _, class := range sortedKeys(resources) {
		rows = append(rows, append(slices.Clone(leading), class, fmt.Sprint(resources[class])))
	}
	return rows
}

func sortedKeys[V any](values map[string]V) []string {
	return slices.Sorted(maps.Keys(values))
}

func sortedIDs[V any](values map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(values), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}
