package apicommand

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func inventoryCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "inventory",
		Short: "List, show, set and delete the inventories of a provider",
		Long:  "List, show, set and delete the inventories of a provider.",
		Example: `  berth inventory set compute-1 --resource VCPU=16 --resource VCPU:allocation_ratio=4 --resource MEMORY_MB=65536
  berth inventory set compute-1 --amend --resource VCPU:reserved=2
  berth inventory list compute-1`,
	}, inventoryListCommand(f), inventoryShowCommand(f), inventorySetCommand(f), inventoryDeleteCommand(f), inventoryClearCommand(f))
}

// inventoryDocument is one element of the JSON list of `berth inventory list`. Scripts depend on the
// names of its members.
type inventoryDocument struct {
	Class    string  `json:"resource_class"`
	Total    int32   `json:"total"`
	Reserved int32   `json:"reserved"`
	Min      int32   `json:"min_unit"`
	Max      int32   `json:"max_unit"`
	Step     int32   `json:"step_size"`
	Ratio    float64 `json:"allocation_ratio"`
	Capacity int64   `json:"capacity"`
	Used     int64   `json:"used"`
}

// documentOfInventory returns the document of an inventory, with the defaults of the server for
// missing fields.
func documentOfInventory(class string, record client.InventoryRecord, used int64) inventoryDocument {
	document := inventoryDocument{
		Class: class, Total: record.Total, Reserved: valueOr(record.Reserved, 0), Used: used,
		Min: valueOr(record.MinUnit, 1), Max: valueOr(record.MaxUnit, math.MaxInt32),
		Step: valueOr(record.StepSize, 1), Ratio: valueOr(record.AllocationRatio, 1),
	}
	// Limited to ±2^53, because the ratio can make it exceed int64.
	capacity := float64(document.Total-document.Reserved) * document.Ratio
	document.Capacity = int64(max(min(capacity, 1<<53), -(1 << 53)))
	return document
}

// valueOr returns the value, or fallback for nil.
func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

var inventoryRows = frame.Rows[inventoryDocument]{
	Headings: []string{"CLASS", "TOTAL", "RESERVED", "MIN", "MAX", "STEP", "RATIO", "CAPACITY", "USED"},
	Cells: func(d inventoryDocument) []string {
		maxUnit := fmt.Sprint(d.Max)
		if d.Max == math.MaxInt32 {
			maxUnit = "-" // no limit
		}
		return []string{
			d.Class, fmt.Sprint(d.Total), fmt.Sprint(d.Reserved), fmt.Sprint(d.Min), maxUnit, fmt.Sprint(d.Step),
			strconv.FormatFloat(d.Ratio, 'g', -1, 64), fmt.Sprint(d.Capacity), fmt.Sprint(d.Used),
		}
	},
}

// printInventories prints inventories with their usages.
func printInventories(ctx context.Context, f *frame.Frame, service *client.Client, format string, provider api.Provider, inventories client.Inventories) error {
	used, _, err := service.ProviderUsageList(ctx, provider.UUID)
	if err != nil {
		return err
	}
	documents := []inventoryDocument{}
	for _, class := range sortedKeys(inventories) {
		documents = append(documents, documentOfInventory(class, inventories[class], used[class]))
	}
	return inventoryRows.Print(f.Stdout, format, documents)
}

func inventoryListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list PROVIDER",
		Short: "List the inventories of a provider",
		Long: `List the inventories of a provider with their usages. The capacity is (total - reserved)
* ratio. A dash as MAX means no limit.

The JSON is a list with the members resource_class, total, reserved, min_unit, max_unit,
step_size, allocation_ratio, capacity and used.`,
		Example: `  berth inventory list compute-1
  berth inventory list compute-1 --output json | jq '.[] | select(.used > 0)'`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	completeProviders(f, command)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		inventories, _, err := service.InventoryList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		return printInventories(ctx, f, service, *format, provider, inventories)
	})
	return command
}

func inventoryShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show PROVIDER CLASS",
		Short: "Show the inventory of one resource class of a provider",
		Long: `Show the inventory of one resource class of a provider with its usage. The JSON is one
object with the members of 'berth inventory list'.`,
		Example: `  berth inventory show compute-1 VCPU
  berth inventory show compute-1 VCPU --output json | jq .total`,
		Args: cobra.ExactArgs(2),
	}
	format := frame.OutputFlag(command)
	completeProviderThen(f, command, completeClasses)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, classes []string) error {
		inventories, _, err := service.InventoryList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		class := upperClass(classes[0])
		record, found := inventories[class]
		if !found {
			return fmt.Errorf("%s has no inventory of %s", provider.Name, class)
		}
		used, _, err := service.ProviderUsageList(ctx, provider.UUID)
		if err != nil {
			return err
		}
		return inventoryRows.PrintOne(f.Stdout, *format, documentOfInventory(class, record, used[class]))
	})
	return command
}

func inventoryDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete PROVIDER CLASS...",
		Short: "Delete inventories of a provider",
		Long: `Delete the inventories of one or several resource classes of a provider. The server
rejects the deletion of an inventory with allocations. The command continues with the
other classes; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp,
		Example: `  berth inventory delete compute-1 CUSTOM_LICENSE
  berth inventory delete compute-1 VGPU PGPU`,
		Args: cobra.MinimumNArgs(2),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	completeProviderThen(f, command, completeClasses)
	command.RunE = withProvider(f, func(ctx context.Context, service *client.Client, provider api.Provider, classes []string) error {
		expected, err := generation.ofOne(ctx, service, classes)
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, ""}.each(ctx, upperClasses(classes), func(ctx context.Context, class string) (string, error) {
			var err error
			if expected == nil {
				err = service.InventoryDelete(ctx, provider.UUID, class)
			} else {
				err = service.InventoryDeleteAt(ctx, provider.UUID, class, *expected)
			}
			if err != nil {
				return "", frame.About(provider.Name, err)
			}
			return fmt.Sprintf("deleted the inventory of %s of provider %s (%s)", class, provider.Name, provider.UUID), nil
		})
	})
	return command
}

func inventoryClearCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "clear PROVIDER...",
		Short: "Delete all inventories of providers",
		Long: `Delete all inventories of one or several providers. The providers keep their traits and
aggregates. The server rejects the deletion of inventories with allocations. The command
continues with the other providers; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp,
		Example: "  berth inventory clear compute-1\n  berth inventory clear compute-1 compute-2",
		Args:    cobra.MinimumNArgs(1),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	completeManyProviders(f, command)
	command.RunE = forEachProvider(f, "deleted the inventories of", generation, dryRun, (*client.Client).InventoryClear, (*client.Client).InventoryClearAt)
	return command
}
