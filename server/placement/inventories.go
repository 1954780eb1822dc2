package placement

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// ratio is a number that is written with a decimal point, as clients know it.
type ratio float64

// MarshalJSON implements json.Marshaler.
func (r ratio) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(r), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// Schema implements huma.SchemaProvider.
func (ratio) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Examples: []any{1.5}}
}

// Inventory is how much of a class a provider has, in answers.
type Inventory struct {
	Total           int32 `json:"total" doc:"All there is." example:"64"`
	Reserved        int32 `json:"reserved" doc:"What is kept back." example:"2"`
	MinUnit         int32 `json:"min_unit" doc:"The least that an allocation may take." example:"1"`
	MaxUnit         int32 `json:"max_unit" doc:"The most that an allocation may take." example:"32"`
	StepSize        int32 `json:"step_size" doc:"Allocations are multiples of it." example:"1"`
	AllocationRatio ratio `json:"allocation_ratio" doc:"(total - reserved) * allocation_ratio is the capacity."`
}

// InventoryWithGeneration is the inventory of one class with its provider's generation.
type InventoryWithGeneration struct {
	// Generation is left out while it is 0, which clients know.
	Generation int64 `json:"resource_provider_generation,omitempty" doc:"The provider's generation; left out while it is 0." example:"5"`
	Inventory
}

// Inventories are all inventories of a provider.
type Inventories struct {
	Generation  int64                       `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
	Inventories jsonbody.Ordered[Inventory] `json:"inventories" doc:"By resource class."`
}

// InventoryFields are what all requests say of an inventory.
type InventoryFields struct {
	Total           jsonbody.Int  `json:"total" format:"int32" minimum:"1" maximum:"2147483647" doc:"All there is." example:"64"`
	Reserved        *jsonbody.Int `json:"reserved,omitempty" format:"int32" nullable:"false" minimum:"0" maximum:"2147483647" doc:"What is kept back; 0 if left out." example:"2"`
	MinUnit         *jsonbody.Int `json:"min_unit,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"The least that an allocation may take; 1 if left out." example:"1"`
	MaxUnit         *jsonbody.Int `json:"max_unit,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"The most that an allocation may take; no limit if left out." example:"32"`
	StepSize        *jsonbody.Int `json:"step_size,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"Allocations are multiples of it; 1 if left out." example:"1"`
	AllocationRatio *float64      `json:"allocation_ratio,omitempty" nullable:"false" maximum:"3.40282e+38" doc:"How far to promise more than there is; 1.0 if left out." example:"1.5"`
}

// InventoryRecord is an inventory among others. Clients send back what they read,
// so it may carry a generation, which says nothing.
type InventoryRecord struct {
	InventoryFields
	Generation *jsonbody.Int `json:"resource_provider_generation,omitempty" nullable:"false" doc:"Ignored."`
}

// recordsByClass are inventories by resource class.
type recordsByClass struct {
	jsonbody.Ordered[InventoryRecord]
}

// Schema implements huma.SchemaProvider.
func (recordsByClass) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[InventoryRecord](r), classPattern, 0)
}

// InventoriesReplace asks for exactly these inventories.
type InventoriesReplace struct {
	Generation  jsonbody.Int   `json:"resource_provider_generation" doc:"The provider's generation as the client knows it." example:"4"`
	Inventories recordsByClass `json:"inventories" doc:"By resource class; those left out are removed."`
}

// InventoryCreate asks for the inventory of one class more.
type InventoryCreate struct {
	Class string `json:"resource_class" pattern:"^[A-Z0-9_]+$" doc:"The resource class." example:"VCPU"`
	InventoryRecord
}

// InventoryUpdate asks for new values for the inventory of a class.
type InventoryUpdate struct {
	Generation jsonbody.Int `json:"resource_provider_generation" doc:"The provider's generation as the client knows it." example:"4"`
	InventoryFields
}

// inventoryPath is the input of operations on one class of one provider. It does
// not embed providerPath, because huma passes over fields that are not exported,
// embedded ones too, and the provider would silently be empty.
type inventoryPath struct {
	UUID  string `path:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Class string `path:"resource_class" doc:"The resource class." example:"VCPU"`
}

func (in *inventoryPath) provider() *providerPath { return &providerPath{UUID: in.UUID} }

func (in *inventoryPath) id() uuid.UUID { return in.provider().id() }

func (o *operations) existsForInventory(ctx context.Context, in *inventoryPath) error {
	return o.exists(ctx, in.provider())
}

func (o *operations) inventoryOperations() []*route.Operation {
	const all, one = "/resource_providers/{uuid}/inventories", "/resource_providers/{uuid}/inventories/{resource_class}"
	list := route.Example(showing(allShown(4, inventoryRows)))
	replaced := route.Example(showing(allShown(5, inventoryRows[:1])))
	shownOne := route.Example(showing(InventoryWithGeneration{Generation: 5, Inventory: shown(inventoryRows[0])}))
	record := map[string]any{"total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4}
	replace := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"resource_provider_generation": 4, "inventories": map[string]any{"VCPU": record},
	}}
	create := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"resource_class": "VCPU", "total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4,
	}}
	update := route.Body[inventoryPath]{LookFirst: o.existsForInventory, Example: map[string]any{
		"resource_provider_generation": 4, "total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4,
	}}
	return []*route.Operation{{
		ID: "inventory-list", Method: http.MethodGet, Path: all, Tag: tagInventories, Rule: policy.InventoriesList,
		Summary: "List a provider's inventories", Checks: reads, Fails: inventoryListFailures,
		Variants: []route.Variant{route.From(v(0), o.inventoryList, list)},
	}, {
		ID: "inventory-create", Method: http.MethodPost, Path: all, Tag: tagInventories, Rule: policy.InventoriesCreate,
		Summary: "Add a class to a provider's inventories", Checks: writes, Fails: inventoryCreateFailures,
		Description: "Any generation in the request is ignored.",
		Variants:    []route.Variant{route.Write(v(0), create, o.inventoryCreate, route.Status(http.StatusCreated), shownOne)},
	}, {
		ID: "inventory-replace", Method: http.MethodPut, Path: all, Tag: tagInventories, Rule: policy.InventoriesUpdate,
		Summary: "Replace a provider's inventories", Checks: writes, Fails: inventoryReplaceFailures,
		Description: "Totals may be lowered below what is in use; a class in use cannot be left out.",
		Variants:    []route.Variant{route.Write(v(0), replace, o.inventoryReplace, replaced)},
	}, {
		ID: "inventory-clear", Method: http.MethodDelete, Path: all, Tag: tagInventories, Rule: policy.InventoriesDelete,
		Summary: "Delete a provider's inventories", Checks: only, MissingIsMethod: true, Fails: inventoryClearFailures,
		Description: "The provider's generation rises even if there was nothing to delete.",
		Variants:    []route.Variant{route.From(v(5), o.inventoryClear)},
	}, {
		ID: "inventory-show", Method: http.MethodGet, Path: one, Tag: tagInventories, Rule: policy.InventoriesShow,
		Summary: "Show a provider's inventory of a class", Checks: reads, Fails: inventoryShowFailures,
		Variants: []route.Variant{route.From(v(0), o.inventoryShow, shownOne)},
	}, {
		ID: "inventory-update", Method: http.MethodPut, Path: one, Tag: tagInventories, Rule: policy.InventoriesUpdate,
		Summary: "Update a provider's inventory of a class", Checks: writes, Fails: inventoryUpdateFailures,
		Description: "What is left out returns to its default.",
		Variants:    []route.Variant{route.Write(v(0), update, o.inventoryUpdate, shownOne)},
	}, {
		ID: "inventory-delete", Method: http.MethodDelete, Path: one, Tag: tagInventories, Rule: policy.InventoriesDelete,
		Summary: "Delete a provider's inventory of a class", Fails: inventoryDeleteFailures,
		Variants: []route.Variant{route.From(v(0), o.inventoryDelete)},
	}}
}

// leastRatio stands for all that is below it. The API has no bound there, and none
// of it leaves any capacity, but products of the lowest numbers overflow.
const leastRatio = -3.40282e+38

// stored is the record with its defaults filled in.
func (r *InventoryFields) stored(class string) store.Inventory {
	or := func(given *jsonbody.Int, otherwise int32) int32 {
		if given == nil {
			return otherwise
		}
		return int32(*given) // the schema keeps it within 32 bits
	}
	made := store.Inventory{
		Class: class, Total: int32(r.Total), Reserved: or(r.Reserved, 0), MinUnit: or(r.MinUnit, 1),
		MaxUnit: or(r.MaxUnit, math.MaxInt32), StepSize: or(r.StepSize, 1), AllocationRatio: 1,
	}
	if r.AllocationRatio != nil {
		made.AllocationRatio = max(*r.AllocationRatio, leastRatio)
	}
	return made
}

func (r recordsByClass) stored() []store.Inventory {
	records := make([]store.Inventory, 0, len(r.Ordered))
	for _, entry := range r.Ordered {
		records = append(records, entry.Value.stored(entry.Key))
	}
	return records
}

func shown(record store.Inventory) Inventory {
	return Inventory{
		Total: record.Total, Reserved: record.Reserved, MinUnit: record.MinUnit, MaxUnit: record.MaxUnit,
		StepSize: record.StepSize, AllocationRatio: ratio(record.AllocationRatio),
	}
}

func allShown(generation int64, records []store.Inventory) Inventories {
	made := Inventories{Generation: generation}
	for _, record := range records {
		made.Inventories = append(made.Inventories, jsonbody.Entry[Inventory]{Key: record.Class, Value: shown(record)})
	}
	return made
}

// minCapacity is the least that reservations must leave of an inventory.
func minCapacity(ctx context.Context) int32 {
	if microversion.From(ctx).AllowsFullReservation() {
		return 0
	}
	return 1
}

// inventoryWords are what the operations that write inventories have in common;
// action is what they were about to do.
func inventoryWords(ctx context.Context, sent, action string) words {
	bound := "greater than or equal to total."
	if microversion.From(ctx).AllowsFullReservation() {
		bound = "greater than total."
	}
	return words{
		store.ProviderUnknown: saying(fault.NotFound, "", "%s", noProvider(sent).Detail),
		store.ProviderGeneration: saying(fault.Conflict, fault.CodeConcurrentUpdate,
			"resource provider generation conflict"),
		store.InventoryReserved: func(values store.Values) *fault.Error {
			return fault.New(fault.Invalid, "Unable to %s inventory for resource provider %s: Invalid inventory for '%s' on "+
				"resource provider '%s'. The reserved value is %s", action, sent, values.Class, sent, bound)
		},
	}
}

// with adds to words, or replaces some.
func (w words) with(more words) words {
	for rule, word := range more {
		w[rule] = word
	}
	return w
}

func (o *operations) inventoryList(ctx context.Context, in *providerPath) (*cached[Inventories], error) {
	found, err := o.store.InventoryList(ctx, in.id())
	if err != nil {
		return nil, words{store.ProviderUnknown: saying(fault.NotFound, "", "No resource provider with uuid %s found : %s",
			in.UUID, noProvider(in.UUID).Detail)}.say(err)
	}
	return answer(ctx, allShown(found.Generation, found.Records), newestRecord(found.Records)), nil
}

// newestRecord is nil where there is no inventory; the header is left out then.
func newestRecord(records []store.Inventory) *time.Time {
	var latest *time.Time
	for i := range records {
		if latest == nil || records[i].ModifiedAt.After(*latest) {
			latest = &records[i].ModifiedAt
		}
	}
	return latest
}

func (o *operations) inventoryShow(ctx context.Context, in *inventoryPath) (*cached[InventoryWithGeneration], error) {
	found, err := o.store.InventoryList(ctx, in.id())
	if err != nil {
		return nil, words{store.ProviderUnknown: saying(fault.NotFound, "", "No resource provider with uuid %s found : %s",
			in.UUID, noProvider(in.UUID).Detail)}.say(err)
	}
	for _, record := range found.Records {
		if record.Class == in.Class {
			return answer(ctx, InventoryWithGeneration{Generation: found.Generation, Inventory: shown(record)}, &record.ModifiedAt), nil
		}
	}
	return nil, fault.New(fault.NotFound, "No inventory of class %s for %s", in.Class, in.UUID)
}

func (o *operations) inventoryReplace(
	ctx context.Context, in *providerPath, body *InventoriesReplace,
) (*cached[Inventories], error) {
	records := body.Inventories.stored()
	generation, err := o.store.InventoryReplace(ctx, in.id(), int64(body.Generation), records, minCapacity(ctx))
	if err != nil {
		return nil, inventoryWords(ctx, in.UUID, "update").with(words{
			store.ClassUnknown: func(values store.Values) *fault.Error {
				return fault.New(fault.Invalid, "Unknown resource class in inventory for resource provider %s: No such resource class %s.",
					in.UUID, values.Class)
			},
			store.InventoryInUse: inUse("update conflict: ", in.UUID),
		}).say(err)
	}
	modified := now()
	if len(records) == 0 {
		modified = nil
	}
	return answer(ctx, allShown(generation, records), modified), nil
}

// inUse is the phrase by which clients know that inventory has allocations.
func inUse(prefix, sent string) func(store.Values) *fault.Error {
	return func(values store.Values) *fault.Error {
		return fault.New(fault.Conflict, "%sInventory for '%s' on resource provider '%s' in use.",
			prefix, values.Class, sent).WithCode(fault.CodeInventoryInUse)
	}
}

func (o *operations) inventoryClear(ctx context.Context, in *providerPath) (*empty, error) {
	_, err := o.store.InventoryClear(ctx, in.id())
	return nil, inventoryWords(ctx, in.UUID, "delete").with(words{
		store.InventoryInUse: inUse("", in.UUID),
	}).say(err)
}

// inventoryCreated is the answer to POST.
type inventoryCreated struct {
	Location     string `header:"Location" doc:"URL of the inventory." example:"http://placement.example.org/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories/VCPU"`
	LastModified string `header:"Last-Modified" doc:"Now."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         InventoryWithGeneration
}

func (o *operations) inventoryCreate(
	ctx context.Context, in *providerPath, body *InventoryCreate,
) (*inventoryCreated, error) {
	record := body.stored(body.Class)
	generation, err := o.store.InventoryCreate(ctx, in.id(), record, minCapacity(ctx))
	if err != nil {
		return nil, inventoryWords(ctx, in.UUID, "create").with(words{
			store.ClassUnknown: saying(fault.Invalid, "", "Unable to create inventory for resource provider %s: No such resource class %s.",
				in.UUID, body.Class),
			store.InventoryExists: saying(fault.Conflict, fault.CodeConcurrentUpdate,
				"Update conflict: resource provider %s has inventory of class %s already.", in.UUID, body.Class),
		}).say(err)
	}
	made := &inventoryCreated{
		Location: location(ctx, "/resource_providers/"+in.id().String()+"/inventories/"+body.Class),
		Body:     InventoryWithGeneration{Generation: generation, Inventory: shown(record)},
	}
	made.LastModified, made.CacheControl = cacheHeaders(ctx, now())
	return made, nil
}

func (o *operations) inventoryUpdate(
	ctx context.Context, in *inventoryPath, body *InventoryUpdate,
) (*cached[InventoryWithGeneration], error) {
	record := body.stored(in.Class)
	generation, err := o.store.InventoryUpdate(ctx, in.id(), int64(body.Generation), record, minCapacity(ctx))
	if err != nil {
		return nil, inventoryWords(ctx, in.UUID, "update").with(words{
			store.ClassUnknown: saying(fault.NotFound, "", "No such resource class %s.", in.Class),
			store.InventoryUnknown: saying(fault.Invalid, "", "No inventory record with resource class for resource provider %s: "+
				"No inventory of class %s found.", in.UUID, in.Class),
		}).say(err)
	}
	return answer(ctx, InventoryWithGeneration{Generation: generation, Inventory: shown(record)}, now()), nil
}

func (o *operations) inventoryDelete(ctx context.Context, in *inventoryPath) (*empty, error) {
	_, err := o.store.InventoryDelete(ctx, in.id(), in.Class)
	return nil, inventoryWords(ctx, in.UUID, "delete").with(words{
		store.InventoryUnknown: saying(fault.NotFound, "", "No inventory of class %[1]s found for delete: "+
			"No inventory of class %[1]s found.", in.Class),
		// Not the code for inventory in use: the reference is alone with that
		// here, and clients know it.
		store.InventoryInUse: saying(fault.Conflict, fault.CodeConcurrentUpdate, "Unable to delete inventory of class %[1]s: "+
			"Inventory for '%[1]s' on resource provider '%[2]s' in use.", in.Class, in.UUID),
	}).say(err)
}
