package apicommand

import (
	"context"
	"encoding/json"
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
	for class, fields := range e {
		changes[class] = &client.InventoryChange{}
		fields.set(changes[class])
	}
	return changes
}

// withMissingTotal returns the error of apply for a new class without a total, which the service rejects.
func (e inventoryEdits) withMissingTotal(err error) error {
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusBadRequest || !strings.Contains(failed.Detail, "'total' is a required property") {
		return err
	}
	for _, class := range sortedKeys(e) {
		if e[class]["total"] == nil {
			return missingTotal(class)
		}
	}
	return err
}

// missingTotal returns the error of a new class without a total.
func missingTotal(class string) error {
	return frame.WrongFlag("resource", class, "has no total", fmt.Sprintf("write %s=TOTAL as well, or add --amend to change an existing inventory", class))
}

// inventoryEdits are the new values of fields by class; fieldEdits have the names of the API.
type (
	inventoryEdits map[string]fieldEdits
	fieldEdits     map[string]any
)

// set sets the fields of a record or of a change, and keeps the others.
func (e fieldEdits) set(into any) {
	text, err := json.Marshal(e)
	frame.Must(err)
	frame.Must(json.Unmarshal(text, into)) // the values are numbers of the types of both
}

// parseInventoryEdits parses the values of --resource.
func parseInventoryEdits(texts []string) (inventoryEdits, error) {
	if len(texts) == 0 {
		return nil, frame.WrongFlag("resource", "", "is empty", "write CLASS=TOTAL, or delete all inventories with 'berth inventory clear'")
	}
	edits := inventoryEdits{}
	for _, text := range texts {
		edit, err := parseInventoryEdit(text)
		if err != nil {
			return nil, err
		}
		if edits[edit.class][edit.field] != nil {
			return nil, frame.WrongFlag("resource", text, fmt.Sprintf("repeats the %s of %s", edit.field, edit.class), "write it once")
		}
		if edits[edit.class] == nil {
			edits[edit.class] = fieldEdits{}
		}
		edits[edit.class][edit.field] = edit.value
	}
	return edits, nil
}

// inventoryEdit is the new value of one field.
type inventoryEdit struct {
	class, field string
	value        any // an int32, or the float64 of the ratio
}

const inventoryRemedy = "write CLASS=TOTAL such as VCPU=16, or CLASS:FIELD=VALUE such as VCPU:allocation_ratio=4"

// inventoryFields are the fields that --resource can set.
var inventoryFields = []string{"max_unit", "min_unit", "reserved", "step_size", "total", "allocation_ratio"}

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
		edit.value = ratio
		return edit, nil
	}
	if !slices.Contains(inventoryFields, field) {
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the unknown field %q", field), "use one of "+strings.Join(inventoryFields, ", "))
	}
	amount, err := parseAmount(class, value)
	if err != nil || amount < 0 || amount > math.MaxInt32 {
		return edit, frame.WrongFlag("resource", text, fmt.Sprintf("has the %s %q, which is not a whole number from 0 to %d", field, value, math.MaxInt32), inventoryRemedy)
	}
	edit.value = int32(amount)
	return edit, nil
}

// apply returns the edited inventories; records of old may change. A new class requires a total.
func (e inventoryEdits) apply(old client.Inventories) (client.Inventories, error) {
	edited := client.Inventories{}
	maps.Copy(edited, old)
	for _, class := range sortedKeys(e) {
		record, exists := edited[class]
		if !exists && e[class]["total"] == nil {
			return nil, missingTotal(class)
		}
		e[class].set(&record)
		edited[class] = record
	}
	return edited, nil
}
