package apicommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func inventorySetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set PROVIDER --resource CLASS=TOTAL...",
		Short: "Set the inventories of a provider",
		Long: `Replace all inventories of a provider, or with --amend the named ones. The command
prints the inventories as 'berth inventory list' does. It warns if the capacity is then
less than what is used.

CLASS=TOTAL sets the total of a resource class. CLASS:FIELD=VALUE sets another field:
reserved, min_unit, max_unit, step_size or allocation_ratio. Other fields get the
defaults of the server; with --amend other fields and classes are unchanged. With berth
1.3, --amend is one PATCH, which other writes cannot come between.

` + dryRunHelp,
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
	options.dryRun = dryRunFlag(command)
	completeProviders(f, command)
	completeFlag(f, command, "resource", completeClasses)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		return setInventory(ctx, f, service, *format, arguments[0], options)
	})
	return command
}

// inventorySetOptions holds the flags of `berth inventory set`.
type inventorySetOptions struct {
	generation generationChoice
	resources  []string
	amend      bool
	dryRun     *bool
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
	err = write{f, service, *options.dryRun, format}.run(ctx, func(ctx context.Context) error {
		result, err = edits.send(ctx, service, provider.UUID, expected, options.amend)
		var wrong frame.InputErrors
		if err == nil || errors.As(err, &wrong) {
			return err
		}
		return frame.About(provider.Name, err)
	}, func() error { return printInventories(ctx, f, service, format, provider, result) })
	if err != nil {
		return err
	}
	return warnBelowUse(ctx, f, service, provider.Name, provider.UUID, result)
}

// warnBelowUse warns about inventories with less capacity than is used. The server accepts them, because hardware can
// fail while consumers use it.
func warnBelowUse(ctx context.Context, f *frame.Frame, service *client.Client, name string, id uuid.UUID, inventories client.Inventories) error {
	used, _, err := service.ProviderUsageList(ctx, id)
	if err != nil {
		return frame.About(name, err)
	}
	for _, class := range sortedKeys(inventories) {
		if now := documentOfInventory(class, inventories[class], used[class]); now.Used > now.Capacity {
			fmt.Fprintf(f.Stderr, "berth: warning: %s of %s: %d used, more than the capacity of %d; consumers keep what they have, "+
				"and the server rejects new claims until less is used\n", class, name, now.Used, now.Capacity)
		}
	}
	return nil
}

// send writes the edits: with amend in one PATCH if the service has it, else it reads and replaces the inventories.
func (e inventoryEdits) send(ctx context.Context, service *client.Client, provider uuid.UUID, expected *int64, amend bool) (client.Inventories, error) {
	if amend {
		if hasPatch, err := service.HasExtensions(ctx, berth13); err != nil || hasPatch {
			if err != nil {
				return nil, err
			}
			result, _, err := service.InventoryPatch(ctx, provider, client.InventoryChanges{Generation: expected, Inventories: e.changes()})
			return result, e.withMissingTotal(err)
		}
	}
	var result client.Inventories
	err := rewrite(ctx, expected,
		func() (client.Inventories, int64, error) { return service.InventoryList(ctx, provider) },
		func(old client.Inventories) (client.Inventories, error) {
			if !amend {
				old = nil
			}
			return e.apply(old)
		},
		func(generation int64, inventories client.Inventories) (err error) {
			result, _, err = service.InventoryReplace(ctx, provider, generation, inventories)
			return err
		})
	return result, err
}

// changes returns the edits as a merge patch.
func (e inventoryEdits) changes() map[string]*client.InventoryChange {
	changes := map[string]*client.InventoryChange{}
	for _, edit := range e {
		record := client.InventoryRecord{}
		edit.set(&record)
		change := changes[edit.class]
		if change == nil {
			change = &client.InventoryChange{}
			changes[edit.class] = change
		}
		if edit.field == "total" {
			change.Total = &record.Total
		}
		change.Reserved = cmp.Or(record.Reserved, change.Reserved)
		change.MinUnit = cmp.Or(record.MinUnit, change.MinUnit)
		change.MaxUnit = cmp.Or(record.MaxUnit, change.MaxUnit)
		change.StepSize = cmp.Or(record.StepSize, change.StepSize)
		change.AllocationRatio = cmp.Or(record.AllocationRatio, change.AllocationRatio)
	}
	return changes
}

// withMissingTotal returns the error of apply for a new class without a total, which the service rejects.
func (e inventoryEdits) withMissingTotal(err error) error {
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusBadRequest || !strings.Contains(failed.Detail, "'total' is a required property") {
		return err
	}
	changes := e.changes()
	for _, class := range sortedKeys(changes) {
		if changes[class].Total == nil {
			return missingTotal(class)
		}
	}
	return err
}

// missingTotal returns the error of a new class without a total.
func missingTotal(class string) error {
	return frame.WrongFlag("resource", class, "has no total", fmt.Sprintf("write %s=TOTAL as well, or add --amend to change an existing inventory", class))
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
	if _, err := strconv.ParseInt(field, 10, 64); !hasValue && err == nil {
		hasField, hasValue, value = false, true, field // CLASS:TOTAL
	}
	if !hasValue || class == "" {
		return inventoryEdit{}, frame.WrongFlag("resource", text, "is not an inventory", inventoryRemedy)
	}
	if !hasField {
		field = "total"
	}
	class = upperClass(class)
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
	amount, err := parseAmount(class, value)
	if err != nil || amount < 0 || amount > math.MaxInt32 {
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
			return nil, missingTotal(class)
		}
	}
	return edited, nil
}
