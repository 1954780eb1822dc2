package apicommand

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

func inventorySetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set PROVIDER --resource CLASS=TOTAL...",
		Short: "Set the inventories of a provider",
		Long: `Replace all inventories of a provider, or with --amend the named ones. The command
prints the inventories as 'berth inventory list' does.

CLASS=TOTAL sets the total of a resource class. CLASS:FIELD=VALUE sets another field:
reserved, min_unit, max_unit, step_size or allocation_ratio. Other fields get the
defaults of the server; with --amend other fields and classes are unchanged.

--dry-run prints the result without writing it.`,
		Example: `  berth inventory set compute-1 --resource VCPU=16 --resource VCPU:allocation_ratio=4 --resource MEMORY_MB=65536
  berth inventory set compute-1 --amend --resource VCPU:reserved=2
  berth inventory set compute-1 --amend --resource CUSTOM_LICENSE=5 --dry-run`,
		Args: cobra.ExactArgs(1),
	}
	var options inventorySetOptions
	format := frame.OutputFlag(command)
	options.generation = generationFlag(command)
	command.Flags().StringArrayVar(&options.resources, "resource", nil, "inventory `CLASS=TOTAL` or CLASS:FIELD=VALUE; repeatable")
	command.Flags().BoolVar(&options.amend, "amend", false, "whether other fields and inventories are kept")
	command.Flags().BoolVar(&options.dryRun, "dry-run", false, "whether the result is printed without writing it")
	completeProviders(f, command)
	completeFlag(f, command, "resource", completeClasses)
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		return setInventory(ctx, f, service, *format, arguments[0], options)
	})
	return command
}

// inventorySetOptions holds the flags of `berth inventory set`.
type inventorySetOptions struct {
	generation    generationChoice
	resources     []string
	amend, dryRun bool
}

func setInventory(ctx context.Context, f *frame.Frame, service *client.Client, format, reference string, options inventorySetOptions) error {
	expected, err := options.generation.expected()
	if err != nil {
		return err
	}
	edits, err := parseInventoryEdits(options.resources)
	if err != nil {
		return err
	}
	provider, err := FindProvider(ctx, service, reference)
	if err != nil {
		return err
	}
	var result client.Inventories
	err = rewrite(ctx, expected,
		func() (client.Inventories, int64, error) { return service.InventoryList(ctx, provider.UUID) },
		func(old client.Inventories) (client.Inventories, error) {
			if !options.amend {
				old = nil
			}
			return edits.apply(old)
		},
		func(generation int64, inventories client.Inventories) (err error) {
			if result = inventories; options.dryRun {
				return nil
			}
			result, _, err = service.InventoryReplace(ctx, provider.UUID, generation, inventories)
			return err
		})
	if err != nil {
		return frame.About(provider.Name, err)
	}
	if options.dryRun {
		fmt.Fprintln(f.Stderr, "berth: dry run: nothing was written")
	}
	return printInventories(ctx, f, service, format, provider, result)
}

// inventoryEdit sets one field of the record of one class.
type inventoryEdit struct {
	class, field string
	set          func(*client.InventoryRecord)
}

type inventoryEdits []inventoryEdit

// parseInventoryEdits parses the values of --resource.
func parseInventoryEdits(texts []string) (inventoryEdits, error) {
	if len(texts) == 0 {
		return nil, frame.WrongFlag("resource", "", "is empty", "write CLASS=TOTAL, or delete all inventories with 'berth inventory clear'")
	}
	edits := make(inventoryEdits, 0, len(texts))
	for _, text := range texts {
		edit, err := parseInventoryEdit(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(edits, func(other inventoryEdit) bool { return other.class == edit.class && other.field == edit.field }) {
			return nil, frame.WrongFlag("resource", text, fmt.Sprintf("repeats the %s of %s", edit.field, edit.class), "write it once")
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

const inventoryRemedy = "write CLASS=TOTAL such as VCPU=16, or CLASS:FIELD=VALUE such as VCPU:allocation_ratio=4"

func parseInventoryEdit(text string) (inventoryEdit, error) {
	name, value, hasValue := strings.Cut(text, "=")
	class, field, hasField := strings.Cut(name, ":")
	if !hasValue || class == "" {
		return inventoryEdit{}, frame.WrongFlag("resource", text, "is not an inventory", inventoryRemedy)
	}
	if !hasField {
		field = "total"
	}
	edit := inventoryEdit{class: class, field: field}
	if field == "allocation_ratio" {
		ratio, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
			return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the ratio %q, which is not a number", value), "write a number such as 1.5")
		}
		edit.set = func(record *client.InventoryRecord) { record.AllocationRatio = &ratio }
		return edit, nil
	}
	setters := map[string]func(*client.InventoryRecord, *int32){
		"total":     func(record *client.InventoryRecord, amount *int32) { record.Total = *amount },
		"reserved":  func(record *client.InventoryRecord, amount *int32) { record.Reserved = amount },
		"min_unit":  func(record *client.InventoryRecord, amount *int32) { record.MinUnit = amount },
		"max_unit":  func(record *client.InventoryRecord, amount *int32) { record.MaxUnit = amount },
		"step_size": func(record *client.InventoryRecord, amount *int32) { record.StepSize = amount },
	}
	set, known := setters[field]
	if !known {
		fields := append(sortedKeys(setters), "allocation_ratio")
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the unknown field %q", field), "use one of "+strings.Join(fields, ", "))
	}
	amount, err := strconv.ParseInt(value, 10, 32)
	if err != nil || amount < 0 {
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the %s %q, which is not a whole number from 0 to %d", field, value, math.MaxInt32), inventoryRemedy)
	}
	edit.set = func(record *client.InventoryRecord) { set(record, new(int32(amount))) }
	return edit, nil
}

// apply returns an edited copy of the inventories. A new class requires a total.
func (e inventoryEdits) apply(old client.Inventories) (client.Inventories, error) {
	edited := maps.Clone(old)
	if edited == nil {
		edited = client.Inventories{}
	}
	total := map[string]bool{}
	for class := range edited {
		total[class] = true
	}
	for _, edit := range e {
		record := edited[edit.class]
		edit.set(&record)
		edited[edit.class] = record
		total[edit.class] = total[edit.class] || edit.field == "total"
	}
	for _, class := range sortedKeys(edited) {
		if !total[class] {
			return nil, frame.WrongFlag("resource", class, "has no total", fmt.Sprintf("write %s=TOTAL as well, or add --amend to change an existing inventory", class))
		}
	}
	return edited, nil
}
