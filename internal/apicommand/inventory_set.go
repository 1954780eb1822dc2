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

CLASS=TOTAL names a class and how much of it there is. CLASS:FIELD=VALUE sets another
field: reserved, min_unit, max_unit, step_size or allocation_ratio. Fields that are not
named get the service's defaults; with --amend they, and the classes that are not
named, stay as they are.

--dry-run writes nothing and shows what would be.`,
		Example: `  berth inventory set compute-1 --resource VCPU=16 --resource VCPU:allocation_ratio=4 --resource MEMORY_MB=65536
  berth inventory set compute-1 --amend --resource VCPU:reserved=2
  berth inventory set compute-1 --amend --resource CUSTOM_LICENSE=5 --dry-run`,
		Args: cobra.ExactArgs(1),
	}
	var options inventorySetOptions
	format := frame.OutputFlag(command)
	options.generation = generationFlag(command)
	command.Flags().StringArrayVar(&options.resources, "resource", nil, "`CLASS=TOTAL` or CLASS:FIELD=VALUE; repeated")
	command.Flags().BoolVar(&options.amend, "amend", false, "keep what is not named")
	command.Flags().BoolVar(&options.dryRun, "dry-run", false, "show what would be, and write nothing")
	completeProviders(f, command)
	completeFlag(f, command, "resource", completeClasses)
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		return setInventory(ctx, f, service, *format, arguments[0], options)
	})
	return command
}

// inventorySetOptions is what `berth inventory set` is to do, as its flags say it.
type inventorySetOptions struct {
	generation    generationChoice
	resources     []string
	amend, dryRun bool
}

func setInventory(ctx context.Context, f *frame.Frame, service *client.Client, format, reference string, options inventorySetOptions) error {
	wanted, err := options.generation.wanted()
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
	var left client.Inventories
	err = rewrite(ctx, wanted,
		func() (client.Inventories, int64, error) { return service.InventoryList(ctx, provider.UUID) },
		func(old client.Inventories) (client.Inventories, error) {
			if !options.amend {
				old = nil
			}
			return edits.apply(old)
		},
		func(generation int64, inventories client.Inventories) (err error) {
			if left = inventories; options.dryRun {
				return nil
			}
			left, _, err = service.InventoryReplace(ctx, provider.UUID, generation, inventories)
			return err
		})
	if err != nil {
		return frame.About(provider.Name, err)
	}
	if options.dryRun {
		fmt.Fprintln(f.Stderr, "berth: nothing was written, because of --dry-run")
	}
	return printInventories(ctx, f, service, format, provider, left)
}

// inventoryEdit sets one field of the record of one class.
type inventoryEdit struct {
	class, field string
	set          func(*client.InventoryRecord)
}

type inventoryEdits []inventoryEdit

// parseInventoryEdits reads the values of --resource.
func parseInventoryEdits(texts []string) (inventoryEdits, error) {
	if len(texts) == 0 {
		return nil, frame.WrongFlag("resource", "", "names nothing", "write CLASS=TOTAL, or take everything away with 'berth inventory clear'")
	}
	edits := make(inventoryEdits, 0, len(texts))
	for _, text := range texts {
		edit, err := parseInventoryEdit(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(edits, func(other inventoryEdit) bool { return other.class == edit.class && other.field == edit.field }) {
			return nil, frame.WrongFlag("resource", text, fmt.Sprintf("sets the %s of %s a second time", edit.field, edit.class), "write it once")
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
		return inventoryEdit{}, frame.WrongFlag("resource", text, "is no inventory", inventoryRemedy)
	}
	if !hasField {
		field = "total"
	}
	edit := inventoryEdit{class: class, field: field}
	if field == "allocation_ratio" {
		ratio, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
			return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the ratio %q, which is not a number", value), "write one such as 1.5")
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
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the field %q, which inventories do not have", field), "use one of "+strings.Join(fields, ", "))
	}
	amount, err := strconv.ParseInt(value, 10, 32)
	if err != nil || amount < 0 {
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the %s %q, which is not a whole number from 0 to %d", field, value, math.MaxInt32), inventoryRemedy)
	}
	edit.set = func(record *client.InventoryRecord) { set(record, new(int32(amount))) }
	return edit, nil
}

// apply edits a copy of inventories. A class that is new needs a total.
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
			return nil, frame.WrongFlag("resource", class, "has fields and no total", fmt.Sprintf("write %s=TOTAL as well, or add --amend to change what the provider has", class))
		}
	}
	return edited, nil
}
